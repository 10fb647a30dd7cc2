#include "shapes.h"

// Sequences inside of the functions of sequences, and loops and branches there.
namespace anabranch::testing {
namespace {

using Row = Acc<Vector<double>>;
using Number = Exp<std::int64_t>;

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (const std::int64_t n : {3, 0, 1, 5, 0, 17})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

TEST_CASE("the elements of an item as a sequence") {
  everywhere(
      [](Row row) {
        return consume(
            elements(map_seq([&](auto x) { return unit(the(x) * 2 + the(sum(row))); }, rows(row))));
      },
      some_rows());
}

TEST_CASE("inner items that differ in shape") {
  const auto triangle = [](Row row) {
    return produce(size(row),
                   [=](Number n) { return generate(n, [=](Number i) { return row[n] + cast<double>(i); }); });
  };
  const auto got = everywhere([=](Row row) { return consume(elements(triangle(row))); }, some_rows());
  REQUIRE(got[0].size() == 3);
  everywhere([=](Row row) { return consume(tabulate(triangle(row))); }, some_rows());
  everywhere(
      [=](Row row) {
        return consume(elements(map_seq([](Row r) { return scanl(plus, 1.0, r); }, triangle(row))));
      },
      some_rows());
}

TEST_CASE("rows of matrices, of all ranks") {
  everywhere(
      [](auto a) { return consume(tabulate(map_seq([](auto row) { return reverse(row); }, rows(a)))); },
      arrays<2, float>(1));
  everywhere([](auto a) { return consume(elements(map_seq([](auto m) { return sum(m, 0); }, rows(a)))); },
             arrays<3, float>(2));
  everywhere([](auto a) { return consume(tabulate(map_seq([](auto m) { return transpose(m); }, rows(a)))); },
             arrays<3, std::int16_t>(3));
}

TEST_CASE("an outer item whole inside of each inner one") {
  everywhere(
      [](Row row) {
        return consume(tabulate(
            produce(size(row), [=](Number n) { return map([=](auto x) { return x * row[n]; }, row); })));
      },
      some_rows());
  everywhere(
      [](Row row) {
        const auto order = argsort(row);
        return consume(elements(
            produce(size(row), [=](Number n) { return unit(row[order[n]] + row[size(row) - 1 - n]); })));
      },
      some_rows());
}

TEST_CASE("three sequences inside each other") {
  everywhere(
      [](Row row) {
        return consume(elements(map_seq(
            [&](Acc<Scalar<double>> x) {
              const auto products = produce(size(row), [=](Number n) {
                const auto below = produce(n, [=](Number k) { return unit(row[k] * the(x)); });
                return sum(consume(elements(below)));
              });
              return sum(consume(elements(products)));
            },
            rows(row))));
      },
      some_rows());
}

TEST_CASE("two sequences in step, bounded, and taken apart") {
  everywhere(
      [](Row row) {
        const auto twice =
            zip_with_seq([](auto x, auto n) { return std::tuple{unit(the(x) + the(n)), fill(2, the(x))}; },
                         rows(row), produce(4, [](Number n) { return unit(cast<double>(n)); }));
        const auto [a, b] = unzip_seq(take_seq(3, twice));
        return concat(consume(elements(a)), consume(elements(b)));
      },
      some_rows());
}

TEST_CASE("inner sequences whose results decide shapes") {
  everywhere(
      [](Row row) {
        const auto positive = consume(elements(map_seq(
            [](Acc<Scalar<double>> x) { return fill(cond(the(x) > 0, Number(1), Number(0)), the(x)); },
            rows(row))));
        return concat(positive, fill(size(positive), the(sum(positive))));
      },
      some_rows());
}

TEST_CASE("a negative number of inner items") {
  const auto wrong = [](auto row) {
    return consume(elements(produce(size(row) - 2, [](Number n) { return unit(n); })));
  };
  fails<RunError>(consume(elements(map_seq(wrong, stream_in(some_rows())))), {"produce", "negative|is -"});
}

TEST_CASE("a branch for each item") {
  const auto halves = [](Row row) {
    return acond(
        size(row) % 2 == 0, [&] { return map([](auto x) { return -x; }, row); },
        [&] { return generate(size(row) * 2, [&](Number i) { return cast<double>(i) + the(sum(row)); }); });
  };
  everywhere(halves, some_rows());
  everywhere(
      [](Row row) {
        return acond(size(row) > 2, [&] { return unit(row[2]); }, [&] { return unit(Exp<double>(-1.0)); });
      },
      some_rows());
  everywhere([=](Row row) { return halves(halves(row)); }, some_rows());
}

TEST_CASE("the side of a branch that an item does not take does not run") {
  everywhere(
      [](Row row) {
        const auto first = slice(row, 0);
        return acond(
            size(row) > 0, [&] { return map([](auto x) { return x * 2; }, first); },
            [&] { return unit(Exp<double>(7.0)); });
      },
      some_rows());
}

TEST_CASE("a side that no item takes does not run, be what it computes the same for all items") {
  const Acc<Vector<double>> table = use(Vector<double>{});
  everywhere(
      [=](Row row) {
        return acond(
            size(row) > 1000, [&] { return generate(3, [=](Number i) { return table[i]; }); },
            [&] { return row; });
      },
      some_rows());
}

TEST_CASE("a loop for each item, as long as it is active") {
  everywhere(
      [](Row row) {
        return awhile([](Acc<Scalar<double>> x) { return the(x) < 1000; },
                      [&](Acc<Scalar<double>> x) { return unit(the(x) * 2 + 1 + cast<double>(size(row))); },
                      unit(cast<double>(size(row))));
      },
      some_rows());
  everywhere(
      [](Row row) {
        return awhile(
            [](Row x) { return size(x) > 1; },
            [](Row x) { return generate(size(x) / 2, [=](Number i) { return x[2 * i] + x[2 * i + 1]; }); },
            row);
      },
      some_rows());
}

TEST_CASE("a loop over two arrays for each item, with a sequence and a branch inside") {
  everywhere(
      [](Row row) {
        const auto [n, v] =
            awhile([](Acc<Scalar<std::int64_t>> left, Row) { return the(left) > 0; },
                   [&](Acc<Scalar<std::int64_t>> left, Row x) {
                     const auto next = acond(
                         the(left) % 2 == 0, [&] { return concat(x, row); },
                         [&] {
                           return consume(elements(map_seq(
                               [&](auto y) { return unit(the(y) + cast<double>(the(left))); }, rows(x))));
                         });
                     return std::tuple{unit(the(left) - 1), next};
                   },
                   std::tuple{unit(size(row)), take(2, row)});
        return v;
      },
      some_rows());
}

TEST_CASE("a stream read for each item of another is refused") {
  const auto other = stream_in(some_rows());
  const auto join = [&](Row row) {
    return consume(elements(map_seq([&](Row o) { return unit(the(sum(o)) * the(sum(row))); }, other)));
  };
  REQUIRE_THROWS_AS(compile(consume(elements(map_seq(join, stream_in(some_rows()))))), ProgramError);
}

}  // namespace
}  // namespace anabranch::testing
