#include "oracle/check.h"

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include <anabranch/run.h>

#include "front/handle.h"
#include "interp/interpret.h"
#include "ir/make.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "oracle/program_text.h"
#include "oracle/shrink.h"
#include "support/gpu_host/fake_driver.h"
#include "support/host_arrays.h"
#include "support/memory_sink.h"
#include "support/memory_source.h"
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

/// The program's sources are read in pieces while this lives.
class InPieces {
 public:
  InPieces(const std::vector<Ref>& program, bool in_pieces) {
    if (!in_pieces) return;
    for (const ir::Node* node : ir::topological(program)) {
      if (node->op() != ir::Op::stream_in) continue;
      if (auto* source = dynamic_cast<MemorySource*>(node->payload().source.get()))
        sources_.push_back(source);
    }
    for (MemorySource* source : sources_) source->read_in_pieces();
  }
  ~InPieces() {
    for (MemorySource* source : sources_) source->read_in_pieces(false);
  }
  InPieces(const InPieces&) = delete;

 private:
  std::vector<MemorySource*> sources_;
};

/// The program over sources of its own, which can be read only once, or are live, as the configuration says.
std::vector<Ref> with_own_sources(const std::vector<Ref>& program, const Configuration& configuration) {
  if (!configuration.once && !configuration.live) return program;
  std::map<const SourceBase*, std::shared_ptr<MemorySource>> own;
  ir::Rewriter rewriter([&](const Ref& original, const Ref& rebuilt) {
    if (original->op() != ir::Op::stream_in) return rebuilt;
    const auto* const source = dynamic_cast<const MemorySource*>(original->payload().source.get());
    if (source == nullptr) return rebuilt;
    std::shared_ptr<MemorySource>& copy = own[source];
    if (!copy) {
      const SourceInfo& info = source->info();
      copy = std::make_shared<MemorySource>(info.name, info.arrays, source->items(), !configuration.once);
      copy->refuses_large_items = source->refuses_large_items;
      if (configuration.pieces) copy->read_in_pieces();
      if (configuration.live) copy->read_as_live();
    }
    return ir::stream_in(copy, original->place());
  });
  std::vector<Ref> out;
  for (const Ref& root : program) out.push_back(rewriter(root));
  return out;
}

/// Asks a run to stop when the time has passed.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds time)
      : watch_([this, time](const std::stop_token& over) {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, over, time, [&] { return over.stop_requested(); }))
            stop_.request_stop();
        }) {}

  std::stop_token token() const { return stop_.get_token(); }
  bool has_passed() const { return stop_.stop_requested(); }

 private:
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread watch_;
};

std::shared_ptr<detail::ProgramImpl> compiled(const std::vector<Ref>& program) {
  detail::Handles handles;
  for (const Ref& root : program) handles.push_back(front::handle_of(root));
  return detail::compile(handles, {});
}

/// What traces print.
void ignored(std::string_view) {}

/// Of the program's sequences each item, one after the other, with all of its arrays.
std::vector<HostArray> items_of(const std::vector<Ref>& program, const RunOptions& options) {
  std::vector<HostArray> out;
  for (const Ref& root : program) {
    if (root->op() != ir::Op::consume) continue;
    const Ref& sink = ir::Consume(root).sink();
    if (sink->op() != ir::Op::elements && sink->op() != ir::Op::tabulate) continue;
    Ref sequence = ir::SinkTerm(sink).sequence();
    if (sequence->op() == ir::Op::project_seq) sequence = ir::ProjectSeq(sequence).sequence();
    detail::ItemReader reader(front::handle_of(sequence), options);
    for (std::vector<HostArray> item; reader.next(item);) out.insert(out.end(), item.begin(), item.end());
  }
  return out;
}

/// Contraction changes what is rounded: then the interpreter is given the program behind it.
std::vector<HostArray> expected_of(const std::vector<Ref>& program, const Configuration& configuration,
                                   const std::stop_token& stop) {
  if (!configuration.contract && !configuration.item_by_item) return interp::run(program, stop);
  // What is shared, and folded, is what contraction sees.
  const Off off((configuration.contract ? "" : "contract,") +
                std::string(configuration.off.find("share") != std::string::npos ? "share" : ""));
  RunOptions options;
  options.stop = stop;
  options.print = ignored;
  options.backend = Backend::interpreter;
  if (configuration.item_by_item) return items_of(program, options);
  return detail::run(*compiled(program), {}, options, nullptr);
}

std::vector<HostArray> run(const std::vector<Ref>& program, const Configuration& configuration,
                           const std::stop_token& stop) {
  const Off off((configuration.contract ? "" : "contract,") + configuration.off);
  std::shared_ptr<detail::ProgramImpl> compiled_program;
  RunOptions options;
  options.stop = stop;
  options.print = ignored;
  options.backend = configuration.backend;
  options.scheduler = configuration.scheduler;
  options.threads = configuration.threads;
  for (options.memory = configuration.memory;; options.memory *= 2) {
    try {
      if (!compiled_program || configuration.once) {  // what has been read once is for one run
        const std::vector<Ref> own = with_own_sources(program, configuration);
        if (configuration.item_by_item) return items_of(own, options);
        compiled_program = compiled(own);
      }
      return detail::run(*compiled_program, {}, options, nullptr);
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
  bool has_meaning =
      true;  ///< else the program breaks a promise to the library, a part lies outside of its array
};

template <class F>
Outcome outcome_of(F&& run) {
  try {
    return {run(), ""};
  } catch (const RunError& e) {
    return {{}, std::string("RunError: ") + e.what()};
  } catch (const InternalError& e) {
    return {{}, std::string("internal error: ") + e.what(), false};
  } catch (const std::exception& e) {
    return {{}, std::string("exception: ") + e.what()};
  }
}

/// What sinks take in the next run they want in each later one.
void forget_what_was_written(const std::vector<Ref>& program) {
  for (const ir::Node* node : ir::topological(program))
    if (node->op() == ir::Op::write) dynamic_cast<SameAgainSink&>(*node->payload().sink).forget();
}

Failures met_failures;

std::string compared(const std::vector<Ref>& program, const Configuration& configuration,
                     const Deadline& deadline) {
  const std::stop_token stop = deadline.token();
  forget_what_was_written(program);
  const InPieces pieces(program, configuration.pieces);
  const Outcome expected = outcome_of([&] { return expected_of(program, configuration, stop); });
  if (!expected.has_meaning) return "no program: " + expected.error;
  const Outcome got = outcome_of([&] { return run(program, configuration, stop); });
  if (deadline.has_passed()) return "it does not end";
  if (configuration.once) {
    ++met_failures.once;
    if (got.error.find("only once") != std::string::npos) {
      ++met_failures.refused;
      return "";
    }
  }
  // Which of several errors is reported is not part of the language, nor whether what no result needs fails.
  if (expected.error.starts_with("RunError") && (got.error.empty() || got.error.starts_with("RunError"))) {
    ++met_failures.expected;
    if (!got.error.empty()) ++met_failures.met;
    return "";
  }
  // A back end may find that arrays do not depend on the item: it computes them, and fails, also where there is none.
  if (expected.error.empty() && got.error.starts_with("RunError") && interp::meets_no_item(program, stop))
    return "";
  if (got.error != expected.error) return fmt::format("\"{}\" expected \"{}\"", got.error, expected.error);
  return first_difference(got.results, expected.results);
}

std::string on_a_simulated_gpu(const std::vector<Ref>& program, const Configuration& configuration,
                               const Deadline& deadline) {
  std::string wrong;
  {
    const gpu_host::WithFakeGpu gpu;
    wrong = compared(program, configuration, deadline);
  }
  if (wrong.empty()) wrong = gpu_host::fake_gpu().leaks();
  for (const std::string& violation : gpu_host::fake_gpu().violations()) wrong += violation;
  return wrong;
}

/// Results that differ are one kind of fault, no end is another, and so is each error that is there or missing.
bool are_alike(std::string_view wrong, std::string_view other) {
  const auto kind = [](std::string_view what) {
    constexpr std::string_view than = "expected \"";
    const std::size_t at = what.starts_with('"') ? what.rfind(than) : std::string_view::npos;
    const std::size_t expected = at == std::string_view::npos ? what.size() : at + than.size();
    return std::pair(what.substr(0, 6), what.substr(expected).substr(0, 6));
  };
  return kind(wrong) == kind(other);
}

/// Makes it small, writes it, and says where.
std::string recorded(const RandomProgram& program, const Configuration& configuration,
                     const std::string& wrong) {
  const auto small = shrunk(
      program.roots,
      [&](const std::vector<Ref>& p) {
        return are_alike(wrong, wrong_with(p, configuration, std::chrono::seconds(10)));
      },
      400);
  const std::string name = fmt::format("seed_{}_size_{}", program.seed, program.size);
  const std::filesystem::path path = std::filesystem::absolute("regress") / (name + ".cpp");
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text_of(small, code_of(configuration), name, describe(program));
  return fmt::format("{}\nmade small, of weight {} instead of {}: {} (for tests/regress)",
                     wrong_with(small, configuration), weight_of(small), weight_of(program.roots),
                     path.string());
}

}  // namespace

std::string to_string(const Configuration& c) {
  const char* backend = c.backend == Backend::cpu    ? "CPU"
                        : c.backend == Backend::cuda ? "GPU"
                                                     : "CPU and GPU";
  return fmt::format("{}, scheduler {}, {} threads, off: \"{}\", {}memory {}{}{}", backend, c.scheduler,
                     c.threads, c.off, c.contract ? "contracted, " : "", c.memory,
                     c.pieces ? ", in pieces" : "", c.item_by_item ? ", item by item" : "") +
         (c.once ? ", read once" : "") + (c.live ? ", live" : "");
}

std::string code_of(const Configuration& c) {
  const char* backend = c.backend == Backend::cpu    ? "cpu"
                        : c.backend == Backend::cuda ? "cuda"
                                                     : "cpu_and_cuda";
  return fmt::format(
      "{{.backend = Backend::{}, .scheduler = \"{}\", .threads = {}, .off = \"{}\", .contract = {}, .memory "
      "= {}, .pieces = {}, .item_by_item = {}, .once = {}, .live = {}}}",
      backend, c.scheduler, c.threads, c.off, c.contract, c.memory, c.pieces, c.item_by_item, c.once, c.live);
}

Failures failures() { return met_failures; }

Configuration drawn_configuration(Dice& dice, Backend backend) {
  static const std::vector<std::string> schedulers{"adaptive", "paper",    "fixed:1",      "fixed:2",
                                                   "fixed:7",  "fixed:64", "fixed:1000000"};
  Configuration out;
  out.backend = backend;
  out.scheduler = dice.pick(schedulers);
  out.threads = dice.pick(std::vector<int>{1, 2, 4});
  const bool on_gpu = backend == Backend::cuda;
  for (const char* pass :
       {"fusion", "share", "components", "shapes", "ranges", "in_place", "caches", "avx512"}) {
    const bool tells = !on_gpu || (std::string_view(pass) != "caches" && std::string_view(pass) != "avx512");
    if (dice.chance(20) && tells) out.off += (out.off.empty() ? "" : ",") + std::string(pass);
  }
  // From what no run can do with, which is then doubled until one can, to what leaves room for all.
  if (dice.chance(40)) out.memory = std::int64_t{1} << (5 + dice.below(16));
  out.contract = dice.chance(40);
  out.pieces = dice.chance(30) && !on_gpu;
  out.item_by_item = dice.chance(25);
  out.once = dice.chance(20) && !out.item_by_item;  // there each result is a run
  out.live = dice.chance(20) && !on_gpu;
  return out;
}

std::string wrong_with(const std::vector<Ref>& program, const Configuration& configuration,
                       std::chrono::milliseconds by_then) {
  const Deadline deadline(by_then);
  return configuration.backend == Backend::cpu ? compared(program, configuration, deadline)
                                               : on_a_simulated_gpu(program, configuration, deadline);
}

void check(const RandomProgram& program, const std::vector<Configuration>& configurations) {
  for (const Configuration& configuration : configurations) {
    const std::string wrong = wrong_with(program.roots, configuration);
    if (wrong.empty()) {
      SUCCEED();
      continue;
    }
    INFO(describe(program) << "; " << to_string(configuration) << ": " << wrong);
    // Of seeded faults it is enough that they are found.
    if (std::getenv("ANABRANCH_TEST_SHRINK_OFF") != nullptr) FAIL("found");
    FAIL_CHECK(recorded(program, configuration, wrong));
  }
}

void check_everywhere(const std::vector<Ref>& program, const Configuration& as_it_failed) {
  for (const Configuration& configuration :
       std::vector<Configuration>{as_it_failed,
                                  {},
                                  {.scheduler = "fixed:1", .threads = 1},
                                  {.scheduler = "fixed:7", .off = "fusion"},
                                  {.threads = 4, .off = "shapes,ranges,share"},
                                  {.threads = 1, .off = "avx512"},
                                  {.contract = true},
                                  {.scheduler = "fixed:2", .item_by_item = true},
                                  {.backend = Backend::cuda}}) {
    INFO(to_string(configuration));
    CHECK(wrong_with(program, configuration) == "");
  }
}

}  // namespace anabranch::testing
