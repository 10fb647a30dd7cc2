#include <atomic>
#include <thread>
#include <vector>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "agree.h"
#include "support/host_arrays.h"

// Runs inside of the user's own oneTBB arenas.
namespace anabranch::testing {
namespace {

std::vector<Vector<double>> some_rows(std::int64_t n) {
  std::vector<Vector<double>> rows;
  for (std::int64_t i = 0; i < n; ++i)
    rows.push_back(numbers<double>(i * 7 % 23, static_cast<std::uint64_t>(i)));
  return rows;
}

const auto roots = [](auto row) { return map([](auto x) { return sqrt(abs(x)); }, row); };
const auto root_sum = [](auto row) { return sum(map([](auto x) { return sqrt(abs(x)); }, row)); };

const auto made_row = [](auto i) {
  return generate(i % 23, [=](auto k) { return cast<double>(k * 3 - i); });
};

/// What is run: a program of its own, one that others run at the same time, and rows one by one.
struct Work {
  std::vector<Vector<double>> rows = some_rows(300);
  Program<Acc<Vector<double>>> compiled =
      compile(consume(elements(map_seq(root_sum, produce(2000, made_row)))));

  HostArrays whole(const RunOptions& options) const {
    return arrays_of(run(std::tuple(consume(elements(map_seq(root_sum, stream_in(rows)))),
                                    sum(map([](auto x) { return x * x; }, use(numbers<double>(100'000))))),
                         options));
  }
  HostArrays again(const RunOptions& options) const { return arrays_of(compiled.run(options)); }
  HostArrays one_by_one(const RunOptions& options) const {
    HostArrays items;
    for (const auto& row : stream_out(map_seq(roots, stream_in(rows)), options))
      items.push_back(row.erased());
    return items;
  }
};

using Do = HostArrays (Work::*)(const RunOptions&) const;
constexpr Do all_ways[] = {&Work::whole, &Work::again, &Work::one_by_one};

std::vector<RunOptions> some_options() {
  std::vector<RunOptions> options;
  for (const int threads : {0, 1, 2, 4})
    for (const char* scheduler : {"adaptive", "fixed:7"})
      options.push_back({.threads = threads, .scheduler = scheduler});
  return options;
}

bool all_same(const HostArrays& got, const HostArrays& expected) {
  if (got.size() != expected.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!same(got[i], expected[i])) return false;
  return true;
}

TEST_CASE("runs inside of a oneTBB arena of 1 or 2 slots give what they give outside", "[once]") {
  const Work work;
  for (const Do way : all_ways) {
    const HostArrays expected = (work.*way)({.backend = Backend::interpreter});
    for (const int slots : {1, 2})
      for (const RunOptions& options : some_options()) {
        INFO(slots << " slots, " << to_string(options));
        tbb::task_arena arena(slots);
        HostArrays got;
        arena.execute([&] { got = (work.*way)(options); });
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) require_same(got[i], expected[i], Loc::current());
      }
  }
}

TEST_CASE("runs inside of the loops of several oneTBB arenas at once", "[once]") {
  const Work work;
  std::vector<HostArrays> expected;
  for (const Do way : all_ways) expected.push_back((work.*way)({.backend = Backend::interpreter}));
  const std::vector<RunOptions> options = some_options();
  std::atomic<int> right = 0;
  std::vector<std::jthread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      tbb::task_arena arena(1 + user % 2);
      arena.execute([&] {
        tbb::parallel_for(0, 12, [&](int i) {
          const auto way = static_cast<std::size_t>(i + user) % std::size(all_ways);
          const RunOptions& with = options[static_cast<std::size_t>(i * 4 + user) % options.size()];
          right += all_same((work.*all_ways[way])(with), expected[way]);
        });
      });
    });
  users.clear();
  CHECK(right == 4 * 12);
}

TEST_CASE("an error and a request to stop come out of a oneTBB arena", "[once]") {
  const auto failing = compile(consume(elements(map_seq(
      [](auto row) { return map([](auto x) { return cast<std::int64_t>(x) / std::int64_t{0}; }, row); },
      stream_in(some_rows(300))))));
  std::stop_source stop;
  stop.request_stop();
  const Work work;
  for (const int slots : {1, 2}) {
    tbb::task_arena arena(slots);
    arena.execute([&] {
      CHECK_THROWS_AS(failing.run({.threads = 2}), RunError);
      CHECK_THROWS_AS(work.again({.threads = 2, .stop = stop.get_token()}), Cancelled);
      CHECK(work.again({.threads = 2}).size() == 1);
    });
  }
}

}  // namespace
}  // namespace anabranch::testing
