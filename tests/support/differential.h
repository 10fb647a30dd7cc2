#pragma once

#include <cstdlib>
#include <span>
#include <string>

#include <anabranch/run.h>

#include "front/handle.h"
#include "interp/interpret.h"
#include "support/catch.h"
#include "support/host_arrays.h"
#include "support/random_program.h"

/// A random program under many configurations, beside the reference interpreter.
namespace anabranch::testing {

struct Configuration {
  Backend backend;
  const char* scheduler;
  int threads;
  const char* off;  ///< what is switched off
};

/// Every configuration must give the interpreter's bits. The failing program's seed and size are in the
/// message.
inline void compare(const RandomProgram& program, std::span<const Configuration> configurations) {
  INFO(describe(program));
  const auto expected = interp::run(program.roots);
  detail::Handles handles;
  for (const ir::Ref& root : program.roots) handles.push_back(front::handle_of(root));
  for (const Configuration& c : configurations) {
    INFO("back end " << static_cast<int>(c.backend) << ", scheduler " << c.scheduler << ", " << c.threads
                     << " threads, off: " << c.off);
    ::setenv("ANABRANCH_OFF", (std::string("contract,") + c.off).c_str(), 1);
    const auto compiled = detail::compile(handles, {});
    ::unsetenv("ANABRANCH_OFF");
    RunOptions options;
    options.backend = c.backend;
    options.scheduler = c.scheduler;
    options.threads = c.threads;
    std::vector<std::shared_ptr<detail::ArrayData>> got;
    REQUIRE_NOTHROW(got = detail::run(*compiled, {}, options, nullptr));
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!same(got[i], expected[i]))
        FAIL("result " << i << ": " << show(got[i]) << " expected " << show(expected[i]));
  }
}

/// Programs of all sizes, the size made of the seed.
inline RandomProgram array_program_of(std::uint64_t seed) {
  return random_array_program(seed, 1 + static_cast<int>(seed % 20));
}
inline RandomProgram sequence_program_of(std::uint64_t seed) {
  return random_sequence_program(seed, 1 + static_cast<int>(seed % 12));
}

}  // namespace anabranch::testing
