#include "shapes.h"

// Borders along outer dimensions, which code asks about once for each row: of few rows and many, of rows that are shorter
// than a vector, as long, and some vectors long.
namespace anabranch::testing {
namespace {

constexpr std::array<std::int64_t, 12> widths{1, 2, 7, 8, 9, 15, 17, 33, 35, 48, 49, 66};

template <class T>
Matrix<T> matrix(std::int64_t height, std::int64_t width) {
  return array_of(Index{height, width},
                  [](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i)); });
}
/// The same meaning in every configuration, for matrices of many sizes.
template <class T, class F>
void of_matrices(F f) {
  const auto program = compile<Matrix<T>>(f);
  for (const std::int64_t height : {1, 2, 3, 9})
    for (const std::int64_t width : widths) agree_on(program, matrix<T>(height, width));
}
template <class T, class F>
void of_boxes(F f) {
  const auto program = compile<Array<3, T>>(f);
  for (const auto& [depth, height] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 4}, {5, 3}})
    for (const std::int64_t width : {1, 2, 16, 17, 18, 34, 50})
      agree_on(program, array_of(Index{depth, height, width},
                                 [](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i)); }));
}

constexpr auto cross = [](const auto& n) {
  return n(0, 0) * 5 - n(-1, 0) - n(2, 0) * 3 - n(0, -1) * 2 - n(1, 1);
};
constexpr auto column = [](const auto& n) { return n(-2, 0) - n(1, 0) * 3; };
constexpr auto in_space = [](const auto& n) {
  return n(0, 0, 0) * 7 - n(-1, 0, 0) - n(1, 1, 0) * 3 - n(0, -1, 1) * 2 - n(0, 0, -2) * 5;
};

template <class B>
void stencils(const B& boundary) {
  of_matrices<std::int32_t>([=](auto a) { return stencil(cross, boundary, a); });
  of_matrices<std::int64_t>([=](auto a) { return stencil(column, boundary, a); });
  of_boxes<std::int32_t>([=](auto a) { return stencil(in_space, boundary, a); });
}
TEST_CASE("rows beside borders, clamp") { stencils(clamp); }
TEST_CASE("rows beside borders, wrap") { stencils(wrap); }
TEST_CASE("rows beside borders, mirror") { stencils(mirror); }
TEST_CASE("rows beside borders, constant") { stencils(constant(7)); }
TEST_CASE("rows beside borders, a function of the index") {
  const auto of_index = [](auto ix) { return cast<std::int32_t>(ix[0] * 10 + ix[1]); };
  of_matrices<std::int32_t>([=](auto a) { return stencil(cross, of_index, a); });
}

TEST_CASE("a stencil of much code") {
  of_matrices<float>([](auto a) {
    return stencil(
        [](auto n) {
          Exp<float> sum = n(0, 0);
          for (std::int64_t dy = -2; dy <= 2; ++dy)
            for (std::int64_t dx = -2; dx <= 2; ++dx) sum = sum * 0.75F + n(dy, dx);
          return sum;
        },
        constant(1.0F), a);
  });
}

TEST_CASE("a stencil of a stencil") {
  of_matrices<float>([](auto a) {
    const auto around = [](auto n) { return n(-1, 0) + n(1, 0) * 0.5F + n(0, -1) - n(0, 1); };
    return stencil(around, constant(2.0F), stencil(around, constant(3.0F), a));
  });
}

TEST_CASE("arrays that lie above one another, and what is put around them") {
  of_matrices<float>([](auto a) { return concat(a, map([](auto x) { return x * 2.0F; }, a), 0); });
  of_matrices<float>([](auto a) { return concat(concat(a, a, 0), concat(a, a, 0), 0); });
  of_matrices<double>([](auto a) { return shift(a, Index{1, 0}, constant(3.0)); });
  of_matrices<double>([](auto a) { return shift(a, Index{-2, 1}, constant(3.0)); });
  of_matrices<std::int16_t>([](auto a) { return pad(a, Index{2, 0}, Index{1, 0}, std::int16_t{5}); });
  of_matrices<float>([](auto a) { return pad(a, Index{1, 3}, Index{-1, 2}, 5.0F); });
}

TEST_CASE("questions about rows whose answers are mixed") {
  const auto by_row = [](auto question) {
    return [=](auto a) {
      return generate(shape(a), [=](auto at) { return cond(question(at, a), a[at] * 3.0F, a[at] + 1.0F); });
    };
  };
  of_matrices<float>(by_row([](auto at, auto a) { return at[0] < extent(a, 0) / 2; }));
  of_matrices<float>(by_row([](auto at, auto a) { return extent(a, 0) / 2 <= at[0]; }));
  of_matrices<float>(by_row([](auto at, auto) { return at[0] == 2; }));
  of_matrices<float>(by_row([](auto at, auto) { return at[0] != 0; }));
  of_matrices<float>(by_row([](auto at, auto) { return !(at[0] == 1 || at[0] >= 4) && at[1] < 20; }));
  of_matrices<float>(by_row([](auto at, auto) { return at[0] % 3 == 1; }));
  of_matrices<float>(by_row([](auto at, auto) { return at[0] < at[1]; }));
  of_matrices<float>(by_row([](auto at, auto a) { return a[index_of(at[0], Exp<std::int64_t>(0))] < 0.0F; }));
}

TEST_CASE("questions about rows inside of conditionals, and in which conditionals choose") {
  of_matrices<float>([](auto a) {
    return generate(shape(a), [=](auto at) {
      const auto row = at[0] - 1, below = at[0] + 1;
      return cond(
          at[1] > 2, cond(row >= 0, a[index_of(row, at[1])], a[at] * 2.0F),
          cond(below < extent(a, 0), a[index_of(below, at[1])] + a[index_of(below, at[1] / 2)], 4.0F));
    });
  });
  // Of this position, and of its row, the borders follow from what the row is.
  of_matrices<float>([](auto a) {
    return generate(shape(a), [=](auto at) {
      const auto at_column = cond(at[0] < 2, at[1] - 1, at[1] + 1);
      return cond(at_column >= 0 && at_column < extent(a, 1), a[index_of(at[0], at_column)], 6.0F);
    });
  });
}

TEST_CASE("rows of items beside borders") {
  const auto f = [](auto a) { return stencil(cross, constant(7), a); };
  everywhere(f, std::vector{matrix<std::int32_t>(3, 50), matrix<std::int32_t>(1, 35),
                            matrix<std::int32_t>(4, 17), matrix<std::int32_t>(3, 50)});
}

// What a side of a conditional alone reads and computes: it is looked at before a row, as it cannot fail.
TEST_CASE("borders that numbers of items and of the program decide") {
  constexpr std::int64_t large = std::int64_t{1} << 61, largest = std::numeric_limits<std::int64_t>::max();
  std::vector<Vector<std::int32_t>> items;
  std::vector<Scalar<std::int64_t>> numbers;
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-40}, std::int64_t{30},
                                   std::int64_t{-400}, large, 2 * large, -largest, largest})
    for (const std::int64_t length : {1, 31, 32, 70, 300, 600}) {
      items.push_back(array_of(
          Index{length}, [](std::int64_t i) { return number<std::int32_t>(static_cast<std::uint64_t>(i)); }));
      numbers.emplace_back(begin);
    }
  for (const std::int64_t limit :
       {std::int64_t{50}, std::int64_t{-3}, std::int64_t{500}, 3 * large, largest}) {
    const auto at_most = use(Scalar<std::int64_t>(limit));
    const auto counted = [=](auto x, auto begin) {
      return generate(size(x), [=](auto i) {
        const auto at = the(begin) + i;
        return cond(i > 0 && at > 0 && the(begin) * 3 + i < the(at_most) && x[i] < x[max(i - 1, 0)], x[i], 0);
      });
    };
    const auto each = [&](auto f) {
      agree(consume(
          elements(zip_with_seq(f, stream_in(std::views::all(items)), stream_in(std::views::all(numbers))))));
    };
    each([=](auto x, auto begin) { return fold(plus, 0, counted(x, begin)); });
    each([=](auto x, auto begin) { return scanl1(plus, counted(x, begin)); });
    each(counted);
  }
}

TEST_CASE("a row that is out of range") {
  for (const std::int64_t width : {1, 16, 50}) {
    const auto a = matrix<float>(5, width);
    fails<RunError>(generate(shape(use(a)), [&](auto at) { return use(a)[index_of(at[0] + 1, at[1])]; }),
                    {"5"});
    fails<RunError>(
        stencil([&](auto n) { return n(0, -1) + n(0, 1) + use(a)[index_of(n.index()[0] - 2, n.index()[1])]; },
                constant(1.0F), use(a)),
        {"-2"});
    // Of a row that nothing asks for there is no check.
    agree(generate(shape(use(a)), [&](auto at) {
      const auto beyond = at[0] + 3;
      return cond(beyond < 5 && at[1] > 0, use(a)[index_of(beyond, at[1] - 1)], 1.0F);
    }));
  }
}

}  // namespace
}  // namespace anabranch::testing
