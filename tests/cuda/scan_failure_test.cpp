#include "support/catch.h"
#include "tests/cuda/support/scan_kernels.h"

using namespace anabranch;
using namespace anabranch::test;

namespace {

/// Rows of x[c] for columns c: of `lengths`, with these columns bad.
ScanBuilder gathered(const std::vector<std::int64_t>& lengths, const std::vector<std::pair<int, int>>& bad) {
  auto k =
      ragged_rows(lengths, {ScalarType::int64}, ScanResult::inclusive, [&](ScanBuilder& b, std::size_t n) {
        std::vector<std::int64_t> columns(n, 7);
        for (const auto& [at, column] : bad) columns[static_cast<std::size_t>(first_element + at)] = column;
        return b.builder().buffer(columns);
      });
  KernelBuilder& b = k.builder();
  const ir::Ref x = b.array(kernel::Form::avoided, {ScalarType::int64}, {constant_extent(500)},
                            b.buffer(std::vector<std::int64_t>(500, 2)));
  k.kernel().body = {ir::index(x, k.kernel().body[0])};
  k.reduction().combine = {binary(Primitive::add, k.reduction().left[0], k.reduction().right[0])};
  k.reduction().seed = {ir::int64(1)};
  return k;
}

}  // namespace

TEST_CASE("cuda: of a scan's elements the first that fails is reported") {
  for (const int length : {1, 5, 16, 32, 33, 300, 4096, 4097, 9000})
    for (const int first : {0, length / 2, length - 1}) {
      auto k = gathered({2, length, 3}, {{2 + length - 1, 1000}, {2 + first, 600}, {2 + length + 1, 1001}});
      k.builder().find_checks();
      ScanOracle sizes(k);
      sizes.measure();
      for (const ScanWay& way : scan_ways) {
        const auto error = run_scan(k, way, sizes);
        INFO(length << " elements, " << first << ", " << way.text());
        CHECK(error.position == 1);
        CHECK(error.value == 600);
        CHECK(error.bound == 500);
        CHECK(error.failed == 1);
      }
    }
}

TEST_CASE("cuda: operators and seeds of scans that fail") {
  // The product of 1, 1, ..., 0, ... divides: x o y = y / x.
  for (const int length : {2, 7, 31, 33, 300, 5000})
    for (const int zero : {0, length / 2, length - 2}) {
      auto k = ragged_rows({3, length, 2}, {ScalarType::int64}, ScanResult::inclusive,
                           [&](ScanBuilder& b, std::size_t n) {
                             std::vector<std::int64_t> values(n, 1);
                             values[static_cast<std::size_t>(first_element + 3 + zero)] = 0;
                             return b.builder().buffer(values);
                           });
      k.reduction().combine = {binary(Primitive::divide, k.reduction().right[0], k.reduction().left[0])};
      k.reduction().seed = {ir::int64(1)};
      INFO(length << " elements, " << zero);
      CHECK(scan_disagreement(k, length > 4096 ? SameFailure::position : SameFailure::whole_record) == "");
    }
  // A seed that depends on the item, and is asked for where a row has elements, or a total.
  for (const ScanResult result : {ScanResult::inclusive, ScanResult::exclusive_and_totals})
    for (const auto& lengths : std::vector<std::vector<std::int64_t>>{
             {1, 0, 0, 1}, {1, 0, 4, 1}, {70, 40, 0, 33}, {3, 5000, 0, 9000}})
      for (const int bad : {0, 1, 2, 3}) {
        auto k = rows_scanned<std::int64_t>(lengths, Primitive::add, true, result);
        std::vector<std::int64_t> divisors(lengths.size(), 3);
        divisors[static_cast<std::size_t>(bad)] = 0;
        const ir::Ref d = k.builder().scalar_parameter(k.builder().per_item_extent(divisors));
        k.reduction().seed = {ir::primitive(Primitive::divide, {ir::int64(12), d})};
        INFO("row " << bad << " of " << lengths[1]);
        CHECK(scan_disagreement(k) == "");
      }
}

TEST_CASE("cuda: what the rows of a scan share may fail, but not in empty rows") {
  for (const std::int64_t x_size : {0, 3})
    for (const auto& rows : std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 2, 20, 300}}) {
      auto k = rows_scanned<double>(rows, Primitive::add, true, ScanResult::exclusive_and_totals);
      KernelBuilder& b = k.builder();
      const ir::Ref x = b.array(kernel::Form::avoided, {ScalarType::float64}, {b.uniform_extent(x_size)},
                                b.buffer(std::vector<double>(static_cast<std::size_t>(x_size), 2.5)));
      k.kernel().body = {binary(Primitive::multiply, k.kernel().body[0], ir::index(x, ir::int64(0)))};
      CHECK(scan_disagreement(k) == "");
    }
}
