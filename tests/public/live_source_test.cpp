#include <deque>
#include <list>
#include <ranges>
#include <span>
#include <thread>

#include "agree.h"
#include "support/memory_source.h"

// How far a source has been read when a result is there. A live source is asked for an item only when all
// before it have been handed out; what never waits is read a chunk at a time.
namespace anabranch::testing {
namespace {

const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };

/// Single-pass, as a socket is: counts how often it was asked for an item, the end included.
class Socket {
 public:
  Socket(int items, int& asked) : items_(items), asked_(&asked) {}
  class Iterator {
   public:
    using value_type = Vector<double>;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(Socket* socket) : socket_(socket) { socket_->receive(); }
    Vector<double> operator*() const { return Vector<double>{static_cast<double>(socket_->at_), 1.0}; }
    Iterator& operator++() {
      ++socket_->at_;
      socket_->receive();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    bool at_end() const { return socket_->at_ == socket_->items_; }
    Socket* socket_ = nullptr;
  };
  Iterator begin() { return Iterator(this); }
  static std::default_sentinel_t end() { return {}; }

 private:
  void receive() { ++*asked_; }
  int items_, at_ = 0;
  int* asked_;
};
static_assert(std::ranges::input_range<Socket> && !std::ranges::forward_range<Socket>);

/// A view that can be read again, computed when it is read.
auto computed(int items, int& asked) {
  return std::views::iota(0, items) | std::views::transform([&asked](int i) {
           ++asked;
           return Vector<double>{static_cast<double>(i), 1.0};
         });
}

/// A source of the user's own that says nothing of its liveness: it gives as many items as it is asked for.
class Own : public SourceBase {
 public:
  Own(int items, int& asked, bool live = true) : items_(items), asked_(asked) {
    info_.name = "own";
    info_.arrays = {array_info({ScalarType::float64}, {2}, 0)};
    if (!live) info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (asked_ == items_) {
      ++asked_;
      return false;
    }
    const std::int64_t count = std::min<std::int64_t>(limit.items, items_ - asked_);
    auto values = std::make_shared<std::vector<double>>();
    for (std::int64_t k = 0; k < count; ++k) {
      values->push_back(asked_++);
      values->push_back(1.0);
    }
    chunk = {count, 2 * count, 16 * count, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    return true;
  }

 private:
  SourceInfo info_;
  int items_;
  int& asked_;
};

/// `asked` for each result when it is there, the end last.
template <class S>
std::vector<int> asked_at(const S& sequence, const RunOptions& options, const int& asked) {
  std::vector<int> out;
  auto items = stream_out(sequence, options);
  CHECK(asked == 0);
  for (const Vector<double>& item : items) {
    REQUIRE(item[0] == 2.0 * static_cast<double>(out.size()));
    out.push_back(asked);
  }
  out.push_back(asked);
  return out;
}

std::vector<int> one_by_one(int items) {
  std::vector<int> out;
  for (int i = 1; i <= items + 1; ++i) out.push_back(i);
  return out;
}

constexpr Backend both[] = {Backend::interpreter, Backend::cpu};

TEST_CASE("live: the result of an item is there before the next item is asked for") {
  for (const Backend backend : both) {
    int asked = 0;
    CHECK(asked_at(map_seq(doubled, stream_in(Socket(20, asked))), {.backend = backend}, asked) ==
          one_by_one(20));
    asked = 0;
    auto again = asked_at(map_seq(doubled, stream_in(computed(20, asked))), {.backend = backend}, asked);
    again.back() += 1;  // such a view is not asked for its end
    CHECK(again == one_by_one(20));
    asked = 0;
    const Source<Vector<double>> own(std::make_shared<Own>(20, asked));
    CHECK(asked_at(map_seq(doubled, stream_in(own)), {.backend = backend}, asked) == one_by_one(20));
    asked = 0;
    CHECK(asked_at(map_seq(doubled, stream_in(regular(Index{2}), Socket(20, asked))), {.backend = backend},
                   asked) == one_by_one(20));
  }
}

TEST_CASE("live: adaptive and paper keep to one item, fixed:N waits for N") {
  for (const char* scheduler : {"adaptive", "paper", "fixed:1"}) {
    int asked = 0;
    CHECK(asked_at(map_seq(doubled, stream_in(Socket(9, asked))), {.scheduler = scheduler}, asked) ==
          one_by_one(9));
  }
  int asked = 0;
  CHECK(asked_at(map_seq(doubled, stream_in(Socket(9, asked))), {.scheduler = "fixed:4"}, asked) ==
        std::vector{4, 4, 4, 4, 8, 8, 8, 8, 10, 10});
}

TEST_CASE("live: with another sequence beside it") {
  const std::vector rows(40, Vector<double>{1.0, 0.0});
  const auto add = [](auto a, auto b) { return doubled(zip_with(times, a, b)); };
  for (const Backend backend : both) {
    int asked = 0;
    CHECK(asked_at(zip_with_seq(add, stream_in(Socket(9, asked)), stream_in(rows)), {.backend = backend},
                   asked) == one_by_one(9));
    asked = 0;
    CHECK(asked_at(zip_with_seq(add, stream_in(rows), stream_in(Socket(9, asked))), {.backend = backend},
                   asked) == one_by_one(9));
    asked = 0;
    CHECK(asked_at(zip_with_seq(
                       [](auto a, auto i) {
                         return map([=](auto x) { return x * 2.0 + 0.0 * cast<double>(the(i)); }, a);
                       },
                       stream_in(Socket(9, asked)), produce(100, [](auto i) { return unit(i); })),
                   {.backend = backend}, asked) == one_by_one(9));
    asked = 0;
    CHECK(asked_at(zip_with_seq([=](auto a, auto, auto b, auto, auto) { return add(a, b); }, stream_in(rows),
                                produce(100, [](auto i) { return unit(i); }), stream_in(Socket(9, asked)),
                                stream_in(rows), drop_seq(3, stream_in(rows))),
                   {.backend = backend}, asked) == one_by_one(9));
  }
}

TEST_CASE("live: an answer that decides what is asked next") {
  // A generator whose next item is made of the result of the last one: reading ahead would be wrong.
  for (const Backend backend : both) {
    double state = 1;
    auto feedback =
        std::views::iota(0, 30) | std::views::transform([&](int) { return Vector<double>{state}; });
    double expected = 1;
    for (const auto& item : stream_out(map_seq(doubled, stream_in(feedback)), {.backend = backend})) {
      expected *= 2;
      REQUIRE(item[0] == expected);
      state = item[0];
    }
    CHECK(expected == std::ldexp(1.0, 30));
  }
}

TEST_CASE("live: behind a stream that is not") {
  for (const Backend backend : both) {
    double state = 1;
    const std::vector<Vector<double>> head(3, Vector<double>{0.5});
    auto feedback =
        std::views::iota(0, 30) | std::views::transform([&](int) { return Vector<double>{state}; });
    const auto all = append_seq(stream_in(head), append_seq(stream_in(head), stream_in(feedback)));
    double expected = 1;
    int item = 0;
    for (const auto& result : stream_out(map_seq(doubled, all), {.backend = backend})) {
      if (item++ < 6) continue;
      expected *= 2;
      REQUIRE(result[0] == expected);
      state = result[0];
    }
    CHECK(expected == std::ldexp(1.0, 30));
  }
}

TEST_CASE("live: what is not is read a chunk at a time, as the scheduler says") {
  int asked = 0;
  const auto first = [&](const auto& sequence, const RunOptions& options) {
    asked = 0;
    auto items = stream_out(sequence, options);
    REQUIRE(items.begin() != items.end());
    return asked;
  };
  // By one thread, beside which nothing is read.
  const RunOptions options[] = {{.threads = 1, .scheduler = "fixed:7"},
                                {.threads = 1, .scheduler = "paper"},
                                {.threads = 1, .scheduler = "adaptive"}};
  const int expected[] = {7, 1, 100};
  for (int k = 0; k < 3; ++k) {
    CHECK(first(map_seq(doubled, stream_in(Socket(100, asked), {.live = false})), options[k]) >= expected[k]);
    CHECK(first(map_seq(doubled, stream_in(Socket(100, asked), {.live = false})), options[k]) <=
          expected[k] + 1);
    const Source<Vector<double>> own(std::make_shared<Own>(100, asked, false));
    CHECK(first(map_seq(doubled, stream_in(own)), options[k]) == expected[k]);
  }
  // Which ranges are live.
  const std::vector<Vector<double>> rows(3, Vector<double>{1.0});
  const auto live = [](const auto& range) {
    using Range = std::remove_cvref_t<decltype(range)>;
    return detail::RangeSource<Range, std::ranges::range_value_t<Range>>(range, std::nullopt, std::nullopt,
                                                                         false, Place{})
        .info()
        .live;
  };
  CHECK(!live(rows));
  CHECK(!live(std::list(rows.begin(), rows.end())));
  CHECK(!live(std::deque(rows.begin(), rows.end())));
  CHECK(!live(std::views::all(rows)));
  CHECK(!live(std::span(rows)));
  CHECK(!live(std::views::take(std::span(rows), 2)));
  CHECK(live(rows | std::views::transform([](const auto& row) { return row; })));
  CHECK(live(rows | std::views::filter([](const auto& row) { return row.size() > 0; })));
}

TEST_CASE("live: the first chunk of a run is its first item") {
  for (const char* scheduler : {"adaptive", "paper"}) {
    int asked = 0;
    std::vector<std::int64_t> items;
    const RunOptions options{.threads = 1, .scheduler = scheduler, .progress = [&](const Progress& progress) {
                               items.push_back(progress.items);
                             }};
    run(consume(elements(map_seq(doubled, stream_in(Socket(20, asked))))), options);
    REQUIRE(!items.empty());
    CHECK(items.front() == 1);
    CHECK(items.back() == 20);
  }
}

TEST_CASE("live: a run over a slow source tells its progress and stops in time") {
  // An item every 30 ms: a chunk of thousands would take minutes.
  for (const auto& [scheduler, threads] :
       {std::pair("adaptive", 1), std::pair("paper", 2), std::pair("fixed:1000000", 2)}) {
    int asked = 0, calls = 0;
    std::stop_source stop;
    auto slow = std::views::iota(0) | std::views::transform([&](int i) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(30));
                  if (++asked == 12) stop.request_stop();
                  return Vector<double>{static_cast<double>(i)};
                });
    const RunOptions options{.threads = threads,
                             .scheduler = scheduler,
                             .stop = stop.get_token(),
                             .progress = [&](const Progress&) { ++calls; }};
    CHECK_THROWS_AS(run(consume(elements(map_seq(doubled, stream_in(slow)))), options), Cancelled);
    CHECK(asked <= 14);
    if (scheduler[0] != 'f') CHECK(calls >= 2);
  }
}

TEST_CASE("live: sources of different pace are read in step, in a run, and nothing is lost") {
  const auto expected = [](std::int64_t n) {
    return vector_of(n, [](std::int64_t i) { return static_cast<double>(i) * static_cast<double>(i); });
  };
  const auto multiplied = [](auto a, auto b) { return zip_with(times, a, b); };
  // One takes longer than a chunk may, so that it has less than the other when the time is over.
  for (const auto& [scheduler, memory] :
       {std::pair("adaptive", 0), std::pair("adaptive", 1 << 20), std::pair("fixed:3", 0)}) {
    auto fast = std::views::iota(0, 5000) |
                std::views::transform([](int i) { return Vector<double>{static_cast<double>(i)}; });
    auto slow = std::views::iota(0, 4000) | std::views::transform([](int i) {
                  if (i == 250) std::this_thread::sleep_for(std::chrono::milliseconds(110));
                  return Vector<double>{static_cast<double>(i)};
                });
    const auto both_ways =
        std::tuple(consume(elements(zip_with_seq(multiplied, stream_in(fast), stream_in(slow)))),
                   consume(elements(zip_with_seq(multiplied, stream_in(slow), stream_in(fast)))));
    const auto [one, other] = run(both_ways, {.memory = memory, .scheduler = scheduler});
    require_same(one, expected(4000));
    require_same(other, expected(4000));
  }
}

TEST_CASE("streamed out: what does not fit the memory bound at once is cut") {
  const std::vector<Vector<double>> rows(64, numbers<double>(1000, 1));
  // Each item becomes a hundred times as large.
  auto s = map_seq(
      [](auto row) {
        return generate(index_of(size(row), std::int64_t{100}),
                        [=](auto ix) { return row[ix[0]] + cast<double>(ix[1]); });
      },
      stream_in(rows));
  std::int64_t seen = 0;
  for (const auto& item : stream_out(s, {.memory = 4 << 20, .scheduler = "fixed:64"})) {
    REQUIRE(item.size() == 100'000);
    ++seen;
  }
  CHECK(seen == 64);
}

TEST_CASE("streamed out: progress after every chunk") {
  const std::vector<Vector<double>> rows(100, Vector<double>{1.0, 2.0});
  for (const Backend backend : both) {
    std::vector<Progress> seen;
    const RunOptions options{.backend = backend,
                             .scheduler = backend == Backend::cpu ? "fixed:30" : "fixed:1",
                             .progress = [&](const Progress& p) { seen.push_back(p); }};
    for (const auto& item : stream_out(map_seq(doubled, stream_in(rows)), options)) REQUIRE(item.size() == 2);
    REQUIRE(seen.size() == (backend == Backend::cpu ? 4 : 100));
    CHECK(seen.back().items == 100);
    CHECK(seen.back().chunks == static_cast<std::int64_t>(seen.size()));
    CHECK(seen.front().total_items == 100);
    CHECK(seen.front().items == (backend == Backend::cpu ? 30 : 1));
  }
}

TEST_CASE("of what is left out and taken no source is asked for more") {
  const auto kept = [](auto r) { return r[0] < 1.0 || r[0] > 3.0; };  // 0, 4, 5, 6, ...
  const auto each_ten_times = [](auto row) {
    return produce(10, [=](auto i) { return unit(row[0] + cast<double>(i)); });
  };
  std::vector<RunOptions> options{{.backend = Backend::interpreter}};
  for (const char* scheduler : {"fixed:4", "fixed:1", "adaptive", "paper"})
    options.push_back({.threads = 1, .scheduler = scheduler});
  for (const RunOptions& how : options) {
    INFO(to_string(how));
    int asked = 0;
    const auto four =
        run(consume(elements(take_seq(4, filter_seq(kept, stream_in(Socket(100, asked)))))), how);
    CHECK(four.size() == 8);
    CHECK(asked == 7);
    int applied = 0;
    const auto tens = flat_map_seq(each_ten_times, stream_in(Socket(100, applied)));
    CHECK(run(consume(elements(take_seq(15, tens))), how).size() == 15);
    CHECK(applied == 2);
  }
}

TEST_CASE("of a flat_map_seq that is taken from no source is asked for more, live or not") {
  for (const char* scheduler : {"fixed:15", "adaptive", "paper"}) {
    int asked = 0;
    const auto each_ten_times = [](auto row) {
      return produce(10, [=](auto i) { return unit(row[0] + cast<double>(i)); });
    };
    const auto items = stream_in(Source<Vector<double>>(std::make_shared<Own>(100, asked, false)));
    CHECK(run(consume(elements(take_seq(15, flat_map_seq(each_ten_times, items)))),
              {.threads = 1, .scheduler = scheduler})
              .size() == 15);
    CHECK(asked == 2);
  }
}

}  // namespace
}  // namespace anabranch::testing
