#include "support/catch.h"

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "cpu/far_gather.h"
#include "cpu/processor.h"
#include "tests/cpu/support/fold_kernels.h"

// Whether what a gather reads is fetched ahead. That it gives the same with and without is in every test that compares kernels
// (KernelBuilder::run), which launches them both ways.

using namespace anabranch;
using namespace anabranch::test;

namespace {

constexpr std::int64_t entries = 200'000;

/// A product of a sparse matrix whose rows have `row` entries each and a vector of so many elements, which is not there: nothing is
/// computed.
struct Product {
  Product(std::int64_t row, std::int64_t elements, const std::function<std::int64_t(std::int64_t)>& column)
      : kernel([&] {
          std::vector<std::int64_t> offsets, columns;
          for (std::int64_t i = 0; i <= entries; i += row) offsets.push_back(i);
          for (std::int64_t i = 0; i < offsets.back(); ++i) columns.push_back(column(i));
          return spmv(offsets, columns, std::vector<double>(columns.size()), std::vector<double>(1));
        }()),
        facts(cpu::gather_facts_of(kernel.kernel())) {
    REQUIRE(facts);
    REQUIRE(facts->elements.kind == kernel::KernelExtent::Kind::uniform);
    scalars = {kernel.bindings().scalars.begin(), kernel.bindings().scalars.end()};
    scalars[static_cast<std::size_t>(facts->elements.slot)] = elements;
  }
  bool is_far(bool no_caches = false) const {
    cpu::Bindings bindings = kernel.bindings();
    bindings.scalars = scalars;
    bindings.no_caches = no_caches;
    return cpu::end_of_far_positions(*facts, bindings) != nullptr;
  }

  KernelBuilder kernel;
  std::optional<cpu::GatherFacts> facts;
  std::vector<std::int64_t> scalars;
};

}  // namespace

TEST_CASE("a gather is fetched ahead where it is scattered over more than the caches hold") {
  const cpu::Caches& caches = cpu::caches();
  REQUIRE(caches.of_core > 0);
  REQUIRE(caches.shared >= caches.of_core);
  const std::int64_t in_core = caches.of_core / 16, in_shared = caches.of_core / 8 * 5 / 4,
                     beyond = caches.shared / 8;
  std::mt19937_64 random(1);
  const auto anywhere = [&](std::int64_t elements) {
    return [&, elements](std::int64_t) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
    };
  };
  CHECK_FALSE(Product(8, in_core, anywhere(in_core)).is_far());
  CHECK(Product(8, in_core, anywhere(in_core)).is_far(/*no_caches=*/true));
  if (in_shared * 8 < caches.shared * 3 / 8) {
    CHECK(Product(8, in_shared, anywhere(in_shared)).is_far());
    CHECK_FALSE(Product(100, in_shared, anywhere(in_shared)).is_far());
  }
  CHECK(Product(8, beyond, anywhere(beyond)).is_far());
  CHECK(Product(100, beyond, anywhere(beyond)).is_far());
  // Neighbours, as in a band; and many rows that read the same.
  CHECK_FALSE(Product(8, beyond, [](std::int64_t i) { return i / 8 + i % 8 * 1000; }).is_far());
  CHECK_FALSE(Product(8, beyond, [](std::int64_t i) { return i % 40 * 5000; }).is_far());
}

TEST_CASE("of kernels without a gather that is known beforehand there is nothing to fetch") {
  CHECK_FALSE(cpu::gather_facts_of(rows_of<double>({3, 0, 2}, ir::Primitive::add, true).kernel()));
}
