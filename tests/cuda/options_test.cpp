#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stop_token>

#include "tests/cuda/support/whole_runs.h"

// Every option of RunOptions with every back end and every way to run: it acts, or it is refused with a
// ProgramError that names it. docs/scheduler.md has the same table.
namespace anabranch::testing {
namespace {

using io_test::TemporaryDirectory;

const std::map<Backend, const char*> backends{{Backend::interpreter, "interpreter"},
                                              {Backend::cpu, "cpu"},
                                              {Backend::cuda, "cuda"},
                                              {Backend::cpu_and_cuda, "cpu+cuda"},
                                              {Backend::automatic, "automatic"}};

/// Ten items in memory, and an array beside them.
const std::vector<Vector<double>>& items() {
  static const std::vector<Vector<double>> all(10, numbers(50, 1));
  return all;
}
auto scaled(const Acc<Vector<double>>& x) {
  return map_seq([=](auto row) { return map([=](auto e) { return e * x[0]; }, row); }, stream_in(items()));
}

/// The ways to run; each gives the number of items that it went over.
using Run = std::int64_t (*)(const RunOptions&, RunReport*);
const std::map<std::string, Run> ways{
    {"run",
     [](const RunOptions& options, RunReport* report) {
       return run(consume(elements(scaled(use(numbers(5, 2))))), options, report).size() / 50;
     }},
    {"program",
     [](const RunOptions& options, RunReport* report) {
       const auto program = compile<Vector<double>>([](auto x) { return consume(elements(scaled(x))); });
       return program.run(options, report, numbers(5, 2)).size() / 50;
     }},
    {"stream_out", [](const RunOptions& options, RunReport*) {
       std::int64_t seen = 0;
       for (const auto& item : stream_out(scaled(use(numbers(5, 2))), options)) seen += item.size() / 50;
       return seen;
     }}};

struct Option {
  const char* name;
  void (*set)(RunOptions&);
  std::set<Backend> refused_by;
  /// Checks that it does.
  void (*acts)(const RunOptions&, Run, bool has_report);
};

template <class E>
void fails(const RunOptions& options, Run run) {
  try {
    run(options, nullptr);
    FAIL("no error");
  } catch (const E&) {
    SUCCEED();
  }
}

void threads_act(const RunOptions& options, Run run, bool has_report) {
  RunReport report;
  CHECK(run(options, &report) == 10);
  if (!has_report) return;
  const bool on_gpu = report.backend == "cuda" || report.backend == "cpu+cuda";
  CHECK(report.threads == (on_gpu ? std::max(options.threads, 3) : options.threads));
}
/// Items of the first chunk, and of all of them.
void chunks_act(const RunOptions& options, Run run, std::int64_t first, std::int64_t chunks) {
  std::vector<Progress> seen;
  RunOptions watched = options;
  watched.progress = [&](const Progress& p) { seen.push_back(p); };
  CHECK(run(watched, nullptr) == 10);
  REQUIRE(!seen.empty());
  CHECK(seen.front().items == first);
  CHECK(seen.back().items == 10);
  CHECK(seen.back().total_items == 10);
  if (chunks > 0) CHECK(static_cast<std::int64_t>(seen.size()) == chunks);
}

const std::set<Backend> no_gpu{Backend::cpu, Backend::interpreter};
const std::set<Backend> interpreter{Backend::interpreter};

const Option options[] = {
    {"threads", [](RunOptions& o) { o.threads = 1; }, {}, threads_act},
    {"threads", [](RunOptions& o) { o.threads = 2; }, interpreter, threads_act},
    {"threads", [](RunOptions& o) { o.threads = 4; }, interpreter, threads_act},
    {"memory", [](RunOptions& o) { o.memory = 100; }, interpreter,
     [](const RunOptions& o, Run run, bool) { fails<ResourceError>(o, run); }},
    {"memory", [](RunOptions& o) { o.memory = 1 << 20; }, interpreter,
     [](const RunOptions& o, Run run, bool has_report) {
       RunReport report;
       CHECK(run(o, &report) == 10);
       if (has_report) CHECK(report.peak_bytes > 0);
     }},
    {"gpu_memory", [](RunOptions& o) { o.gpu_memory = 100; }, no_gpu,
     [](const RunOptions& o, Run run, bool) {
       std::int64_t all = 0;
       try {
         all = run(o, nullptr);
       } catch (const ResourceError&) {
         return;  // it acts
       }
       // The CPU may have done it all, where it is asked to help or is quicker.
       CHECK((o.backend == Backend::cpu_and_cuda || o.backend == Backend::automatic));
       CHECK(all == 10);
     }},
    {"scheduler", [](RunOptions& o) { o.scheduler = "fixed:3"; }, interpreter,
     [](const RunOptions& o, Run run, bool) { chunks_act(o, run, 3, 4); }},
    {"scheduler", [](RunOptions& o) { o.scheduler = "paper"; }, interpreter,
     [](const RunOptions& o, Run run, bool) { chunks_act(o, run, 1, 0); }},
    {"scheduler",
     [](RunOptions& o) { o.scheduler = "fixed:1"; },
     {},
     [](const RunOptions& o, Run run, bool) { chunks_act(o, run, 1, 10); }},
    {"scheduler",
     [](RunOptions& o) { o.scheduler = "adaptive"; },
     {},
     [](const RunOptions& o, Run run, bool) {
       const bool item_by_item = o.backend == Backend::interpreter;
       chunks_act(o, run, item_by_item ? 1 : 10, item_by_item ? 10 : 1);
     }},
    {"stop",
     [](RunOptions& o) {
       std::stop_source stop;
       stop.request_stop();
       o.stop = stop.get_token();
     },
     {},
     [](const RunOptions& o, Run run, bool) { fails<Cancelled>(o, run); }},
    {"progress",
     [](RunOptions& o) { o.progress = [](const Progress&) { throw std::out_of_range("told"); }; },
     {},
     [](const RunOptions& o, Run run, bool) { fails<std::out_of_range>(o, run); }},
    {"trace",
     [](RunOptions&) {},
     {},
     [](const RunOptions& o, Run run, bool) {
       const TemporaryDirectory dir;
       RunOptions traced = o;
       traced.trace = dir / "t.json";
       CHECK(run(traced, nullptr) == 10);
       CHECK(std::filesystem::file_size(dir / "t.json") > 0);
     }},
};

}  // namespace

TEST_CASE("options: each acts or is refused, with every back end and every way to run") {
  for (const auto& [backend, backend_name] : backends)
    for (const auto& [way, run] : ways)
      for (const Option& option : options) {
        INFO(option.name << " with " << backend_name << ", " << way);
        const WithFakeGpu gpu;
        RunOptions given;
        given.backend = backend;
        option.set(given);
        if (!option.refused_by.contains(backend)) {
          option.acts(given, run, way != "stream_out");
          continue;
        }
        try {
          run(given, nullptr);
          FAIL("accepted");
        } catch (const ProgramError& e) {
          INFO(e.what());
          CHECK_THAT(e.what(), Catch::Contains("RunOptions: "));
          CHECK_THAT(e.what(), Catch::Contains(backend_name));
          CHECK_THAT(e.what(), Catch::Contains(option.name));
        }
      }
  cuda::set_platform({});
}

}  // namespace anabranch::testing
