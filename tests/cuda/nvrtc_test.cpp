#include "cuda/nvrtc.h"

#include <cstdlib>
#include <string>

#include <anabranch/error.h>

#include "support/catch.h"

using namespace anabranch;
using Catch::Matchers::Contains;

namespace {

std::shared_ptr<cuda::Compiler> nvrtc() {
  try {
    return cuda::open_nvrtc();
  } catch (const BackendUnavailable& e) {
    WARN("skipped, no NVRTC: " << e.what());
    return nullptr;
  }
}

cuda::Unit unit_of(const std::string& source, std::vector<std::string> entries) {
  cuda::Unit unit;
  unit.source = source;
  unit.entries = std::move(entries);
  return unit;
}

const char* const text = R"(
struct Words { const double* a; double* b; long long n; };
extern "C" __global__ void scale(Words w) {
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (k < w.n) w.b[k] = 2 * w.a[k] + 1;
}
extern "C" __global__ void __launch_bounds__(128) sum(Words w) {
  __shared__ double part[128];
  part[threadIdx.x] = w.a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) for (int k = 0; k < 128; ++k) w.b[0] += part[k];
}
)";

}  // namespace

TEST_CASE("NVRTC makes images for several generations of GPUs, and says what they use") {
  const auto compiler = nvrtc();
  if (!compiler) return;
  CHECK(compiler->version().find('.') != std::string::npos);
  for (const char* architecture : {"sm_75", "sm_80", "sm_90"}) {
    const auto made = compiler->compile(unit_of(text, {"scale", "sum"}), "sums", architecture);
    INFO(made.log);
    CHECK(made.image.substr(0, 4) ==
          "\x7f"
          "ELF");
    CHECK(made.milliseconds > 0);
    REQUIRE(made.registers.size() == 2);
    for (const int n : made.registers) CHECK((n > 0 && n < 100));
    CHECK(made.spill_bytes == std::vector{0, 0});
  }
  // Between two that the compiler knows: code for the lower one runs on it.
  CHECK(compiler->compile(unit_of(text, {"scale", "sum"}), "sums", "sm_91").image.substr(1, 3) == "ELF");
  // Newer than the compiler: text that the driver translates.
  CHECK_THAT(compiler->compile(unit_of(text, {"scale", "sum"}), "sums", "sm_999").image,
             Contains(".visible .entry scale"));
  CHECK_THROWS_AS(compiler->compile(unit_of(text, {"scale"}), "sums", "sm_20"), BackendUnavailable);
}

TEST_CASE("images know the lines of their texts where that is asked for, and are others on disk") {
  const auto compiler = nvrtc();
  if (!compiler) return;
  const auto made = [&] { return compiler->compile(unit_of(text, {"scale"}), "sums", "sm_90").image; };
  const std::string plain = made(), settings = compiler->settings("sm_90");
  ::setenv("ANABRANCH_LINEINFO", "1", 1);
  const std::string with_lines = made(), settings_with_lines = compiler->settings("sm_90");
  ::unsetenv("ANABRANCH_LINEINFO");
  CHECK_THAT(plain, !Contains(".debug_line"));
  CHECK_THAT(with_lines, Contains(".debug_line"));
  CHECK(settings_with_lines == settings + " -lineinfo");
}

TEST_CASE("nothing is contracted: products and sums are rounded one by one") {
  const auto compiler = nvrtc();
  if (!compiler) return;
  const auto made = compiler->compile(unit_of(text, {"scale"}), "sums", "sm_999").image;
  CHECK_THAT(made, !Contains("fma.rn.f64"));
}

TEST_CASE("a text that does not compile is an internal error with the compiler's words") {
  const auto compiler = nvrtc();
  if (!compiler) return;
  try {
    compiler->compile(unit_of("__global__ void f() { undeclared = 1; }", {"f"}), "broken", "sm_80");
    FAIL("compiled");
  } catch (const InternalError& e) {
    CHECK_THAT(e.what(), Contains("broken.cu") && Contains("undeclared"));
  }
}

TEST_CASE("the library's headers compile as a unit's includes") {
  const auto compiler = nvrtc();
  if (!compiler) return;
  std::string source;
  for (const auto& header : cuda::headers()) source += "#include \"" + header.name + "\"\n";
  source += "extern \"C\" __global__ void nothing() {}\n";
  const auto made = compiler->compile(unit_of(source, {"nothing"}), "headers", "sm_75");
  CHECK(made.spill_bytes == std::vector{0});
}

TEST_CASE("registers and spills are read from the log of ptxas") {
  cuda::Compiler::Result result;
  cuda::read_log(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Used 255 registers
ptxas info    : Compiling entry function 'fold' for 'sm_90'
ptxas info    : Function properties for fold
    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
)",
                 {"map", "fold"}, result);
  CHECK(result.registers == std::vector{-1, 40});
  CHECK(result.spill_bytes == std::vector{-1, 84});
  cuda::read_log("", {"map"}, result);
  CHECK(result.registers == std::vector{-1});
}

TEST_CASE("NVRTC is looked for by the driver's version, in the usual places") {
  ::setenv("CUDA_HOME", "/somewhere", 1);
  const auto newest = cuda::nvrtc_paths(13000), older = cuda::nvrtc_paths(12040);
  ::unsetenv("CUDA_HOME");
  CHECK(newest.front() == "libnvrtc.so.13");
  CHECK(older.front() == "libnvrtc.so.12");
  CHECK(newest[1] == "/somewhere/lib64/libnvrtc.so.13");
  CHECK(newest.back() == "/usr/local/cuda/lib64/libnvrtc.so");
}
