// Random programs give the interpreter's bits in every configuration.

#include <cstdlib>
#include <string_view>

#include "oracle/check.h"
#include "support/random_values.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

/// Arrays and sequences by turns, of all sizes; one in eight may fail.
RandomProgram program_of(std::uint64_t seed) {
  const int size = 1 + static_cast<int>(seed / 2 % 20);
  const ProgramOptions options{.unguarded = seed / 2 % 8 == 5};
  return seed % 2 == 0 ? random_array_program(seed, size, options)
                       : random_sequence_program(seed, std::min(size, 12), options);
}

void check_program(const RandomProgram& program, Backend backend) {
  Dice dice(program.seed + 12'345);
  const Configuration first = drawn_configuration(dice, backend);
  check(program, {first, drawn_configuration(dice, backend)});
}

void check_each(std::uint64_t from, std::uint64_t count, Backend backend) {
  for (std::uint64_t seed = from; seed < from + count; ++seed) check_program(program_of(seed), backend);
}

void check_programs(std::uint64_t from, std::uint64_t count, Backend backend) {
  const Failures before = failures();
  check_each(from, count, backend);
  // A back end that leaves out checks lets programs pass that should not. It may compute less than the interpreter, so a
  // few failures say nothing.
  constexpr int few = 4;
  const int expected = failures().expected - before.expected, met = failures().met - before.met;
  INFO(met << " of " << expected << " failures met");
  CHECK((expected < few || 2 * met >= expected));
  // Most programs need one pass, as most users write them.
  const int once = failures().once - before.once, refused = failures().refused - before.refused;
  INFO(refused << " of " << once << " programs read a source twice");
  CHECK((once < few || 2 * refused <= once));
}

constexpr Backend cpu = Backend::cpu, cuda = Backend::cuda, both = Backend::cpu_and_cuda;

/// States of more items than one block of a scan has, or of fewer, which are cut into chunks.
void check_states(std::uint64_t from, std::uint64_t count) {
  for (std::uint64_t seed = from; seed < from + count; ++seed)
    check_program(random_state_program(seed, seed % 3 == 0 ? 9'000 : 150, {.unguarded = seed % 8 == 7}), cpu);
}

}  // namespace

TEST_CASE("random programs on the CPU (first part)") { check_programs(0, 100, cpu); }
TEST_CASE("random programs on the CPU (second part)") { check_programs(100, 100, cpu); }
TEST_CASE("random programs on the CPU (third part)") { check_programs(200, 100, cpu); }
TEST_CASE("random programs on a simulated GPU") { check_programs(1000, 24, cuda); }
TEST_CASE("random programs on the CPU and a simulated GPU") { check_programs(1024, 6, both); }

TEST_CASE("random states of many items") {
  check_states(0, 60);
  for (std::uint64_t seed = 60; seed < 66; ++seed) check_program(random_state_program(seed, 150), cuda);
}
TEST_CASE("many random states", "[.long]") { check_states(1'000, 1'500); }

// 20,000 programs on the CPU, an hour and a half of one core, and 400 on the simulated GPU, in parts.
TEMPLATE_TEST_CASE_SIG("many random programs on the CPU from", "[.long]", ((int from), from), 100'000,
                       102'000, 104'000, 106'000, 108'000, 110'000, 112'000, 114'000, 116'000, 118'000) {
  check_programs(from, 2'000, cpu);
}
TEMPLATE_TEST_CASE_SIG("many random programs on a simulated GPU from", "[.long]", ((int from), from), 200'000,
                       200'100, 200'200, 200'300) {
  check_programs(from, 100, cuda);
}

/// Some programs again: ANABRANCH_TEST_SEED=101385 test_oracle "[seed]", or 101385+100, a hundred from there on; on a
/// simulated GPU with ANABRANCH_TEST_BACKEND=cuda.
TEST_CASE("the random programs of some seeds", "[.seed]") {
  const char* text = std::getenv("ANABRANCH_TEST_SEED");
  REQUIRE(text != nullptr);
  char* end = nullptr;
  const std::uint64_t seed = std::strtoull(text, &end, 10);
  const char* backend = std::getenv("ANABRANCH_TEST_BACKEND");
  const bool on_gpu = backend != nullptr && std::string_view(backend) == "cuda";
  check_each(seed, *end == '+' ? std::strtoull(end + 1, nullptr, 10) : 1, on_gpu ? cuda : cpu);
}
