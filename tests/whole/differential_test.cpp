// The whole compiler against the reference interpreter,
// on random programs: one corpus under many configurations.

#include <cstdlib>

#include <anabranch/run.h>

#include "front/handle.h"
#include "interp/interpret.h"
#include "support/catch.h"
#include "support/host_arrays.h"
#include "support/random_program.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

struct Configuration {
  const char* scheduler;
  int threads;
  const char* off;  ///< what is switched off
};

/// Runs one program under all configurations; every one must give the interpreter's bits.
void compare(const RandomProgram& program, std::initializer_list<Configuration> configurations) {
  INFO(describe(program));
  const auto expected = interp::run(program.roots);
  detail::Handles handles;
  for (const ir::Ref& root : program.roots) handles.push_back(front::handle_of(root));
  for (const Configuration& c : configurations) {
    INFO("scheduler " << c.scheduler << ", " << c.threads << " threads, off: " << c.off);
    ::setenv("ANABRANCH_OFF", (std::string("contract,") + c.off).c_str(), 1);
    const auto compiled = detail::compile(handles, {});
    ::unsetenv("ANABRANCH_OFF");
    RunOptions options;
    options.scheduler = c.scheduler;
    options.threads = c.threads;
    const auto got = detail::run(*compiled, {}, options, nullptr);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!same(got[i], expected[i]))
        FAIL("result " << i << ": " << show(got[i]) << " expected " << show(expected[i]));
  }
}

void compare_arrays(std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t seed = from; seed < to; ++seed)
    compare(random_array_program(seed, 1 + static_cast<int>(seed % 20)),
            {{"adaptive", 2, ""}, {"adaptive", 1, "fusion,share,caches"}});
}

void compare_sequences(std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t seed = from; seed < to; ++seed)
    compare(random_sequence_program(seed, 1 + static_cast<int>(seed % 12)), {{"adaptive", 2, ""},
                                                                             {"fixed:1", 1, ""},
                                                                             {"fixed:7", 2, "fusion"},
                                                                             {"fixed:64", 4, "shapes,caches"},
                                                                             {"paper", 1, "share"}});
}

}  // namespace

TEST_CASE("random array programs give the interpreter's bits") { compare_arrays(0, 30); }
TEST_CASE("random sequence programs give the interpreter's bits") { compare_sequences(0, 30); }
TEST_CASE("many random array programs give the interpreter's bits", "[.long]") {
  compare_arrays(10'000, 11'000);
}
TEST_CASE("many random sequence programs give the interpreter's bits", "[.long]") {
  compare_sequences(10'000, 11'000);
}

// Seeds that once failed: a loop over a captured read, a shape used without its array, a uniform extent
// outside its stage, a seed with a conditional.
TEST_CASE("programs that once went wrong") {
  for (const std::uint64_t seed : {1ULL, 6ULL})
    compare(random_array_program(seed, 1 + static_cast<int>(seed % 20)), {{"adaptive", 2, ""}});
  for (const std::uint64_t seed : {1ULL, 2ULL, 5ULL, 10088ULL, 10094ULL, 10100ULL, 10103ULL, 10145ULL})
    compare(random_sequence_program(seed, 1 + static_cast<int>(seed % 12)),
            {{"adaptive", 2, ""}, {"fixed:7", 1, "fusion"}});
}
