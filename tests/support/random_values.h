#pragma once

#include <array>
#include <bit>
#include <limits>
#include <random>

#include "ir/type.h"
#include "support/memory_source.h"

/// The dice of the random programs: numbers, scalars, arrays and sources.
namespace anabranch::testing {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  /// 0 to n - 1. Not a standard distribution: those differ between libraries.
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  ScalarType scalar_type(bool floats) {
    using enum ScalarType;
    static const std::vector<ScalarType> all{int32, int32,  int64,  int64,   uint8,   boolean,
                                             int8,  uint16, uint32, float64, float32, float64};
    static const std::vector<ScalarType> rare{int16, uint64, float16};
    if (chance(12)) return rare[static_cast<std::size_t>(below(floats ? 3 : 2))];
    return all[static_cast<std::size_t>(below(floats ? 12 : 9))];
  }

  ir::Scalars element_type(bool floats) {
    static const std::vector<int> widths{1, 1, 1, 1, 2, 2, 3};
    ir::Scalars out;
    for (int n = pick(widths); n > 0; --n) out.push_back(scalar_type(floats));
    return out;
  }

  /// The bits of a scalar: small numbers mostly, sometimes a border.
  std::uint64_t scalar(ScalarType type) {
    const bool border = chance(6);
    const int small = below(41) - 20;
    return detail::with_scalar(type, [&]<class T>(std::type_identity<T>) -> std::uint64_t {
      using L = std::numeric_limits<T>;
      if constexpr (std::is_same_v<T, bool>) return static_cast<std::uint64_t>(below(2));
      if constexpr (detail::FloatValue<T>) return detail::bits_of(static_cast<T>(real(small, border)));
      if constexpr (std::is_signed_v<T>) {
        const T edge = chance(50) ? L::min() : L::max();
        return detail::bits_of(border ? edge : static_cast<T>(small));
      }
      return border ? detail::bits_of(L::max()) : static_cast<std::uint64_t>(below(256));
    });
  }

  HostArray array(const ir::Scalars& scalars, const std::vector<std::int64_t>& extents) {
    HostArray out = detail::allocate_array(scalars, extents);
    for (std::size_t c = 0; c < scalars.size(); ++c)
      for (std::int64_t i = 0; i < out->size(); ++i) {
        const std::uint64_t bits = scalar(scalars[c]);
        std::memcpy(static_cast<unsigned char*>(out->buffers[c].get()) +
                        static_cast<std::size_t>(i) * size_of(scalars[c]),
                    &bits, size_of(scalars[c]));
      }
    return out;
  }

  /// 0, 1, 2, primes, powers of two and their neighbours.
  std::int64_t extent(int rank) {
    static const std::vector<std::vector<std::int64_t>> choices{
        {},
        {0, 1, 2, 3, 7, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 255, 256, 257, 289, 509},
        {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40},
        {0, 1, 2, 3, 4, 5, 7, 8, 9, 12}};
    if (rank == 1 && chance(8)) return pick(std::vector<std::int64_t>{4095, 4096, 4097, 8191, 12289});
    // A zero makes all else about an array meaningless: keep it rare where there are more extents.
    const auto& all = choices[static_cast<std::size_t>(std::min(rank, 3))];
    const std::int64_t e = pick(all);
    return e == 0 && rank > 1 && chance(70) ? 1 : e;
  }

  /// How large the items of a stream are: one number per item.
  std::vector<std::int64_t> item_sizes(int items) {
    const int law = below(5);
    const std::int64_t usual = pick(std::vector<std::int64_t>{1, 2, 3, 5, 8, 16, 17, 33, 64, 65});
    const int huge = below(std::max(items, 1));
    std::vector<std::int64_t> out;
    for (int i = 0; i < items; ++i) {
      switch (law) {
        case 0:
          out.push_back(0);
          break;
        case 1:
          out.push_back(i == huge ? pick(std::vector<std::int64_t>{300, 1000, 4096, 4097, 5000}) : below(4));
          break;
        case 2:
          out.push_back(i % 2 == 0 ? 0 : usual);
          break;
        case 3:
          out.push_back(std::min<std::int64_t>(600, 600 / (1 + below(600))));
          break;
        default:
          out.push_back(usual);
          break;
      }
    }
    return out;
  }

  /// A stream of items of the same types, perhaps of other forms.
  std::shared_ptr<MemorySource> source_like(const MemorySource& like, int most_items) {
    std::vector<ArrayInfo> infos;
    std::vector<Item> list(static_cast<std::size_t>(below(most_items + 1)));
    for (const ArrayInfo& given : like.info().arrays) {
      ArrayInfo info = given;
      info.descriptor = static_cast<int>(infos.size());
      for (auto& e : info.extents)
        if (chance(30)) e = e ? std::nullopt : std::optional<std::int64_t>(below(5));
      const std::vector<std::int64_t> sizes = item_sizes(static_cast<int>(list.size()));
      for (std::size_t i = 0; i < list.size(); ++i)
        list[i].push_back(array(info.scalars, item_extents(info, sizes[i])));
      infos.push_back(std::move(info));
    }
    return std::make_shared<MemorySource>("another", std::move(infos), list);
  }

  /// A stream of up to `most_items` items of one to three arrays, of every form.
  std::shared_ptr<MemorySource> source(int most_items, bool floats) {
    const std::vector<int> counts{0, 1, 2, 3, 7, 16, 33, 64, 100, 200};
    const int items = std::min(pick(counts), most_items);
    std::vector<ArrayInfo> infos;
    std::vector<Item> list(static_cast<std::size_t>(items));
    for (int arrays = pick(std::vector<int>{1, 1, 2, 3}); arrays > 0; --arrays) {
      const bool twin = !infos.empty() && chance(40);  // of the shape of the component before
      ArrayInfo info = twin ? infos.back() : array_form(static_cast<int>(infos.size()));
      info.scalars = element_type(floats);
      const std::vector<std::int64_t> sizes = item_sizes(items);
      for (std::size_t i = 0; i < list.size(); ++i)
        list[i].push_back(array(info.scalars, twin ? list[i].back()->extents : item_extents(info, sizes[i])));
      infos.push_back(std::move(info));
    }
    return std::make_shared<MemorySource>("random", std::move(infos), list);
  }

 private:
  double real(int small, bool border) {
    if (!border) return small * (chance(50) ? 0.125 : 1.0 / 3.0);
    switch (below(6)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return -std::numeric_limits<double>::infinity();
      case 2:
        return std::numeric_limits<double>::quiet_NaN();
      case 3:
        return -0.0;
      case 4:
        return 1e30;
      default:
        return 1e-30;
    }
  }

  /// Regular of rank 0 to 2; ragged of rank 1; ragged with a uniform inner extent; irregular of rank 2; any of rank 3.
  ArrayInfo array_form(int descriptor) {
    const auto uniform = [&](int rank) {
      return std::optional<std::int64_t>(std::min<std::int64_t>(extent(rank), 33));
    };
    const OffsetType offsets = chance(50) ? OffsetType::int32 : OffsetType::int64;
    if (chance(8)) {
      std::vector<std::optional<std::int64_t>> extents(3);
      for (auto& e : extents)
        if (chance(50)) e = below(6);
      return array_info({}, extents, descriptor, offsets);
    }
    switch (below(8)) {
      case 0:
        return array_info({}, {}, descriptor);
      case 1:
        return array_info({}, {uniform(1)}, descriptor);
      case 2:
        return array_info({}, {uniform(3), uniform(3)}, descriptor);
      case 3:
        return array_info({}, {std::nullopt, uniform(3)}, descriptor, offsets);
      case 4:
        return array_info({}, {std::nullopt, std::nullopt}, descriptor, offsets);
      default:
        return array_info({}, {std::nullopt}, descriptor, offsets);
    }
  }

  std::vector<std::int64_t> item_extents(const ArrayInfo& info, std::int64_t size) {
    std::vector<std::int64_t> out;
    const auto free = std::count(info.extents.begin(), info.extents.end(), std::nullopt);
    const bool irregular = free > 1 || (free == 1 && info.extents[0]);
    const std::int64_t most = info.rank() > 2 ? 9 : 40;
    for (const auto& uniform : info.extents) {
      if (uniform)
        out.push_back(*uniform);
      else if (!irregular)
        out.push_back(size);
      else
        out.push_back(size == 0 ? below(3) * below(2)
                                : 1 + below(static_cast<int>(std::min<std::int64_t>(size, most))));
    }
    return out;
  }

  std::mt19937_64 engine_;
};

}  // namespace anabranch::testing
