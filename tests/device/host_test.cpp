#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <anabranch/error.h>

#include "support/calls.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::device;
using anabranch::test::element_of;
using anabranch::test::numbers;
using anabranch::test::perform;

namespace {

const Primitives host = Primitives::host();
constexpr std::int64_t lengths[] = {0, 1, 2, 7, 1000};

/// Offsets and totals of items, each with these extents; rank 1 to 4.
struct Items {
  std::vector<std::int64_t> offsets;
  ItemTotals totals{-1, -1};

  explicit Items(const std::vector<std::vector<std::int64_t>>& extents) : offsets(extents[0].size() + 1, -1) {
    ItemOffsets what{};
    for (const auto& of_item : extents) what.extents[what.rank++].of_item = of_item.data();
    what.count = static_cast<std::int64_t>(extents[0].size());
    what.offsets = offsets.data();
    what.totals = &totals;
    perform(host, what);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("sorting is stable, in both orders", "", std::int32_t, std::int64_t, float, double) {
  for (const std::int64_t n : lengths)
    for (const int descending : {0, 1}) {
      const auto keys = numbers<TestType>(n, 20);
      std::vector<std::uint64_t> values(keys.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = i;
      std::multimap<TestType, std::uint64_t> oracle;  // equal keys stay in order of insertion
      for (std::size_t i = 0; i < keys.size(); ++i)
        oracle.emplace(descending ? -keys[i] : keys[i], values[i]);
      std::vector<TestType> keys_out(keys.size());
      std::vector<std::uint64_t> values_out(keys.size());
      perform(host, SortPairs{element_of<TestType>, 8, descending, 0, 0, keys.data(), values.data(),
                              keys_out.data(), values_out.data(), n});
      std::size_t i = 0;
      for (const auto& [key, value] : oracle) {
        CHECK(keys_out[i] == (descending ? -key : key));
        CHECK(values_out[i++] == value);
      }
    }
}

TEST_CASE("sorting by some bits, and special floats") {
  const std::vector<std::int32_t> keys{0x13, 0x21, 0x32, 0x11};
  std::vector<std::int32_t> keys_out(4);
  const std::vector<std::uint32_t> values{0, 1, 2, 3};
  std::vector<std::uint32_t> values_out(4);
  perform(host, SortPairs{Element::int32, 4, 0, 0, 4, keys.data(), values.data(), keys_out.data(),
                          values_out.data(), 4});
  CHECK(values_out == std::vector<std::uint32_t>{1, 3, 2, 0});

  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> floats{0.0f, std::nanf(""), -0.0f, infinity, -infinity, -1.0f};
  std::vector<float> floats_out(6);
  const std::vector<std::uint32_t> places{0, 1, 2, 3, 4, 5};
  values_out.resize(6);
  perform(host, SortPairs{Element::float32, 4, 0, 0, 0, floats.data(), places.data(), floats_out.data(),
                          values_out.data(), 6});
  CHECK(values_out == std::vector<std::uint32_t>{4, 5, 0, 2, 3, 1});
  CHECK(std::signbit(floats_out[3]));  // keys keep their bits
}

TEMPLATE_TEST_CASE("segments are sorted each for itself", "", std::int32_t, std::int64_t, float, double) {
  const auto keys = numbers<TestType>(100, 9);
  std::vector<std::uint32_t> values(100), values_out(100, 7), expected(100, 7);
  for (std::uint32_t i = 0; i < 100; ++i) values[i] = i;
  const std::vector<std::int64_t> offsets{10, 10, 11, 60, 60, 90};
  std::vector<TestType> keys_out(100, TestType{-1});
  perform(host, SegmentedSortPairs{element_of<TestType>, 4, keys.data(), values.data(), keys_out.data(),
                                   values_out.data(), 100, offsets.data(), 5});
  for (std::size_t s = 0; s < 5; ++s) {
    const auto begin = expected.begin() + offsets[s], end = expected.begin() + offsets[s + 1];
    std::copy(values.begin() + offsets[s], values.begin() + offsets[s + 1], begin);
    std::stable_sort(begin, end, [&](auto a, auto b) { return keys[a] < keys[b]; });
  }
  CHECK(values_out == expected);
  for (std::size_t i = 10; i < 90; ++i) CHECK(keys_out[i] == keys[expected[i]]);
  CHECK(keys_out[9] == -1);
  CHECK(keys_out[90] == -1);
}

TEMPLATE_TEST_CASE("selection keeps the order", "", std::uint8_t, std::int32_t, double,
                   anabranch::test::Sixteen) {
  for (const std::int64_t n : lengths) {
    std::vector<TestType> in(static_cast<std::size_t>(n)), out(in.size()), expected;
    std::vector<std::uint8_t> flags(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = TestType(static_cast<std::uint8_t>(i));
      flags[i] = i % 3 == 0 ? 0 : static_cast<std::uint8_t>(1 + i % 255);  // any flag but 0 counts
      if (flags[i]) expected.push_back(in[i]);
    }
    std::int64_t selected = -1;
    perform(host, Select{sizeof(TestType), in.data(), flags.data(), out.data(), &selected, n});
    REQUIRE(selected == static_cast<std::int64_t>(expected.size()));
    out.resize(expected.size());
    CHECK(out == expected);
  }
}

TEST_CASE("sizes of items become offsets, their sum, and the largest") {
  for (const std::int64_t n : lengths) {
    const auto size = [](std::int64_t i) { return i * i % 5; };
    std::vector<std::int64_t> extent, expected{0};
    ItemTotals totals{};
    for (std::int64_t i = 0; i < n; ++i) {
      extent.push_back(size(i));
      totals = {totals.elements + size(i), std::max(totals.longest, size(i))};
      expected.push_back(totals.elements);
    }
    const Items items({extent});
    CHECK(items.offsets == expected);
    CHECK(items.totals.elements == totals.elements);
    CHECK(items.totals.longest == totals.longest);
  }
  const Items boxes({{2, 0, 3}, {1, 7, 2}, {4, 5, 1}, {1, 1, 2}});
  CHECK(boxes.offsets == std::vector<std::int64_t>{0, 8, 8, 20});
  CHECK(boxes.totals.longest == 12);
}

TEST_CASE("extents that all items share, and items without extents") {
  const std::vector<std::int64_t> rows{3, 0, 2};
  std::vector<std::int64_t> offsets(4);
  ItemTotals totals{};
  ItemOffsets what{{{nullptr, 5}, {rows.data(), 0}}, 2, 3, offsets.data(), &totals};
  perform(host, what);
  CHECK(offsets == std::vector<std::int64_t>{0, 15, 15, 25});
  CHECK(totals.longest == 15);
  what.rank = 0;
  perform(host, what);
  CHECK(offsets == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(totals.elements == 3);
}

TEST_CASE("negative extents, and more elements than there can be, are told by the total") {
  constexpr std::int64_t most = too_many_elements - 1, largest = std::numeric_limits<std::int64_t>::max();
  const auto total = [](const std::vector<std::vector<std::int64_t>>& extents) {
    return Items(extents).totals.elements;
  };
  CHECK(total({{most, 0}}) == most);
  CHECK(total({{most, 1}}) == too_many_elements);
  CHECK(total({{1, most, most, 1}}) == too_many_elements);
  CHECK(total({std::vector<std::int64_t>(1000, most)}) == too_many_elements);
  CHECK(total({{3, -1, 3}}) == too_many_elements);
  CHECK(total({{3, std::numeric_limits<std::int64_t>::min(), 3}}) == too_many_elements);
  CHECK(total({{0, 0}, {4, -4}}) == too_many_elements);
  CHECK(total({{largest}}) == too_many_elements);
  CHECK(total({{largest}, {0}}) == 0);
  // The product overflows before the zero comes.
  CHECK(total({{largest}, {2}, {0}}) == too_many_elements);
  CHECK(total({{std::int64_t{1} << 32}, {std::int64_t{1} << 32}}) == too_many_elements);
  CHECK(total({{std::int64_t{1} << 28}, {std::int64_t{1} << 28}}) == std::int64_t{1} << 56);
}

TEST_CASE("what is not compiled, and misuse, is said") {
  std::vector<std::int64_t> a(10), b(10), c(10), d(10);
  Temporary temporary{};
  const auto text_of_error = [&](const auto& what) -> std::string {
    try {
      host.run(what, temporary);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "no error";
  };
  SortPairs sort{Element::int64, 1, 0, 0, 0, a.data(), b.data(), c.data(), d.data(), 10};
  CHECK(text_of_error(sort) == "cuda: sort: not compiled for these types");
  sort.value_bytes = 8;
  CHECK(text_of_error(sort) == "no error");
  CHECK(temporary.bytes > 0);
  std::vector<std::byte> storage(temporary.bytes);
  temporary = {storage.data(), storage.size() - 1};
  CHECK(text_of_error(sort) == "cuda: sort: a negative count, or too little temporary storage");
  temporary.bytes = storage.size();
  sort.count = -1;
  CHECK(text_of_error(sort) == "cuda: sort: a negative count, or too little temporary storage");
  ItemOffsets items{};
  items.rank = most_extents + 1;
  CHECK(text_of_error(items) == "cuda: offsets of items: not compiled for these types");
}
