#include <algorithm>
#include <array>
#include <concepts>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "agree.h"
#include "support/memory_source.h"

// zip_seq and zip_with_seq of two to nine sequences, which come from everywhere.
namespace anabranch::testing {
namespace {

using Rows = std::vector<std::vector<double>>;
constexpr std::size_t most = 9;
using Lengths = std::array<std::int64_t, most>;

/// A small whole number: sums of such are exact.
double element(std::size_t sequence, std::int64_t i) {
  return static_cast<double>(mixed(1000 * sequence + static_cast<std::uint64_t>(i)) % 21) - 10.0;
}
/// Elements [begin, begin + n) of a signal.
std::vector<double> part(std::size_t sequence, std::int64_t begin, std::int64_t n) {
  std::vector<double> out;
  for (std::int64_t i = begin; i < begin + n; ++i) out.push_back(element(sequence, i));
  return out;
}

/// The items of a sequence: `sequence` makes it of the same elements.
Rows items_of(std::size_t sequence, std::int64_t n) {
  Rows items;
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    total += element(sequence, i);
    switch (sequence) {
      case 3:
        items.push_back({static_cast<double>(i * i)});
        break;
      case 4:
        items.push_back(part(sequence, 3 * i, 3));
        break;
      case 5:
        items.push_back(part(sequence, i, 4));
        break;
      case 7:
        items.push_back(part(sequence, 5 * i, 3));
        break;
      case 8:
        items.push_back({total});
        break;
      default:  // vectors of different lengths
        items.push_back(part(sequence, 10 * i, 5 * i % 7));
    }
  }
  return items;
}

std::vector<Vector<double>> vectors(const Rows& rows) {
  std::vector<Vector<double>> out;
  for (const auto& row : rows) out.emplace_back(row);
  return out;
}
std::vector<Scalar<double>> scalars(const Rows& rows) {
  std::vector<Scalar<double>> out;
  for (const auto& row : rows) out.emplace_back(row[0]);
  return out;
}

/// Sequences of nine kinds.
template <std::size_t S>
auto sequence(std::int64_t n) {
  const Rows items = items_of(S, n);
  const auto signal = [](std::int64_t length) { return use(part(S, 0, length)); };
  if constexpr (S == 0) {
    return stream_in(vectors(items));
  } else if constexpr (S == 1) {  // read once
    return stream_in(Source<Vector<double>>(ragged<double>("tape", items, false)));
  } else if constexpr (S == 2) {
    const auto source = ragged<double>("file", items);
    source->read_in_pieces();
    return stream_in(Source<Vector<double>>(source));
  } else if constexpr (S == 3) {
    return produce(n, [](auto i) { return unit(cast<double>(i * i)); });
  } else if constexpr (S == 4) {
    return rows(reshape(Index{n, 3}, signal(3 * n)));
  } else if constexpr (S == 5) {
    return windows(signal(n == 0 ? 0 : n + 3), 4, 1);
  } else if constexpr (S == 6) {
    auto with_others = vectors({{1.0, 2.0}, {}});
    for (const auto& item : vectors(items)) with_others.push_back(item);
    return drop_seq(2, stream_in(with_others));
  } else if constexpr (S == 7) {
    std::vector<Vector<double>> blocks;
    for (std::int64_t at = 0; at < 5 * n; at += 4)
      blocks.emplace_back(part(S, at, std::min<std::int64_t>(4, 5 * n - at)));
    return windows(stream_in(blocks), 3, 5);
  } else {
    return scan_seq(plus, 0.0, rows(signal(n)));
  }
}

template <class T>
Exp<double> total(const Acc<Vector<T>>& a) {
  return the(sum(a));
}
template <class T>
Exp<double> total(const Acc<Scalar<T>>& a) {
  return cast<double>(the(a));
}
/// Tells its arguments apart: each counts three times what the next one does.
const auto digest = [](const auto&... arrays) {
  Exp<double> value = 0.0;
  ((value = value * 3.0 + total(arrays)), ...);
  return unit(value);
};
Vector<double> digests(std::span<const std::int64_t> lengths) {
  return vector_of(*std::min_element(lengths.begin(), lengths.end()), [&](std::int64_t i) {
    double value = 0.0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const std::vector<double> item = items_of(s, i + 1)[static_cast<std::size_t>(i)];
      value = value * 3.0 + std::accumulate(item.begin(), item.end(), 0.0);
    }
    return value;
  });
}

/// The first sequences, of these lengths: a new one of each for every run.
template <std::size_t... S>
void check_zipped(const Lengths& lengths, std::index_sequence<S...>) {
  const auto of_all = [&](const RunOptions& options) {
    return arrays_of(run(consume(elements(zip_with_seq(digest, sequence<S>(lengths[S])...))), options));
  };
  require_same(agree_erased(of_all, Loc::current())[0], digests({lengths.data(), sizeof...(S)}).erased(),
               Loc::current());
}

TEST_CASE("two to nine sequences of all kinds in step") {
  const Lengths lengths{33, 40, 35, 31, 36, 30, 41, 34, 32};
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (check_zipped(lengths, std::make_index_sequence<K + 2>()), ...);
  }(std::make_index_sequence<most - 1>());
}

TEST_CASE("the shortest of nine sequences ends them all, wherever it is") {
  for (const std::int64_t end : {0, 1, 17})
    for (std::size_t shortest = 0; shortest < most; ++shortest) {
      INFO("sequence " << shortest << ", " << end << " items");
      Lengths lengths{20, 23, 30, 21, 25, 24, 22, 20, 26};
      lengths[shortest] = end;
      check_zipped(lengths, std::make_index_sequence<most>());
    }
}

TEST_CASE("zip_seq of several sequences has tuples of all their arrays") {
  const auto zipped = zip_seq(sequence<0>(6), sequence<3>(9), sequence<4>(7), sequence<6>(5), sequence<8>(8));
  static_assert(
      std::same_as<decltype(zipped), const Seq<std::tuple<Vector<double>, Scalar<double>, Vector<double>,
                                                          Vector<double>, Scalar<double>>>>);
  const auto [a, b, c, d, e] = unzip_seq(zipped);
  check_items(a, vectors(items_of(0, 5)));
  check_items(b, scalars(items_of(3, 5)));
  check_items(c, vectors(items_of(4, 5)));
  check_items(d, vectors(items_of(6, 5)));
  check_items(e, scalars(items_of(8, 5)));
}

TEST_CASE("zipped sequences zipped again are one sequence of all arrays") {
  const auto pair = zip_seq(sequence<0>(12), sequence<2>(10));
  const auto three = zip_seq(sequence<3>(11), sequence<4>(14), sequence<5>(13));
  const auto all = zip_seq(pair, three, sequence<6>(15));
  static_assert(
      std::same_as<decltype(all), const decltype(zip_seq(sequence<0>(1), sequence<2>(1), sequence<3>(1),
                                                         sequence<4>(1), sequence<5>(1), sequence<6>(1)))>);
  const auto at_once = zip_seq(sequence<0>(12), sequence<2>(10), sequence<3>(11), sequence<4>(14),
                               sequence<5>(13), sequence<6>(15));
  const auto expected = agree(consume(elements(map_seq(digest, at_once))));
  REQUIRE(expected.size() == 10);
  require_same(agree(consume(elements(map_seq(digest, all)))), expected);
  require_same(agree(consume(elements(zip_with_seq(digest, pair, three, sequence<6>(15))))), expected);
  // More than nine.
  require_same(agree(consume(elements(map_seq(digest, zip_seq(all, all))))),
               vector_of(10, [&](std::int64_t i) { return expected[i] * 730.0; }));  // 3^6 + 1
}

TEST_CASE("an error in one of several zipped sequences, unless another one has ended before") {
  std::vector<Vector<double>> items(12, Vector<double>{1.0, 2.0, 3.0});
  items[9] = Vector<double>{4.0, 5.0};
  const auto numbers = [](std::int64_t n) { return produce(n, [](auto i) { return unit(i); }); };
  const auto ones = [](int n) {
    return stream_in(std::vector<Vector<double>>(static_cast<std::size_t>(n), Vector<double>{1.0}));
  };
  for (const auto& [first, second, end] : {std::tuple(9, 20, 9), {20, 9, 9}, {10, 20, 10}, {20, 10, 10}}) {
    const auto all = consume(elements(zip_with_seq(
        digest, numbers(30), ones(first), stream_in(regular(Index{3}), items), ones(second), numbers(40))));
    if (end == 9)
      REQUIRE(agree(all).size() == 9);
    else
      fails<RunError>(all, {"item 9", "[2]", "[3]", "zip_seq_test.cpp"});
  }
  const auto at_number = [](auto a, auto, auto, auto i) { return unit(a[the(i)]); };
  fails<RunError>(consume(elements(zip_with_seq(at_number, stream_in(items), ones(8), ones(7), numbers(6)))),
                  {"index 3 out of range 0..2", "item 3", "zip_seq_test.cpp"});
  REQUIRE(agree(consume(elements(zip_with_seq(at_number, stream_in(items), ones(8), ones(3), numbers(6)))))
              .size() == 3);
}

}  // namespace
}  // namespace anabranch::testing
