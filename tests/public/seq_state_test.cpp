#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "agree.h"
#include "support/memory_source.h"

// What passes from item to item: scan_seq, map_accum_seq, fold_seq, fold_batch.
namespace anabranch::testing {
namespace {

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {3, 0, 70, 1, 128, 9, 0, 17, 17, 2, 5})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n) + rows.size()));
  return rows;
}
std::vector<Vector<float>> equal_rows(std::int64_t count, std::int64_t length) {
  std::vector<Vector<float>> rows;
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(numbers<float>(length, static_cast<std::uint64_t>(i)));
  return rows;
}
const auto total = [](auto row) { return sum(row); };

TEST_CASE("scan_seq of single elements gives the state after each item") {
  const auto rows_ = some_rows();
  std::vector<Scalar<double>> expected;
  double state = 100.0;
  for (const auto& row : rows_) {
    state = agree(unit(state + the(sum(use(row)))))[Index{}];
    expected.push_back(Scalar<double>(state));
  }
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
  check_items(scan_seq(add, unit(100.0), map_seq(total, stream_in(rows_))), expected);
  check_items(scan_seq(add, unit(100.0), map_seq(total, stream_in(std::vector<Vector<double>>{}))), {});
  // Written with operations of arrays, and with a captured array.
  const Vector<double> factors{2.0, 3.0};
  const auto f = [&](auto x, auto y) {
    return zip_with([&](auto a, auto b) { return a * 0.5 + b * use(factors)[1]; }, x, y);
  };
  std::vector<Scalar<double>> decayed;
  state = 1.0;
  for (const auto& row : rows_) {
    state = agree(f(unit(state), sum(use(row))))[Index{}];
    decayed.push_back(Scalar<double>(state));
  }
  check_items(scan_seq(f, unit(1.0), map_seq(total, stream_in(rows_))), decayed);
}

TEST_CASE("functions of elements over items that are single elements") {
  const auto sums = map_seq(total, stream_in(some_rows()));
  const auto same = [](const auto& of_elements, const auto& of_arrays) {
    require_same(agree(consume(of_elements)), agree(consume(of_arrays)));
  };
  const auto added = [](auto x, auto y) { return unit(the(x) + the(y)); };
  same(elements(scan_seq(plus, 100.0, sums)), elements(scan_seq(added, unit(100.0), sums)));
  same(fold_seq(plus, 100.0, sums), fold_seq(added, unit(100.0), sums));
  const auto seed = the(sum(use(Vector<double>{1.5, 2})));
  same(fold_seq([](auto x, auto y) { return max(x, y); }, seed, sums),
       fold_seq([](auto x, auto y) { return zip_with(maximum_of, x, y); }, unit(seed), sums));
  const auto numbered =
      map_accum_seq([](auto n, auto x) { return std::pair(n + 1, pack(n, x)); }, std::int64_t{0}, sums);
  same(elements(numbered),
       elements(map_accum_seq(
           [](auto n, auto x) { return std::pair(unit(the(n) + 1), unit(pack(the(n), the(x)))); },
           unit(std::int64_t{0}), sums)));
  // What a function gives may be a plain value.
  const auto resets = map_accum_seq([](auto, auto x) { return std::pair(x, 1); }, 0.5, sums);
  CHECK(agree(consume(elements(resets)))[0] == 1);
}

/// 3000 of both zeros and 1, and from position `from` on NaNs, each with a payload of its own, every other one signalling.
template <class T>
Vector<T> with_nans(std::int64_t from) {
  return vector_of(3000, [=](std::int64_t i) {
    if (i >= from && i % 5 == 0) {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      const auto quiet = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
      const auto signalling = std::bit_cast<Bits>(std::numeric_limits<T>::signaling_NaN());
      return std::bit_cast<T>((i % 2 == 0 ? quiet : signalling) + static_cast<Bits>(i));
    }
    return static_cast<T>(i * 37 % 4) * (i % 3 == 0 ? T(-0.0) : T(0.0)) + static_cast<T>(i % 7 == 0);
  });
}

TEMPLATE_TEST_CASE("the least and the largest so far, with both zeros and NaNs", "", float, double) {
  using T = TestType;
  for (const std::int64_t from : {0, 1500, 2990, 4000})
    for (const T start : {T(0.5), std::numeric_limits<T>::quiet_NaN()}) {
      const Vector<T> items = with_nans<T>(from);
      std::vector<Scalar<T>> least, largest;
      T low = start, high = start;
      for (const T& x : items) {
        low = low < x || std::isnan(low) ? low : x;
        high = high > x || std::isnan(high) ? high : x;
        least.push_back(Scalar<T>(low));
        largest.push_back(Scalar<T>(high));
      }
      const auto so_far = [&](const auto& f) { return scan_seq(f, start, rows(use(items))); };
      check_items(so_far(minimum_of), least);
      check_items(so_far(maximum_of), largest);
      // The other way round it is the first of what is least.
      agree(consume(elements(so_far([](auto s, auto x) { return min(x, s); }))));
      // That of some items, beginning anew at others.
      const auto of_some = [](auto s, auto x) {
        return cond(x > T(0.5), Exp<T>(T(0.25)), cond(x >= T(0), max(s, x), s));
      };
      agree(consume(elements(so_far(of_some))));
    }
}

TEST_CASE("items that states pass through, into memory that is there") {
  using Numbers = Vector<std::int32_t>;
  const Numbers from = vector_of(5000, [](std::int64_t i) { return static_cast<std::int32_t>(i % 13 - 5); });
  const auto last = [](auto before, auto x) { return cond(x > 0, x, before); };
  const auto with_count = [](auto n, auto x) { return std::pair(n + 1, pack(n, x)); };
  const auto all = compile<Numbers>([&](auto a) {
    const auto states = consume(elements(scan_seq(last, 7, rows(a))));
    const auto pairs = consume(elements(map_accum_seq(with_count, std::int64_t{0}, rows(a))));
    return std::tuple(states, states, consume(tabulate(scan_seq(plus, 1, rows(a)))), pairs);
  });
  const auto some =
      compile<Numbers>([&](auto a) { return consume(elements(take_seq(10, scan_seq(plus, 0, rows(a))))); });
  const auto both = compile<Numbers>([&](auto a) {
    const auto sums = scan_seq(plus, 0, rows(a));
    const auto few = filter_seq([](auto x) { return the(x) == 100'000 || the(x) < -4; }, rows(take(30, a)));
    return std::tuple(consume(fold_seq(maximum_of, 0, sums)),
                      consume(elements(zip_with_seq([](auto s, auto) { return s; }, sums, few))));
  });
  const auto just_states =
      compile<Numbers>([&](auto a) { return consume(elements(scan_seq(last, 7, rows(a)))); });
  const auto kept = compile<Numbers>([&](auto a) {
    return consume(elements(filter_seq([](auto x) { return the(x) > 2; }, scan_seq(last, 7, rows(a)))));
  });
  const RunOptions by_interpreter{.backend = Backend::interpreter};
  const auto [states, again, sums, pairs] = all.run(by_interpreter, from);
  const auto [all_joined, beside] = both.run(by_interpreter, from);
  CHECK(beside.size() == 3);
  const Numbers first = some.run(by_interpreter, from), chosen = kept.run(by_interpreter, from);
  for (const char* scheduler : {"fixed:1", "fixed:7", "fixed:1000", "adaptive"})
    for (const int threads : {1, 2}) {
      const RunOptions options{.threads = threads, .scheduler = scheduler};
      INFO(to_string(options));
      Numbers one(Index{5000}), other(Index{6000}), third(Index{5000});
      Vector<std::tuple<std::int64_t, std::int32_t>> last_one(Index{5000});
      all.run_into(std::tie(one, other, third, last_one), options, from);
      require_same(one, states);
      require_same(other, again);
      require_same(third, sums);
      require_same(last_one, pairs);
      // What is not taken is not written.
      Numbers ten = vector_of(5000, [](std::int64_t) { return std::int32_t{-1}; });
      some.run_into(ten, options, from);
      require_same(ten, first);
      for (std::int64_t i = 10; i < 5000; ++i) CHECK(ten.data()[i] == -1);
      Numbers others(Index{5000});
      kept.run_into(others, options, from);
      require_same(others, chosen);
      // Beside a shorter sequence, and joined by another sink.
      Numbers shorter = vector_of(5000, [](std::int64_t) { return std::int32_t{-1}; });
      Scalar<std::int32_t> joined_value;
      both.run_into(std::tie(joined_value, shorter), options, from);
      require_same(joined_value, all_joined);
      require_same(shorter, beside);
      for (std::int64_t i = 3; i < 5000; ++i) CHECK(shorter.data()[i] == -1);
      Numbers bounded(Index{5000});
      RunOptions with_bound = options;
      with_bound.memory = 300'000;
      just_states.run_into(bounded, with_bound, from);
      require_same(bounded, states);
      // What is written cannot be read.
      Numbers own = from;
      CHECK_THROWS_AS(all.run_into(std::tie(one, own, third, last_one), options, own), ProgramError);
    }
  const auto quotients = compile<Numbers>([&](auto a) {
    return consume(elements(scan_seq([](auto q, auto x) { return q + 100 / (x + 5); }, 0, rows(a))));
  });
  Numbers to(Index{5000});
  CHECK_THROWS_WITH(quotients.run_into(to, {.scheduler = "fixed:7"}, from), Catch::Contains("item 0"));
}

TEST_CASE("scan_seq of arrays, and of states of other types than items") {
  // Running sums of rows of one length.
  const auto rows_ = equal_rows(9, 33);
  std::vector<Vector<float>> expected;
  Vector<float> state(Index{33});
  for (const auto& row : rows_) {
    state = vector_of(33, [&](std::int64_t i) { return state[i] + row[i]; });
    expected.push_back(state);
  }
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  check_items(scan_seq(add, fill(33, 0.0f), stream_in(rows_)), expected);
  // A state that grows.
  const std::vector<Vector<double>> pieces{{1, 2}, {}, {3}, {4, 5, 6}};
  const auto longer = [](auto x, auto y) { return concat(x, y); };
  check_items(scan_seq(longer, use(Vector<double>{0}), stream_in(pieces)),
              {{0, 1, 2}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6}});
  // A count of elements, of rows.
  const auto count = [](auto n, auto row) { return unit(the(n) + size(row)); };
  check_items(
      scan_seq(count, unit(std::int64_t{0}), stream_in(pieces)),
      {Scalar<std::int64_t>(2), Scalar<std::int64_t>(2), Scalar<std::int64_t>(3), Scalar<std::int64_t>(6)});
}

TEST_CASE("map_accum_seq gives what becomes of items, and passes a state of several arrays on") {
  // Differences to the item before, and how many there were.
  const auto step = [](auto last, auto count, auto x) {
    return std::pair(std::tuple(x, unit(the(count) + 1)), std::tuple(unit(the(x) - the(last)), count));
  };
  const auto rows_ = some_rows();
  const auto sums = map_seq(total, stream_in(rows_));
  const auto [differences, counts] =
      unzip_seq(map_accum_seq(step, std::tuple(unit(0.0), unit(std::int32_t{7})), sums));
  std::vector<Scalar<double>> expected;
  double last = 0.0;
  for (const auto& row : rows_) {
    const double x = agree(sum(use(row)))[Index{}];
    expected.push_back(Scalar<double>(x - last));
    last = x;
  }
  check_items(differences, expected);
  const auto [d, c] = agree(std::tuple(consume(elements(differences)), consume(elements(counts))));
  REQUIRE(c.size() == std::ssize(rows_));
  for (std::int64_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == 7 + i);
  // Rows less the mean of the last row: an item of several arrays, a state that is one of these.
  const auto centred = [](auto mean_before, auto row, auto mean) {
    return std::pair(mean, map([=](auto v) { return v - the(mean_before); }, row));
  };
  const auto with_means =
      map_seq([](auto row) { return std::tuple(row, unit(the(sum(row)) / 10.0)); }, stream_in(rows_));
  std::vector<Vector<double>> moved;
  double mean_before = 0.0;
  for (const auto& row : rows_) {
    moved.push_back(vector_of(row.size(), [&](std::int64_t i) { return row[i] - mean_before; }));
    mean_before = agree(sum(use(row)))[Index{}] / 10.0;
  }
  check_items(map_accum_seq(centred, unit(0.0), with_means), moved);
  check_items(
      filter_seq([](auto row) { return size(row) > 2; }, map_accum_seq(centred, unit(0.0), with_means)), [&] {
        auto kept = moved;
        std::erase_if(kept, [](const auto& row) { return row.size() <= 2; });
        return kept;
      }());
}

// What the compiler finds for all items of a chunk at once.

constexpr std::int64_t many = 9'000;  // more than two blocks of a scan

std::int32_t mixed(std::int64_t i) { return static_cast<std::int32_t>(i * 7919 % 1013 - 400); }

const auto mixed_items = [] {
  return produce(many, [](auto i) { return unit(cast<std::int32_t>(i * 7919 % 1013 - 400)); });
};

/// Items of a sequence of single elements are what a loop gives: `next(i)`, called for each item, from the first on.
template <class T, class Next>
void require_singles(const Seq<Scalar<T>>& items, Next next) {
  const Vector<T> got = agree(consume(elements(items)));
  REQUIRE(got.size() == many);
  for (std::int64_t i = 0; i < many; ++i) REQUIRE(got[i] == next(i));
}

TEST_CASE("states that are counted and summed, beside what becomes of the item") {
  const auto step = [](auto count, auto squares, auto least, auto x) {
    const auto v = the(x);
    const auto is_negative = v < 0;
    return std::pair(
        std::tuple(unit(cond(is_negative, the(count) + 1, the(count))),
                   unit(the(squares) - cast<std::int64_t>(v) * 3 + 1), unit(min(v, the(least)))),
        unit(the(squares) * 2 + cast<std::int64_t>(the(count)) + cast<std::int64_t>(the(least))));
  };
  std::int32_t count = 5, least = 1000;
  std::int64_t squares = -7;
  require_singles<std::int64_t>(
      map_accum_seq(step, std::tuple(unit(5), unit(std::int64_t{-7}), unit(1000)), mixed_items()),
      [&](std::int64_t i) {
        const std::int64_t result = squares * 2 + count + least;
        count += mixed(i) < 0;
        squares += 1 - 3 * std::int64_t{mixed(i)};
        least = std::min(least, mixed(i));
        return result;
      });
  const auto sum_of_squares = [](auto sum, auto x) { return unit(the(sum) + the(x) * the(x)); };
  std::uint32_t sum = 0;
  require_singles<std::int32_t>(scan_seq(sum_of_squares, unit(0), mixed_items()), [&](std::int64_t i) {
    sum += static_cast<std::uint32_t>(mixed(i) * mixed(i));
    return static_cast<std::int32_t>(sum);
  });
}

TEST_CASE("states that items set: the item before, delays, the last that was valid") {
  const auto scaled = map_seq([](auto x) { return unit(cast<float>(the(x)) * 0.1f); }, mixed_items());
  const auto scaled_on_host = [](std::int64_t i) { return static_cast<float>(mixed(i)) * 0.1f; };
  const auto difference = [](auto last, auto x) { return std::pair(x, unit(the(x) - the(last))); };
  require_singles<float>(map_accum_seq(difference, unit(2.5f), scaled), [&](std::int64_t i) {
    return scaled_on_host(i) - (i == 0 ? 2.5f : scaled_on_host(i - 1));
  });
  const auto moving = [](auto x1, auto x2, auto x) {
    return std::pair(std::tuple(x, x1), unit(the(x) * 0.5f + the(x1) * 0.25f + the(x2) * 0.125f));
  };
  require_singles<float>(map_accum_seq(moving, std::tuple(unit(1.0f), unit(-1.0f)), scaled),
                         [&](std::int64_t i) {
                           const float x1 = i == 0 ? 1.0f : scaled_on_host(i - 1);
                           const float x2 = i == 0 ? -1.0f : i == 1 ? 1.0f : scaled_on_host(i - 2);
                           return scaled_on_host(i) * 0.5f + x1 * 0.25f + x2 * 0.125f;
                         });
  const auto last_valid = [](auto valid, auto x) { return unit(cond(the(x) > 30.0f, the(x), the(valid))); };
  float valid = 0.0f;
  require_singles<float>(scan_seq(last_valid, unit(0.0f), scaled), [&](std::int64_t i) {
    if (scaled_on_host(i) > 30.0f) valid = scaled_on_host(i);
    return valid;
  });
}

TEST_CASE("states that begin again, and that depend on others") {
  // How long the signal has been rising, and where the largest value so far was.
  const auto step = [](auto last, auto rising, auto largest, auto place, auto i, auto x) {
    return std::pair(
        std::tuple(x, unit(cond(the(x) > the(last), the(rising) + 1, 0)), unit(max(the(largest), the(x))),
                   unit(cond(the(x) > the(largest), the(i), the(place)))),
        std::tuple(rising, place));
  };
  const auto numbered = produce(
      many, [](auto i) { return std::tuple(unit(i), unit(cast<std::int32_t>(i * 7919 % 1013 - 400))); });
  const auto [rising, place] = unzip_seq(
      map_accum_seq(step, std::tuple(unit(0), unit(3), unit(-1000), unit(std::int64_t{-1})), numbered));
  std::int32_t last = 0, run = 3;
  require_singles<std::int32_t>(rising, [&](std::int64_t i) {
    const std::int32_t before = run;
    run = mixed(i) > last ? run + 1 : 0;
    last = mixed(i);
    return before;
  });
  std::int32_t largest = -1000;
  std::int64_t at = -1;
  require_singles<std::int64_t>(place, [&](std::int64_t i) {
    const std::int64_t before = at;
    if (mixed(i) > largest) at = i;
    largest = std::max(largest, mixed(i));
    return before;
  });
  // Each depends on the other: from item to item.
  const auto turned = [](auto a, auto b, auto x) {
    return std::pair(std::tuple(unit(the(b) + the(x)), unit(the(a) - the(x))), unit(the(a) * 3 + the(b)));
  };
  std::uint32_t a = 1, b = 2;
  require_singles<std::int32_t>(
      map_accum_seq(turned, std::tuple(unit(1), unit(2)), mixed_items()), [&](std::int64_t i) {
        const std::uint32_t result = a * 3 + b, x = static_cast<std::uint32_t>(mixed(i));
        a = std::exchange(b, a - x) + x;
        return static_cast<std::int32_t>(result);
      });
}

/// A counter that begins again, in any type; every operation beside what sets it.
template <class T, class Join, class JoinOnHost>
void begins_again(Join join, JoinOnHost join_on_host) {
  const auto step = [=](auto state, auto x) {
    const auto v = cast<T>(the(x));
    return unit(cond(the(x) % 17 == 0, v, cond(the(x) % 3 == 0, the(state), join(the(state), v))));
  };
  T state{3};
  require_singles<T>(scan_seq(step, unit(T{3}), mixed_items()), [&](std::int64_t i) {
    const T v = static_cast<T>(mixed(i));
    state = mixed(i) % 17 == 0 ? v : mixed(i) % 3 == 0 ? state : static_cast<T>(join_on_host(state, v));
    return state;
  });
}

TEST_CASE("counters of every width that begin again", "[once]") {
  begins_again<std::int8_t>(
      [](auto a, auto b) { return a + b; },
      [](auto a, auto b) { return static_cast<std::uint8_t>(a) + static_cast<std::uint8_t>(b); });
  begins_again<std::uint8_t>([](auto a, auto b) { return a - b; }, [](auto a, auto b) { return a - b; });
  begins_again<std::int16_t>([](auto a, auto b) { return min(b, a); },
                             [](auto a, auto b) { return std::min(a, b); });
  begins_again<std::uint64_t>([](auto a, auto b) { return a * b; }, [](auto a, auto b) { return a * b; });
  begins_again<std::uint32_t>([](auto a, auto b) { return a ^ b; }, [](auto a, auto b) { return a ^ b; });
  begins_again<std::int64_t>([](auto a, auto b) { return b & a; }, [](auto a, auto b) { return b & a; });
  begins_again<double>([](auto a, auto) { return a; }, [](auto a, auto) { return a; });
}

TEST_CASE("states of bools, of pairs, and set once in many blocks") {
  const auto seen = [](auto before, auto x) { return unit(the(before) || the(x) > 600); };
  bool any = false;
  require_singles<bool>(scan_seq(seen, unit(false), mixed_items()),
                        [&](std::int64_t i) { return any = any || mixed(i) > 600; });
  const auto odd = [](auto before, auto x) { return unit(the(before) != (the(x) % 5 == 0)); };
  bool parity = true;
  require_singles<bool>(scan_seq(odd, unit(true), mixed_items()),
                        [&](std::int64_t i) { return parity = parity != (mixed(i) % 5 == 0); });
  // The first of two numbers that was seen last, and its place: a pair that is set as a whole.
  using Numbered = std::pair<std::int64_t, std::int32_t>;
  const auto last = [](auto before, auto i, auto x) {
    return std::pair(unit(cond(the(i) == 5'000, make<Numbered>(the(i), the(x)), the(before))), before);
  };
  const auto numbered = produce(
      many, [](auto i) { return std::tuple(unit(i), unit(cast<std::int32_t>(i * 7919 % 1013 - 400))); });
  const auto pairs = map_accum_seq(last, unit(make<Numbered>(std::int64_t{-1}, 5)), numbered);
  require_singles<std::int64_t>(
      map_seq([](auto p) { return unit(get<0>(the(p)) * 1000 + cast<std::int64_t>(get<1>(the(p)))); }, pairs),
      [](std::int64_t i) { return i <= 5'000 ? -1'000 + 5 : 5'000'000 + mixed(5'000); });
}

TEST_CASE("states that are found at once fail as one by one, with the item's number") {
  const auto singles = produce(5'200, [](auto i) { return unit(i); });
  const auto fails_at = [&](auto step, const char* text) {
    fails<RunError>(consume(elements(map_accum_seq(step, unit(std::int64_t{1}), singles))), {text});
  };
  const char* const division = "divide: integer division of 10 by zero in item 5,018 ";
  fails_at([](auto s, auto x) { return std::pair(unit(cond(10 / (the(x) - 5'018) > 0, the(s), the(s))), x); },
           division);
  fails_at(
      [](auto s, auto x) { return std::pair(unit(cond(10 / (the(x) - 5'018) > 0, the(s) + 1, the(s))), x); },
      division);
  fails_at([](auto, auto x) { return std::pair(unit(10 / (the(x) - 5'018)), x); }, division);
  fails_at(
      [](auto s, auto x) {
        return std::pair(unit(10 / (the(x) - 5'018)), unit(cond(the(x) < 0, the(s), the(x))));
      },
      division);
  fails_at([](auto s, auto x) { return std::pair(unit(the(s) + 1), unit(10 / (the(x) - 5'018) + the(s))); },
           division);
  fails_at(
      [](auto s, auto x) { return std::pair(unit(cond(the(x) == 5'018, 10 / (the(x) - 5'018), the(s))), x); },
      division);
  // Sides that are not taken do not fail.
  const auto never = [](auto s, auto x) {
    return std::pair(unit(cond(the(x) < 0, 10 / (the(x) - 5'018), the(s) + 1)),
                     unit(cond(the(x) == 5'018, the(s), the(s) / (the(x) - 5'018))));
  };
  const Vector<std::int64_t> got =
      agree(consume(elements(map_accum_seq(never, unit(std::int64_t{1}), singles))));
  for (std::int64_t i = 0; i < 5'200; ++i) REQUIRE(got[i] == (i == 5'018 ? i + 1 : (i + 1) / (i - 5'018)));
}

TEST_CASE("a state of nothing to pass, and between chunks without items") {
  const auto counted = [](auto n, auto x) {
    return std::pair(unit(the(n) + 1), unit(the(n) * 1000 + the(x)));
  };
  const auto none = produce(0, [](auto i) { return unit(i); });
  CHECK(agree(consume(elements(map_accum_seq(counted, unit(std::int64_t{7}), none)))).size() == 0);
  const auto some = produce(3000, [](auto i) { return unit(i); });
  const auto few = filter_seq([](auto x) { return the(x) % 1000 == 999; }, some);
  const Vector<std::int64_t> got =
      agree(consume(elements(map_accum_seq(counted, unit(std::int64_t{7}), append_seq(none, few, none)))));
  require_same(got, Vector<std::int64_t>{7'999, 9'999, 11'999});
}

TEST_CASE("a state that a loop computes, and one of many items") {
  // The next state is found by a loop, so it is no scalar code.
  const auto root = [](auto x, auto y) {
    return awhile([](auto z) { return the(z) > 2.0; }, [](auto z) { return unit(the(z) / 2.0); },
                  unit(the(x) + the(y)));
  };
  std::vector<Scalar<double>> expected;
  double state = 0.0;
  for (int i = 0; i < 12; ++i) {
    state += i;
    while (state > 2.0) state /= 2.0;
    expected.push_back(Scalar<double>(state));
  }
  check_items(scan_seq(root, unit(0.0), produce(12, [](auto i) { return unit(cast<double>(i)); })), expected);
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
  const auto all = scan_seq(add, unit(std::int64_t{0}), produce(20'000, [](auto i) { return unit(i); }));
  const Vector<std::int64_t> sums = agree(consume(elements(all)));
  REQUIRE(sums[19'999] == 19'999LL * 20'000 / 2);
}

TEST_CASE("fold_seq joins items in a tree over their numbers") {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 200}) {
    INFO(n);
    const auto rows_ = equal_rows(n, 5);
    const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
    const Vector<float> got = agree(consume(fold_seq(add, fill(5, 1.0f), stream_in(rows_))));
    std::vector<std::pair<std::int64_t, Vector<float>>> trees;  // sizes, from left to right
    const auto plus_ = [](const Vector<float>& a, const Vector<float>& b) {
      return vector_of(5, [&](std::int64_t i) { return a[i] + b[i]; });
    };
    for (const auto& row : rows_) {
      trees.emplace_back(1, row);
      while (trees.size() > 1 && trees.back().first == trees[trees.size() - 2].first) {
        const auto right = trees.back();
        trees.pop_back();
        trees.back() = {2 * right.first, plus_(trees.back().second, right.second)};
      }
    }
    Vector<float> expected = vector_of(5, [](std::int64_t) { return 1.0f; });
    for (const auto& tree : trees) expected = plus_(expected, tree.second);
    require_same(got, expected);
  }
}

TEST_CASE("fold_seq keeps the order of items, of whatever shape, and takes the rows of what is computed") {
  const std::vector<Vector<double>> pieces{{1, 2}, {}, {3}, {4, 5, 6}, {7}, {}, {8, 9}};
  const auto longer = [](auto x, auto y) { return concat(x, y); };
  require_same(agree(consume(fold_seq(longer, use(Vector<double>{0}), stream_in(pieces)))),
               Vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  // Products of small matrices do not commute.
  const auto matrices = produce(11, [](auto i) {
    return generate(index_of(2, 2),
                    [=](auto ix) { return cond(ix[0] == ix[1], std::int64_t{1}, (ix[0] + 1) * i % 5 - 2); });
  });
  const auto identity = generate(
      index_of(2, 2), [](auto ix) { return cond(ix[0] == ix[1], std::int64_t{1}, std::int64_t{0}); });
  const Matrix<std::int64_t> got =
      agree(consume(fold_seq([](auto a, auto b) { return matmul(a, b); }, identity, matrices)));
  std::int64_t p[4] = {1, 0, 0, 1};
  for (std::int64_t i = 0; i < 11; ++i) {
    const std::int64_t m[4] = {1, i % 5 - 2, 2 * i % 5 - 2, 1};
    const std::int64_t q[4] = {p[0] * m[0] + p[1] * m[2], p[0] * m[1] + p[1] * m[3],
                               p[2] * m[0] + p[3] * m[2], p[2] * m[1] + p[3] * m[3]};
    std::copy(q, q + 4, p);
  }
  for (std::int64_t i = 0; i < 4; ++i) REQUIRE(got[Index{i / 2, i % 2}] == p[i]);
  // Beside other terminals of the same pass, two of them folds, and with what a fold needs of another stream.
  const auto rows_ = equal_rows(12, 4);
  const auto s = stream_in(rows_);
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  const auto least = [](auto x, auto y) { return zip_with([](auto a, auto b) { return min(a, b); }, x, y); };
  const auto [sums, minima, all, scaled] =
      agree(std::tuple(consume(fold_seq(add, fill(4, 0.0f), s)), consume(fold_seq(least, fill(4, 1e9f), s)),
                       consume(tabulate(s)),
                       map([](auto x) { return x * 2.0f; },
                           consume(fold_seq(add, fill(4, 0.0f), map_seq([](auto r) { return r; }, s))))));
  for (std::int64_t i = 0; i < 4; ++i) {
    float least_of = 1e9f;
    for (const auto& row : rows_) least_of = std::min(least_of, row[i]);
    REQUIRE(minima[i] == least_of);
    REQUIRE(scaled[i] == sums[i] * 2.0f);
  }
  const std::vector<Scalar<std::int64_t>> numbers_{Scalar<std::int64_t>(3), Scalar<std::int64_t>(4),
                                                   Scalar<std::int64_t>(5)};
  REQUIRE(agree(consume(fold_seq([](auto x, auto y) { return unit(the(x) * the(y)); }, unit(std::int64_t{2}),
                                 stream_in(numbers_))))[Index{}] == 120);
}

TEST_CASE("fold_seq of single elements, cut anywhere") {
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
  for (const std::int64_t n : {1, 2, 6, 7, 13, 64, 100}) {
    const auto squares = produce(n, [](auto i) { return unit(i * i + 1); });
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < n; ++i) expected += i * i + 1;
    REQUIRE(agree(consume(fold_seq(add, unit(std::int64_t{0}), squares)))[Index{}] == expected);
    for (const char* scheduler : {"fixed:1", "fixed:2", "fixed:3", "fixed:5", "fixed:11"})
      REQUIRE(run(consume(fold_seq(add, unit(std::int64_t{0}), squares)),
                  {.scheduler = scheduler})[Index{}] == expected);
    const auto floats = map_seq([](auto x) { return unit(cast<float>(the(x)) * 0.1f); }, squares);
    agree(consume(fold_seq(add, unit(0.5f), floats)));
  }
}

TEST_CASE("fold_batch sums batches of items") {
  const auto rows_ = some_rows();
  // A histogram: of each batch by one operation over all of its elements.
  const auto histogram_of = [](auto batch) {
    return histogram(8, map([](auto x) { return cast<std::int64_t>(abs(x)) % 8; }, consume(elements(batch))));
  };
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  const Vector<std::int64_t> got =
      agree(consume(fold_batch(histogram_of, add, fill(8, std::int64_t{0}), stream_in(rows_))));
  std::vector<std::int64_t> expected(8);
  for (const auto& row : rows_)
    for (std::int64_t i = 0; i < row.size(); ++i)
      ++expected[static_cast<std::size_t>(static_cast<std::int64_t>(std::abs(row[i])) % 8)];
  for (std::int64_t i = 0; i < 8; ++i) REQUIRE(got[i] == expected[static_cast<std::size_t>(i)]);
  // Batches end by elements: 2^20 and more of them.
  const auto long_rows =
      produce(40, [](auto i) { return generate(60'000 + i, [=](auto j) { return i + j; }); });
  const auto maxima = [](auto batch) { return unit(the(maximum(consume(elements(batch))))); };
  const auto larger = [](auto x, auto y) { return unit(the(x) * 1000003 + the(y)); };
  const auto batches =
      run(consume(fold_batch(maxima, larger, unit(std::int64_t{0}), long_rows)), {.scheduler = "fixed:7"});
  REQUIRE(batches[Index{}] == run(consume(fold_batch(maxima, larger, unit(std::int64_t{0}), long_rows)),
                                  {.backend = Backend::interpreter})[Index{}]);
  REQUIRE(agree(consume(
              fold_batch(maxima, larger, unit(std::int64_t{5}), take_seq(0, long_rows))))[Index{}] == 5);
}

TEST_CASE("errors in what joins items come out with their line, and the next run works") {
  const auto rows_ = equal_rows(9, 3);
  const auto fourth = [](auto x, auto y) { return map([=](auto v) { return v + y[3]; }, x); };
  fails<RunError>(consume(fold_seq(fourth, fill(3, 0.0f), stream_in(rows_))),
                  {"index 3 out of range 0..2", "seq_state_test.cpp"});
  const auto program = compile(
      consume(elements(scan_seq([](auto x, auto y) { return unit(the(x) / (the(y) - 3)); },
                                unit(std::int64_t{100}), produce(6, [](auto i) { return unit(i); })))));
  fails_erased<RunError>([&](const RunOptions& options) { return arrays_of(program.run(options)); },
                         {"integer division of -16 by zero in item 3 ", "seq_state_test.cpp"},
                         Loc::current());
}

TEST_CASE("errors in what passes from item to item name the item, however many a chunk has") {
  constexpr int bad = 1234;
  const auto below = [=](auto x, auto y) { return unit(the(x) + 10 / (the(y) - bad)); };
  const auto singles = produce(5000, [](auto i) { return unit(i); });
  fails<RunError>(consume(elements(scan_seq(below, unit(std::int64_t{0}), singles))),
                  {"divide: integer division of 10 by zero in item 1,234 "});
  // Of items that fail in two ways the first is named.
  const Vector<std::int64_t> two{1, 2};
  const auto twice = [=](auto x, auto y) {
    return unit(the(x) + 10 / (the(y) - bad) + use(two)[max(the(y) - (bad - 2), 0)]);
  };
  fails<RunError>(consume(elements(scan_seq(twice, unit(std::int64_t{0}), singles))),
                  {"index 2 out of range 0..1 in item 1,234 |integer division of 10 by zero in item 1,234 "});

  const std::vector<Vector<std::int64_t>> rows_{{1, 2}, {3}, {-1}, {5}, {}};
  const auto arrays = [&](auto make) {
    return consume(elements(map_accum_seq(
        [=](auto state, auto row) { return std::pair(unit(the(state) + 1), make(the(state), row)); },
        unit(std::int64_t{0}), stream_in(rows_))));
  };
  fails<RunError>(arrays([](auto, auto row) { return map([=](auto x) { return x / (row[0] + 1); }, row); }),
                  {"divide: integer division of -1 by zero in item 2 "});
  fails<RunError>(arrays([](auto state, auto row) { return fill(row[0] + state - 2, 0.0f); }),
                  {"fill: negative extent -1 in item 0 "});
  fails<RunError>(arrays([](auto, auto row) { return generate(2, [=](auto i) { return row[i]; }); }),
                  {"index 1 out of range 0..0 in item 1 "});
  fails<RunError>(arrays([](auto, auto row) { return reshape(Index{1}, row); }),
                  {"reshape: the new shape has 1 fewer element than the array in item 0 "});
}

}  // namespace
}  // namespace anabranch::testing
