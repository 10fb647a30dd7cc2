// The memory limit of a control group, as a container has one, bounds streams where the user gives no bound.

#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/anabranch.h>

#include "compiled_run.h"
#include "run/memory/memory.h"
#include "run/memory/resident_memory.h"
#include "support/catch.h"

namespace anabranch::testing {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

/// While it lives, the control group of this process has this limit.
class GroupMemory {
 public:
  explicit GroupMemory(std::int64_t bytes) : before_(detail::set_group_memory(bytes)) {}
  ~GroupMemory() { detail::set_group_memory(before_); }
  GroupMemory(const GroupMemory&) = delete;
  GroupMemory& operator=(const GroupMemory&) = delete;

 private:
  std::int64_t before_;
};

/// Rows are stored to be sorted.
const auto total = [](auto row) { return sum(sort(row)); };
const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };

/// `rows` of so many elements.
Seq<Vector<double>> made(std::int64_t rows, std::int64_t length) {
  return produce(rows,
                 [=](auto i) { return generate(length, [=](auto k) { return cast<double>(k % 7 + i); }); });
}
Acc<Scalar<double>> sum_of(std::int64_t rows, std::int64_t length) {
  return consume(fold_seq(add, unit(0.0), map_seq(total, made(rows, length))));
}

RunReport report_of(const Acc<Scalar<double>>& computation, const RunOptions& options = {}) {
  RunReport report;
  run(computation, options, &report);
  return report;
}

TEST_CASE("a stream has what its control group leaves, less a sixteenth; no less than that") {
  {
    const GroupMemory none(0);
    CHECK(report_of(sum_of(100, 10)).memory_bound == 0);
  }
  {
    const GroupMemory more_than_held(4096 * mib);
    const std::int64_t bound = report_of(sum_of(100, 10)).memory_bound;
    CHECK(bound < 4096 * mib - 256 * mib);
    CHECK(bound > 4096 * mib - 256 * mib - runtime::peak_resident_memory() - 64 * mib);
  }
  const GroupMemory less_than_held(mib);
  CHECK(report_of(sum_of(100, 10)).memory_bound == mib / 16);
}

TEST_CASE("the user's bound goes before that of the control group, which bounds streams only") {
  const GroupMemory group(mib);
  CHECK(report_of(sum_of(100, 10), {.memory = 5 * mib}).memory_bound == 5 * mib);
  const Vector<double> x(Index{100'000});
  RunReport report;
  run(map([](auto e) { return e + 1.0; }, use(x)), {}, &report);
  CHECK(report.memory_bound == 0);
}

TEST_CASE("chunks of a stream stay within what the control group leaves") {
  constexpr std::int64_t rows = 2000, length = 10'000;  // 160 MB
  const RunOptions all_at_once{.scheduler = "fixed:2000"};
  double expected = 0;
  {
    const GroupMemory none(0);
    RunReport report;
    expected = run(sum_of(rows, length), all_at_once, &report)[Index{}];
    CHECK(report.peak_bytes > 64 * mib);
  }
  const GroupMemory group(64 * mib);
  for (const RunOptions& options : {RunOptions{}, RunOptions{.scheduler = "paper"}, all_at_once}) {
    INFO(options.scheduler);
    RunReport report;
    CHECK(run(sum_of(rows, length), options, &report)[Index{}] == expected);
    CHECK(report.memory_bound >= 4 * mib);
    CHECK(report.memory_bound <= 60 * mib);
    CHECK(report.peak_bytes <= report.memory_bound);
    // What lies idle counts against the group as well.
    CHECK(runtime::MemoryPool::of_process().idle_bytes() <= runtime::MemoryPool::most_idle_in_bounded_runs);
  }
}

TEST_CASE("an item that the control group leaves no room for is refused by name, in every kind of run") {
  const GroupMemory group(mib);
  const Vector<double> large(Index{1'000'000});
  const auto doubled = [](auto row) { return map([](auto x) { return x + x; }, row); };
  const auto refused = [](const auto& f) {
    std::string why;
    try {
      f();
    } catch (const ResourceError& e) {
      why = e.what();
    }
    INFO(why);
    CHECK((why.find("limit of 64.0 KiB") != std::string::npos ||
           why.find("65520 are left") != std::string::npos));
  };
  refused([&] { run(consume(elements(made(3, 1'000'000)))); });
  refused([&] {
    for (const auto& item : stream_out(made(3, 1'000'000))) CHECK(item.size() == 1'000'000);
  });
  refused([&] {
    auto stream = push_stream<Vector<double>>([&](auto s) { return map_seq(doubled, s); });
    stream.push(large);
    stream.finish();
  });
}

}  // namespace
}  // namespace anabranch::testing
