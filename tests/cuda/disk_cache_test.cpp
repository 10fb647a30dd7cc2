#include <filesystem>

#include "cuda/device.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "support/own_kernel_cache.h"

using namespace anabranch;
using namespace anabranch::cuda;
using anabranch::testing::OwnKernelCache;
using anabranch::testing::read_file;
using anabranch::testing::write_file;

namespace {

/// Counts what the compiler behind it is asked to do.
class CountingCompiler final : public Compiler {
 public:
  explicit CountingCompiler(std::shared_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}
  Result compile(const Unit& unit, const std::string& name, const std::string& architecture) override {
    ++compiled;
    return compiler_->compile(unit, name, architecture);
  }
  std::string version() const override { return compiler_->version(); }
  std::string settings(const std::string& architecture) const override {
    return compiler_->settings(architecture) + options;
  }
  int compiled = 0;
  std::string options;

 private:
  std::shared_ptr<Compiler> compiler_;
};

Unit doubling(const std::string& name = "doubling") {
  Unit unit;
  unit.source = "struct Words { double* a; };\nextern \"C\" __global__ void " + name +
                "(Words w) { w.a[threadIdx.x] *= 2; }\n";
  unit.entries = {name};
  return unit;
}

/// What the unit makes of 1, 2, ... on a new platform, which a process of its own would have.
class Run {
 public:
  /// `refused`: what the driver answers to the unit's first image, or to its kernel (`refusing`); 0: nothing.
  explicit Run(const Unit& unit, const gpu_host::FakeOptions& options = {}, const std::string& settings = {},
               int refused = 0, const std::string& refusing = "module_load_data") {
    Platform platform = gpu_host::fake_platform(options);
    // The first image and the first kernel are the device's own.
    if (refused != 0) gpu_host::fake_gpu().fail(refusing, 2, refused);
    const auto compiler = std::make_shared<CountingCompiler>(platform.compiler);
    compiler->options = settings;
    platform.compiler = compiler;
    set_platform(platform);
    {
      const auto device = Device::get();
      compiler->compiled = 0;
      const auto loaded = device->load(unit, "unit");
      from_disk = device->load_statistics().from_disk;
      log = loaded->compiled.log;
      std::vector<double> values{1, 2, 3, 4};
      const DeviceBlock block = device->allocate(32);
      Stream stream(device);
      stream.upload(block.address(), values.data(), 32);
      stream.launch(loaded->entries[0], 1, 4, std::array<std::uint64_t, 1>{block.address()});
      stream.download(values.data(), block.address(), 32);
      stream.synchronize();
      CHECK(values == std::vector<double>{2, 4, 6, 8});
      CHECK(device->load(unit, "unit")->entries == loaded->entries);
      CHECK(device->load_statistics().found == 1);
      CHECK(device->load_statistics().compiled == compiler->compiled);
    }
    compiled = compiler->compiled;
    set_platform({});
  }
  int compiled = 0, from_disk = 0;
  std::string log;
};

/// The entry that holds this text.
std::string path_of(const OwnKernelCache& cache, const std::string& text) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(cache.path()).parent_path()))
    if (read_file(entry.path()).find(text) != std::string::npos) return entry.path();
  return "";
}

/// But for the empty kernel, which every device loads for each of its compilers' settings.
int entries_of_units(const OwnKernelCache& cache) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(cache.path()).parent_path()))
    count += read_file(entry.path()).find("void nothing") == std::string::npos;
  return count;
}

}  // namespace

TEST_CASE("a unit that an earlier process compiled is loaded from disk, and the compiler is not asked") {
  const OwnKernelCache cache;
  const Run first(doubling());
  CHECK(first.compiled == 1);
  CHECK(first.from_disk == 0);
  CHECK(entries_of_units(cache) == 1);
  const Run second(doubling());
  CHECK(second.compiled == 0);
  CHECK(second.from_disk == 1);
  CHECK(second.log == first.log);
  CHECK(second.log == "compiled for the host");
}

TEST_CASE("other units, architectures and settings of the compiler are other images") {
  const OwnKernelCache cache;
  CHECK(Run(doubling()).compiled == 1);
  CHECK(Run(doubling("another")).compiled == 1);
  gpu_host::FakeOptions other;
  other.major = 8;
  CHECK(Run(doubling(), other).compiled == 1);
  CHECK(Run(doubling(), {}, " -fmad=true").compiled == 1);
  CHECK(entries_of_units(cache) == 4);
  CHECK(Run(doubling(), other).compiled == 0);
}

TEST_CASE("a damaged image on disk is compiled anew and replaced") {
  const OwnKernelCache cache;
  CHECK(Run(doubling()).compiled == 1);
  const std::string path = path_of(cache, "void doubling"), whole = read_file(path);
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}, std::size_t{100}, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_file(path, bytes);
    CHECK(Run(doubling()).compiled == 1);
    CHECK(read_file(path) == whole);
  }
  write_file(path, whole.substr(0, whole.size() - 1));
  CHECK(Run(doubling()).compiled == 1);
  CHECK(Run(doubling()).compiled == 0);
}

TEST_CASE("an image on disk that the driver does not take is compiled anew") {
  const OwnKernelCache cache;
  CHECK(Run(doubling()).compiled == 1);
  constexpr int no_binary_for_gpu = 209;
  for (const std::string refusing : {"module_load_data", "module_get_function"}) {
    const Run refused(doubling(), {}, {}, no_binary_for_gpu, refusing);
    CHECK(refused.compiled == 1);
    CHECK(refused.from_disk == 0);
  }
  constexpr int launch_failed = 719;
  CHECK_THROWS_AS(Run(doubling(), {}, {}, launch_failed), RunError);
  set_platform({});
}

TEST_CASE("without a cache on disk every process compiles") {
  CHECK(Run(doubling()).compiled == 1);
  CHECK(Run(doubling()).compiled == 1);
}

TEST_CASE("a text that does not compile leaves nothing on disk") {
  const OwnKernelCache cache;
  const gpu_host::WithFakeGpu gpu;
  Unit nonsense;
  nonsense.source = "nonsense";
  nonsense.entries = {"f"};
  CHECK_THROWS_AS(Device::get()->load(nonsense, "nonsense"), InternalError);
  CHECK(entries_of_units(cache) == 0);
}
