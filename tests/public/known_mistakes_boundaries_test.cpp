#include <algorithm>

#include "agree.h"

// Folds and scans of rows around powers of two and sizes of warps, of none and of one element: alone, as regular items,
// as segmented ones. With operators that do not commute, over 1 to 6 components. The expected values are plain loops.
// fold_test.cpp and scan_test.cpp have rows of several blocks.
namespace anabranch::testing {
namespace {

const std::vector<std::int64_t> borders{0,   1,   2,   31,  32,  33,  63,   64,   65,
                                        127, 128, 129, 255, 256, 257, 1023, 1024, 1025};

template <class T>
using Row = std::vector<T>;

/// The elements of further rows, result by result.
template <class... Ts>
void append(std::tuple<Row<Ts>...>& all, const std::tuple<Row<Ts>...>& more) {
  const auto one = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (one(std::get<I>(all), std::get<I>(more)), ...);
  }(std::index_sequence_for<Ts...>{});
}
template <int N, class T>
void require_elements(const Array<N, T>& got, const Row<T>& expected) {
  REQUIRE(got.size() == std::ssize(expected));
  for (std::int64_t i = 0; i < got.size(); ++i)
    if (!(got[i] == expected[static_cast<std::size_t>(i)])) FAIL("differ in element " << i);
}
template <class Got, class... Ts>
void require_all(const Got& got, const std::tuple<Row<Ts>...>& expected) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (require_elements(std::get<I>(got), std::get<I>(expected)), ...);
  }(std::index_sequence_for<Ts...>{});
}

/// `f` gives some arrays of a row, `of` their elements by loops, element(i) an element of a row. Rows of `lengths`.
template <class F, class Of, class Element>
void at_borders(const std::vector<std::int64_t>& lengths, F f, Of of, Element element) {
  using T = decltype(element(0));
  const auto row = [&](std::int64_t n, std::int64_t from) {
    return vector_of(n, [&](std::int64_t i) { return element(from + i); });
  };
  const auto expected = [&](std::int64_t n, std::int64_t from) {
    Row<T> elements;
    for (std::int64_t i = 0; i < n; ++i) elements.push_back(element(from + i));
    return of(elements);
  };
  const auto consumed = [&](auto items) {
    return std::apply([](auto... parts) { return std::tuple(consume(elements(parts))...); },
                      unzip_seq(map_seq(f, items)));
  };
  const auto alone = compile<Vector<T>>(f);
  const auto regular = compile<Matrix<T>>([&](auto matrix) { return consumed(rows(matrix)); });
  std::vector<Vector<T>> items;
  decltype(of(Row<T>())) of_items;
  for (const std::int64_t n : lengths) {
    INFO(n << " elements");
    require_all(agree_on(alone, row(n, 0)), expected(n, 0));
    const auto matrix = array_of(Index{3, n}, [&](std::int64_t i) { return element(i); });
    decltype(of_items) of_rows;
    for (std::int64_t r = 0; r < 3; ++r) append(of_rows, expected(n, r * n));
    require_all(agree_on(regular, matrix), of_rows);
  }
  // Long and short ones side by side, then many short ones.
  std::vector<std::int64_t> mixed_lengths;
  for (std::size_t k = 0; k < 2 * lengths.size(); ++k)
    mixed_lengths.push_back(lengths[k * 7 % lengths.size()]);
  for (std::int64_t k = 0; k < 100; ++k) mixed_lengths.push_back(std::max(k * 11 % 35, lengths[0]));
  for (const std::int64_t n : mixed_lengths) {
    const std::int64_t from = 17 * std::ssize(items);
    items.push_back(row(n, from));
    append(of_items, expected(n, from));
  }
  require_all(agree(consumed(stream_in(items))), of_items);
}

/// The prefixes and suffixes of a row, as plain loops give them.
template <class T>
struct Loops {
  Row<T> scanl, scanl1, scanr, scanr1;

  template <class Op>
  Loops(Op op, const T& z, const Row<T>& row) : scanl{z}, scanr{z} {
    for (const T& x : row) {
      scanl.push_back(op(scanl.back(), x));
      scanl1.push_back(scanl1.empty() ? x : op(scanl1.back(), x));
    }
    for (auto x = row.rbegin(); x != row.rend(); ++x) {
      scanr.push_back(op(*x, scanr.back()));
      scanr1.push_back(scanr1.empty() ? *x : op(*x, scanr1.back()));
    }
    std::reverse(scanr.begin(), scanr.end());
    std::reverse(scanr1.begin(), scanr1.end());
  }
  Row<T> fold() const { return {scanl.back()}; }
  Row<T> before() const { return {scanl.begin(), scanl.end() - 1}; }
};

/// `op` is the operator as the language has it, `host` on the host.
template <class Op, class HostOp, class Element, class T>
void folds_and_scans(Op op, HostOp host, Element element, const T& z) {
  const auto all = [=](auto a) {
    const auto [before, total] = scanl_(op, z, a);
    return std::tuple(fold(op, z, a), scanl(op, z, a), scanl1(op, a), scanr(op, z, a), scanr1(op, a), before,
                      total);
  };
  const auto loops = [=](const Row<T>& row) {
    const Loops<T> l(host, z, row);
    return std::tuple(l.fold(), l.scanl, l.scanl1, l.scanr, l.scanr1, l.before(), l.fold());
  };
  at_borders(borders, all, loops, element);
  // Of nothing there is no fold1.
  const auto without_seed = [=](auto a) { return fold1(op, a); };
  at_borders(
      {borders.begin() + 1, borders.end()}, [=](auto a) { return std::tuple(without_seed(a)); },
      [=](const Row<T>& row) { return std::tuple(Row<T>{Loops<T>(host, z, row).scanl1.back()}); }, element);
  fails<RunError>(without_seed(use(Vector<T>{})), {"fold1", "known_mistakes_boundaries_test.cpp"});
}
/// Three of them, of operators that take long to compile.
template <class Op, class HostOp, class Element, class T>
void fold_and_two_scans(Op op, HostOp host, Element element, const T& z) {
  const auto loops = [=](const Row<T>& row) {
    const Loops<T> l(host, z, row);
    return std::tuple(l.fold(), l.scanl1, l.scanr);
  };
  at_borders(
      borders, [=](auto a) { return std::tuple(fold(op, z, a), scanl1(op, a), scanr(op, z, a)); }, loops,
      element);
}

template <class T>
T drawn(std::int64_t i, std::uint64_t stream) {
  return number<T>(static_cast<std::uint64_t>(i) + 1'000'003 * stream);
}
using Word = std::uint32_t;

TEST_CASE("borders of folds and scans: a sum") {
  folds_and_scans(
      plus, [](Word x, Word y) { return x + y; }, [](std::int64_t i) { return drawn<Word>(i, 1); },
      Word{12345});
}

/// x -> a * x + b, the left one first.
using Affine = std::tuple<Word, Word>;
const auto affine = [](auto f, auto g) {
  return pack(get<0>(f) * get<0>(g), get<1>(f) * get<0>(g) + get<1>(g));
};
Affine host_affine(const Affine& f, const Affine& g) {
  return {std::get<0>(f) * std::get<0>(g), std::get<1>(f) * std::get<0>(g) + std::get<1>(g)};
}
TEST_CASE("borders of folds and scans: affine functions, which do not commute") {
  folds_and_scans(
      affine, host_affine, [](std::int64_t i) { return Affine{drawn<Word>(i, 1) | 1U, drawn<Word>(i, 2)}; },
      Affine{3, 5});
}

using Four = std::tuple<Word, Word, Word, Word>;
TEST_CASE("borders of folds and scans: 4 components, products of matrices") {
  const auto product = [](auto m, auto n) {
    auto [a, b, c, d] = m;
    auto [e, f, g, h] = n;
    return pack(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h);
  };
  const auto host = [](const Four& m, const Four& n) {
    const auto& [a, b, c, d] = m;
    const auto& [e, f, g, h] = n;
    return Four{a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h};
  };
  fold_and_two_scans(
      product, host,
      [](std::int64_t i) {
        return Four{drawn<Word>(i, 1) | 1U, drawn<Word>(i, 2) & ~1U, drawn<Word>(i, 3) & ~1U,
                    drawn<Word>(i, 4) | 1U};
      },
      Four{1, 2, 4, 7});
}

using Five = std::tuple<Word, Word, std::int64_t, std::int16_t, std::uint8_t>;
TEST_CASE("borders of folds and scans: 5 components") {
  const auto join = [](auto x, auto y) {
    auto [a, b] = affine(pack(get<0>(x), get<1>(x)), pack(get<0>(y), get<1>(y)));
    return pack(a, b, get<2>(x) + get<2>(y), max(get<3>(x), get<3>(y)), get<4>(y));
  };
  const auto host = [](const Five& x, const Five& y) {
    const auto [a, b] = host_affine({std::get<0>(x), std::get<1>(x)}, {std::get<0>(y), std::get<1>(y)});
    return Five{a, b, std::get<2>(x) + std::get<2>(y), std::max(std::get<3>(x), std::get<3>(y)),
                std::get<4>(y)};
  };
  fold_and_two_scans(
      join, host,
      [](std::int64_t i) {
        return Five{drawn<Word>(i, 1), drawn<Word>(i, 2), i * i, drawn<std::int16_t>(i, 3),
                    drawn<std::uint8_t>(i, 4)};
      },
      Five{7, 1, -5, -30'000, 9});
}

using Six = std::tuple<double, std::int16_t, bool, Word, Word, std::uint64_t>;
TEST_CASE("borders of folds and scans: 6 components") {
  const auto join = [](auto x, auto y) {
    auto [a, b] = affine(pack(get<3>(x), get<4>(x)), pack(get<3>(y), get<4>(y)));
    return pack(min(get<0>(x), get<0>(y)), get<1>(x), get<2>(x) != get<2>(y), a, b, get<5>(x) * get<5>(y));
  };
  const auto host = [](const Six& x, const Six& y) {
    const auto [a, b] = host_affine({std::get<3>(x), std::get<4>(x)}, {std::get<3>(y), std::get<4>(y)});
    return Six{
        std::min(std::get<0>(x), std::get<0>(y)), std::get<1>(x), std::get<2>(x) != std::get<2>(y), a, b,
        std::get<5>(x) * std::get<5>(y)};
  };
  fold_and_two_scans(
      join, host,
      [](std::int64_t i) {
        return Six{drawn<double>(i, 1), drawn<std::int16_t>(i, 2), drawn<bool>(i, 3),
                   drawn<Word>(i, 4),   drawn<Word>(i, 5),         drawn<std::uint64_t>(i, 6) | 1U};
      },
      Six{0.5, 3, true, 5, 6, 1});
}

}  // namespace
}  // namespace anabranch::testing
