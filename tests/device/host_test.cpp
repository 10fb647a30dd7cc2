#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <anabranch/error.h>

#include "ir/run_error.h"
#include "rearrange/rearrange.h"
#include "support/calls.h"
#include "support/catch.h"
#include "support/random_call.h"

using namespace anabranch;
using namespace anabranch::device;
using anabranch::test::perform;
using anabranch::test::RandomCall;

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

using What = RandomCall::What;

std::string text_of(const device::Failure& failure) {
  switch (failure.what) {
    case device::Failure::What::nothing:
      return "";
    case device::Failure::What::out_of_range:
      return ir::out_of_range(failure.value, failure.bound);
    case device::Failure::What::negative:
      return ir::negative_count("repeat", failure.value);
    case device::Failure::What::other_extent:
      break;
  }
  return ir::other_extent(failure.bound, failure.value);
}

/// The same by the routines of src/rearrange.
class ByTheHost {
 public:
  ByTheHost(const RandomCall& call, int threads) : call_(call), pieces(call.pieces) {
    resources_.threads = threads;
    resources_.parallel_for = [](std::int64_t n, const std::function<void(std::int64_t)>& f) {
      for (std::int64_t i = 0; i < n; ++i) f(i);
    };
    resources_.check_stop = [] {};
    resources_.take_memory = [](std::int64_t bytes) {
      return std::shared_ptr<void>(std::malloc(static_cast<std::size_t>(bytes) + 1), std::free);
    };
  }

  rearrange::MayFail run() {
    std::vector<const void*> data;
    for (const auto p : call_.from) data.push_back(pieces[p].data());
    const rearrange::Components array{call_.types, data};
    const rearrange::Parts parts = parts_of(call_.parts), to = parts_of(call_.to_parts);
    const rearrange::Places places{call_.types[0], data[0], parts, to, call_.drops};
    switch (call_.what) {
      case What::sort:
        rearrange::sort(array, parts, columns(parts.elements()), longs(call_.positions), resources_);
        return {};
      case What::select:
        return rearrange::select(array, reinterpret_cast<const std::uint8_t*>(pieces[call_.mask].data()),
                                 parts, columns(to.elements()), to, resources_);
      case What::group:
        return rearrange::group(places, longs(call_.counts), longs(call_.order), resources_);
      case What::last_at:
        return rearrange::last_at(places, longs(call_.numbers), resources_);
      case What::accumulate:
        return rearrange::accumulate(places, {call_.primitive(), call_.types[1], data[1], parts},
                                     pieces[call_.to[1]].data(), resources_);
      case What::repeat:
        break;
    }
    return rearrange::repeat(call_.types[0], data[0], parts, longs(call_.numbers), to, resources_);
  }

 private:
  rearrange::Parts parts_of(const RandomCall::Lengths& l) {
    rearrange::Parts parts;
    parts.count = static_cast<std::int64_t>(l.of_part.size());
    if (l.offsets != RandomCall::none)
      parts.offsets = longs(l.offsets);
    else if (!l.of_part.empty())
      parts.size = l.of_part[0];
    return parts;
  }
  std::int64_t* longs(RandomCall::Piece p) {
    return p == RandomCall::none ? nullptr : reinterpret_cast<std::int64_t*>(pieces[p].data());
  }
  /// Of all components, or, of a sort that nobody asks for them, of none.
  std::vector<void*> columns(std::int64_t n) {
    std::vector<void*> out;
    const bool none =
        std::all_of(call_.to.begin(), call_.to.end(), [](auto p) { return p == RandomCall::none; });
    for (std::size_t c = 0; c < call_.to.size() && !none; ++c) {
      spare_.emplace_back(static_cast<std::size_t>(n) * size_of(call_.types[c]));
      out.push_back(call_.to[c] == RandomCall::none ? spare_.back().data() : pieces[call_.to[c]].data());
    }
    return out;
  }

  const RandomCall& call_;
  rearrange::Resources resources_;
  std::deque<std::vector<std::byte>> spare_;

 public:
  std::vector<std::vector<std::byte>> pieces;
};

/// True: it cannot be computed.
bool agrees(RandomCall& call, int threads) {
  ByTheHost expected(call, threads);
  const rearrange::MayFail wrong = expected.run();
  perform(host, call.operation([&](RandomCall::Piece p) { return call.pieces[p].data(); }));
  Failure failure{};
  if (call.what != What::sort) std::memcpy(&failure, call.pieces[call.failure].data(), sizeof failure);
  CHECK(text_of(failure) == (wrong ? wrong->wrong : ""));
  if (wrong) CHECK(failure.part == wrong->part);
  if (wrong) return true;
  expected.pieces[call.failure] = call.pieces[call.failure];
  CHECK(expected.pieces == call.pieces);
  return false;
}

}  // namespace

TEST_CASE("rearrangements by the device's steps are those of the host's routines") {
  const auto what =
      GENERATE(What::sort, What::select, What::group, What::last_at, What::accumulate, What::repeat);
  std::mt19937_64 random(7 + static_cast<unsigned>(what));
  int failed = 0;
  constexpr int calls = 400;
  for (int k = 0; k < calls; ++k) {
    INFO("operation " << static_cast<int>(what) << ", call " << k);
    const bool large = k % 40 == 0;  // in one large part a sort goes another way
    RandomCall call(what, random, large ? 200'000 : 700);
    constexpr int threads[] = {1, 2, 7, 64, 192};
    failed += agrees(call, large ? threads[k / 40 % 5] : 1 + k % 9);
  }
  if (what == What::sort)
    CHECK(failed == 0);
  else
    CHECK((failed > calls / 50 && failed < calls / 2));
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
  // Of none there are not too many, whichever extent is 0.
  CHECK(total({{largest}, {2}, {0}}) == 0);
  CHECK(total({{largest}, {largest}, {0}}) == 0);
  CHECK(total({{largest}, {0}, {largest}, {largest}}) == 0);
  CHECK(total({{largest}, {2}, {0}, {-1}}) == too_many_elements);
  CHECK(total({{std::int64_t{1} << 32}, {std::int64_t{1} << 32}}) == too_many_elements);
  CHECK(total({{std::int64_t{1} << 28}, {std::int64_t{1} << 28}}) == std::int64_t{1} << 56);
}

namespace {

/// One thread, which is stopped when it looks for the `most`-th time and once more.
struct Stopping {
  struct Stopped {};
  int looks = 0, most = INT_MAX;
  rearrange::Resources resources;

  Stopping() {
    resources.check_stop = [this] {
      if (++looks > most) throw Stopped();
    };
    resources.parallel_for = [](std::int64_t count, const std::function<void(std::int64_t)>& f) {
      for (std::int64_t i = 0; i < count; ++i) f(i);
    };
    resources.take_memory = [](std::int64_t bytes) {
      return std::shared_ptr<void>(std::malloc(static_cast<std::size_t>(bytes)), std::free);
    };
  }
  Stopping(const Stopping&) = delete;
  Stopping& operator=(const Stopping&) = delete;

  /// Work that is stopped when it has looked so often looks no more.
  template <class F>
  void check_stops_after(int times, F&& work) {
    most = times;
    looks = 0;
    CHECK_THROWS_AS(work(), Stopped);
    CHECK(looks == most + 1);
  }
};

}  // namespace

TEST_CASE("a long block is sorted in stretches between which a request to stop is looked at") {
  constexpr std::int64_t n = 3 << 20;
  std::mt19937 random(1);
  std::vector<std::int32_t> from(n), to(n);
  for (std::int32_t& x : from) x = static_cast<std::int32_t>(random());
  Stopping stopping;
  const ScalarType type = ScalarType::int32;
  const void* const data = from.data();
  void* const sorted[] = {to.data()};
  const auto sort = [&] {
    rearrange::sort({{&type, 1}, {&data, 1}}, {1, n, nullptr}, sorted, nullptr, stopping.resources);
  };
  sort();
  CHECK(std::is_sorted(to.begin(), to.end()));
  // Counting and four passes, each in three stretches.
  CHECK(stopping.looks >= 15);
  stopping.check_stops_after(stopping.looks / 2, sort);
}

TEST_CASE("elements go to their places in stretches between which a request to stop is looked at") {
  constexpr std::int64_t n = 3 << 20;
  std::vector<std::int64_t> places(n), counts(n);
  for (std::int64_t i = 0; i < n; ++i) places[static_cast<std::size_t>(i)] = i * 7919 % n;
  Stopping stopping;
  const rearrange::Parts all{1, n, nullptr};
  const auto count = [&] {
    return rearrange::group({ScalarType::int64, places.data(), all, all, false}, counts.data(), nullptr,
                            stopping.resources);
  };
  CHECK_FALSE(count());
  CHECK(counts == std::vector<std::int64_t>(n, 1));
  CHECK(stopping.looks >=
        6);  // all places are filled, then the elements are counted, each in three stretches
  stopping.check_stops_after(stopping.looks - 1, count);
}

TEST_CASE("what is not compiled, and misuse, is said") {
  std::vector<std::int64_t> a(10), b(10);
  Temporary temporary{};
  const auto text_of_error = [&](const Operation& what) -> std::string {
    try {
      host.run(what, temporary);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string wrong_arguments =
      "a negative count, one that is too large, or too little temporary storage";
  Column column{{Element::Kind::signed_integer, 3}, a.data(), b.data()};
  Sort sort{&column, 1, {1, 10, nullptr, 10, 10}, nullptr};
  CHECK(text_of_error(sort) == "cuda: sort: not compiled for these types");
  column.element.bytes = 8;
  CHECK(text_of_error(sort) == "no error");
  REQUIRE(temporary.bytes > 0);
  std::vector<std::byte> storage(temporary.bytes);
  temporary = {storage.data(), storage.size() - 1};
  CHECK(text_of_error(sort) == "cuda: sort: " + wrong_arguments);
  temporary.bytes = storage.size();
  CHECK(text_of_error(sort) == "no error");
  sort.parts.elements = -1;
  CHECK(text_of_error(sort) == "cuda: sort: " + wrong_arguments);
  sort.parts.elements = most_rearranged + 1;
  CHECK(text_of_error(sort) == "cuda: sort: " + wrong_arguments);
  temporary = {};
  Failure failure{};
  Repeat repeat{{Element::Kind::floating, 4}, a.data(), {1, 10, nullptr, 10, 10},
                {1, 0, nullptr, 0, 0},        b.data(), &failure};
  CHECK(text_of_error(repeat) == "cuda: repeat: not compiled for these types");
  ItemOffsets items{};
  items.rank = most_extents + 1;
  CHECK(text_of_error(items) == "cuda: offsets of items: not compiled for these types");
}
