// What scans mean: the interpreter against prefixes worked out here, in the canonical order.

#include "interp/interpret.h"
#include "ir/make.h"
#include "ir/scan_order.h"
#include "support/catch.h"
#include "support/functions.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Primitive;
using ir::Ref;

namespace {

std::vector<HostArray> run(const Ref& scan) {
  std::vector<Ref> results;
  for (std::size_t i = 0; i < scan->type().arrays.size(); ++i)
    results.push_back(ir::project_array(scan, static_cast<int>(i)));
  return interp::run(results);
}

/// x o y = x / 2 + y: not associative, so that each order of joining gives another number.
Ref halving(const Ref& array) {
  return binary(array->type().scalars, [](const Ref& x, const Ref& y) {
    return ir::primitive(Primitive::add, {ir::primitive(Primitive::multiply, {x, ir::literal(0.5)}), y});
  });
}

std::vector<double> numbers(std::int64_t n) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((i * 37) % 101) + 0.25);
  return out;
}

std::vector<double> prefixes(std::span<const double> row, std::optional<double> seed) {
  std::vector<double> out;
  ir::scan_order::scan_row(
      static_cast<std::int64_t>(row.size()), seed,
      [&](std::int64_t i) { return row[static_cast<std::size_t>(i)]; },
      [](double x, double y) { return x * 0.5 + y; }, [&](std::int64_t, double v) { out.push_back(v); });
  return out;
}

}  // namespace

TEST_CASE("scans of the rows of a matrix: inclusive, exclusive, with and without a seed") {
  for (const std::int64_t length : {0, 1, 2, 31, 32, 33, 100, 4097}) {
    const std::vector<double> all = numbers(3 * length);
    const Ref a = ir::use(array_of<double>({3, length}, all));
    const HostArray bare = run(ir::scan(halving(a), a, {}, {}))[0];
    const auto inclusive = run(ir::scan(halving(a), a, ir::literal(5.0), {}));
    const auto exclusive = run(ir::scan(halving(a), a, ir::literal(5.0), {ir::Prefixes::exclusive}));
    CHECK(bare->extents == std::vector<std::int64_t>{3, length});
    REQUIRE(inclusive.size() == 2);
    CHECK(inclusive[1]->extents == std::vector<std::int64_t>{3});
    for (std::int64_t r = 0; r < 3; ++r) {
      const auto n = static_cast<std::size_t>(length), begin = static_cast<std::size_t>(r) * n;
      const auto row = [&](const HostArray& array) {
        const auto everything = values<double>(array);
        return std::vector<double>(everything.begin() + static_cast<std::ptrdiff_t>(begin),
                                   everything.begin() + static_cast<std::ptrdiff_t>(begin + n));
      };
      CHECK(row(bare) == prefixes(std::span(all).subspan(begin, n), {}));
      std::vector<double> expected = prefixes(std::span(all).subspan(begin, n), 5.0);
      CHECK(row(inclusive[0]) == expected);
      const double total = expected.empty() ? 5.0 : expected.back();
      expected.insert(expected.begin(), 5.0);
      expected.pop_back();
      CHECK(row(exclusive[0]) == expected);
      CHECK(values<double>(inclusive[1])[static_cast<std::size_t>(r)] == total);
      CHECK(values<double>(exclusive[1])[static_cast<std::size_t>(r)] == total);
    }
  }
}

TEST_CASE("an exclusive scan needs a seed, and project_array an array that is there") {
  const Ref a = ir::use(array_of<double>({2}, {1, 2}));
  CHECK_THROWS_AS(ir::scan(halving(a), a, {}, {ir::Prefixes::exclusive}), ProgramError);
  const Ref scan = ir::scan(halving(a), a, {}, {});
  CHECK_THROWS_AS(ir::project_array(scan, 1), ProgramError);
  CHECK_THROWS_AS(ir::project_array(a, 0), ProgramError);
}
