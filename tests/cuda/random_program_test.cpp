// Whole random programs on a simulated GPU, beside the interpreter: the corpus of
// tests/whole/differential_test.cpp. Each kernel text is compiled by g++, which takes most of the time.

#include <array>

#include "support/differential.h"
#include "support/gpu_host/fake_driver.h"

namespace anabranch::testing {
namespace {

using gpu_host::fake_gpu;
using gpu_host::FakeOptions;
using gpu_host::WithFakeGpu;

/// Streams, threads and blocks go on in an order drawn from the program's seed; nothing is left behind.
void compare_on_gpu(const RandomProgram& program, std::span<const Configuration> configurations) {
  FakeOptions options;
  options.seed = program.seed + 1;
  {
    const WithFakeGpu gpu(options);
    compare(program, configurations);
  }
  INFO(describe(program));
  REQUIRE(fake_gpu().leaks() == "");
  REQUIRE(fake_gpu().violations() == std::vector<std::string>{});
}

constexpr Backend cuda = Backend::cuda, both = Backend::cpu_and_cuda;

void compare_arrays(std::uint64_t from, std::uint64_t to) {
  static constexpr std::array<Configuration, 1> all{{{cuda, "adaptive", 2, ""}}};
  for (std::uint64_t seed = from; seed < to; ++seed) compare_on_gpu(array_program_of(seed), all);
}

void compare_sequences(std::uint64_t from, std::uint64_t to) {
  static constexpr std::array<Configuration, 2> all{{{cuda, "fixed:7", 2, ""}, {both, "fixed:2", 2, ""}}};
  for (std::uint64_t seed = from; seed < to; ++seed) compare_on_gpu(sequence_program_of(seed), all);
}

}  // namespace

TEST_CASE("random array programs on a simulated GPU") { compare_arrays(0, 12); }
TEST_CASE("random sequence programs on a simulated GPU") { compare_sequences(0, 8); }
TEST_CASE("many random array programs on a simulated GPU", "[.long]") { compare_arrays(20'000, 20'200); }
TEST_CASE("many random sequence programs on a simulated GPU", "[.long]") {
  compare_sequences(20'000, 20'200);
}

}  // namespace anabranch::testing
