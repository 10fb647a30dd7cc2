#include "oracle/check.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <anabranch/run.h>

#include "front/handle.h"
#include "interp/interpret.h"
#include "oracle/program_text.h"
#include "oracle/shrink.h"
#include "support/gpu_host/fake_driver.h"
#include "support/host_arrays.h"
#include "support/random_values.h"

namespace anabranch::testing {

using ir::Ref;

namespace {

/// ANABRANCH_OFF while this lives.
class Off {
 public:
  explicit Off(const std::string& list) { ::setenv("ANABRANCH_OFF", list.c_str(), 1); }
  ~Off() { ::unsetenv("ANABRANCH_OFF"); }
  Off(const Off&) = delete;
};

std::vector<HostArray> run(const std::vector<Ref>& program, const Configuration& configuration) {
  // The interpreter is given the program before contraction.
  const Off off("contract," + configuration.off);
  detail::Handles handles;
  for (const Ref& root : program) handles.push_back(front::handle_of(root));
  const auto compiled = detail::compile(handles, {});
  RunOptions options;
  options.backend = configuration.backend;
  options.scheduler = configuration.scheduler;
  options.threads = configuration.threads;
  for (options.memory = configuration.memory;; options.memory *= 2) {
    try {
      return detail::run(*compiled, {}, options, nullptr);
    } catch (const ResourceError&) {
      if (options.memory == 0 || options.memory > std::int64_t{1} << 28) throw;
    }
  }
}

std::string first_difference(const std::vector<HostArray>& got, const std::vector<HostArray>& expected) {
  if (got.size() != expected.size()) return "another number of results";
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!same(got[i], expected[i]))
      return fmt::format("result {}: {} expected {}", i, show(got[i]), show(expected[i]));
  return "";
}

/// The outcome of a run: its results, or the message of its error.
struct Outcome {
  std::vector<HostArray> results;
  std::string error;
};

template <class F>
Outcome outcome_of(F&& run) {
  try {
    return {run(), ""};
  } catch (const RunError& e) {
    return {{}, std::string("RunError: ") + e.what()};
  } catch (const std::exception& e) {
    return {{}, std::string("exception: ") + e.what()};
  }
}

std::string compared(const std::vector<Ref>& program, const Configuration& configuration) {
  const Outcome expected = outcome_of([&] { return interp::run(program); });
  const Outcome got = outcome_of([&] { return run(program, configuration); });
  // Which of several errors is reported is not part of the language.
  if (!expected.error.empty() && !got.error.empty() && got.error.starts_with("RunError")) return "";
  if (got.error != expected.error) return fmt::format("\"{}\" expected \"{}\"", got.error, expected.error);
  return first_difference(got.results, expected.results);
}

std::string on_a_simulated_gpu(const std::vector<Ref>& program, const Configuration& configuration) {
  std::string wrong;
  {
    const gpu_host::WithFakeGpu gpu;
    wrong = compared(program, configuration);
  }
  if (wrong.empty()) wrong = gpu_host::fake_gpu().leaks();
  for (const std::string& violation : gpu_host::fake_gpu().violations()) wrong += violation;
  return wrong;
}

/// Makes it small, writes it, and says where.
std::string recorded(const RandomProgram& program, const Configuration& configuration) {
  const auto small = shrunk(
      program.roots, [&](const std::vector<Ref>& p) { return !wrong_with(p, configuration).empty(); }, 400);
  const std::string name = fmt::format("seed_{}_size_{}", program.seed, program.size);
  const std::filesystem::path path = std::filesystem::absolute("regress") / (name + ".cpp");
  std::filesystem::create_directories(path.parent_path());
  const std::string comment = fmt::format("{}; {}", describe(program), to_string(configuration));
  std::ofstream(path) << text_of(small, name, comment);
  return fmt::format("{}\nmade small, of weight {} instead of {}: {} (for tests/regress)",
                     wrong_with(small, configuration), weight_of(small), weight_of(program.roots),
                     path.string());
}

}  // namespace

std::string to_string(const Configuration& c) {
  const char* backend = c.backend == Backend::cpu    ? "CPU"
                        : c.backend == Backend::cuda ? "GPU"
                                                     : "CPU and GPU";
  return fmt::format("{}, scheduler {}, {} threads, off: \"{}\", memory {}", backend, c.scheduler, c.threads,
                     c.off, c.memory);
}

Configuration drawn_configuration(Dice& dice, Backend backend) {
  static const std::vector<std::string> schedulers{"adaptive", "paper",    "fixed:1",      "fixed:2",
                                                   "fixed:7",  "fixed:64", "fixed:1000000"};
  Configuration out;
  out.backend = backend;
  out.scheduler = dice.pick(schedulers);
  out.threads = dice.pick(std::vector<int>{1, 2, 4});
  for (const char* pass : {"fusion", "share", "shapes", "caches", "avx512"})
    if (dice.chance(20)) out.off += (out.off.empty() ? "" : ",") + std::string(pass);
  if (dice.chance(20)) out.memory = 1 << 20;
  return out;
}

std::string wrong_with(const std::vector<Ref>& program, const Configuration& configuration) {
  return configuration.backend == Backend::cpu ? compared(program, configuration)
                                               : on_a_simulated_gpu(program, configuration);
}

void check(const RandomProgram& program, const std::vector<Configuration>& configurations) {
  for (const Configuration& configuration : configurations) {
    const std::string wrong = wrong_with(program.roots, configuration);
    if (wrong.empty()) {
      SUCCEED();
      continue;
    }
    INFO(describe(program) << "; " << to_string(configuration) << ": " << wrong);
    FAIL_CHECK(recorded(program, configuration));
  }
}

void check_everywhere(const std::vector<Ref>& program) {
  for (const Configuration& configuration :
       std::vector<Configuration>{{},
                                  {.scheduler = "fixed:1", .threads = 1},
                                  {.scheduler = "fixed:7", .off = "fusion"},
                                  {.threads = 4, .off = "shapes,share"},
                                  {.threads = 1, .off = "avx512"},
                                  {.backend = Backend::cuda}}) {
    INFO(to_string(configuration));
    CHECK(wrong_with(program, configuration) == "");
  }
}

}  // namespace anabranch::testing
