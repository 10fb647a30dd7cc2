#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <anabranch/element.h>

#include "ir/primitive.h"

/// Where elements go: the routines behind the array operations sort, select, group, last_at, accumulate and repeat, on
/// host memory. What they mean is in ir/make.h. An array lies in *parts*, one for each item of a chunk (for `sort` one for
/// each row); parts are independent. Many parts are dealt to threads, a large one, or one of few, is the work of all; the
/// result is the same either way.
namespace anabranch::rearrange {

/// Where the parts of an array lie: `size` elements each, or from offsets[i] - offsets[0] on.
struct Parts {
  std::int64_t count = 1;
  std::int64_t size = 0;
  const std::int64_t* offsets = nullptr;  ///< count + 1; null: all of one size

  std::int64_t begin(std::int64_t i) const { return offsets ? offsets[i] - offsets[0] : i * size; }
  std::int64_t length(std::int64_t i) const { return offsets ? offsets[i + 1] - offsets[i] : size; }
  std::int64_t elements() const { return begin(count); }
};

/// What the routines work with.
struct Resources {
  int threads = 1;
  /// Runs f(0) ... f(n - 1), in any order and on any threads, and returns when all are done.
  std::function<void(std::int64_t n, const std::function<void(std::int64_t)>& f)> parallel_for;
  /// Throws where the run is to stop. `parallel_for` looks, too.
  std::function<void()> check_stop;
  /// Memory that is needed while a routine runs.
  std::function<std::shared_ptr<void>(std::int64_t bytes)> take_memory;
};

/// What is wrong with the first part that cannot be computed.
struct Failure {
  std::int64_t part = 0;
  std::string wrong;
};
using MayFail = std::optional<Failure>;

/// One buffer for each component.
struct Components {
  std::span<const ScalarType> types;
  std::span<const void* const> data;
};

/// Sorts each part. `sorted` has a buffer for each component, `positions` one int64 for each element, counted from the
/// part's first; either may be empty (null): it is not asked for. Input and output must not overlap.
void sort(const Components& array, const Parts& parts, std::span<void* const> sorted, std::int64_t* positions,
          const Resources& resources);

/// The elements whose mask byte is not 0. `to` are the parts of the result.
MayFail select(const Components& array, const std::uint8_t* mask, const Parts& parts,
               std::span<void* const> out, const Parts& to, const Resources& resources);

/// Places that elements go to: integers of any type. `places` are those of the elements, `to` the parts of places
/// there are. Place -1 is none, if `drops`.
struct Places {
  ScalarType type = ScalarType::int64;
  const void* data = nullptr;
  Parts elements;
  Parts to;
  bool drops = false;
};
/// `counts`: one for each place; `order`: one for each element. Either may be null: it is not asked for.
MayFail group(const Places& places, std::int64_t* counts, std::int64_t* order, const Resources& resources);
MayFail last_at(const Places& places, std::int64_t* last, const Resources& resources);

/// What meets at a place: elements of one component, as many as there are places for, joined by a primitive that may join
/// them in any order (ir::joins_in_any_order).
struct Joined {
  ir::Primitive join{};
  ScalarType type = ScalarType::int64;
  const void* data = nullptr;
  Parts parts;
};
/// `out`: one for each place, the primitive's neutral element where nothing goes. Places are of int64.
MayFail accumulate(const Places& places, const Joined& elements, void* out, const Resources& resources);

/// `counts`: integers of `type`. `operation`: in whose words one that is negative is refused.
MayFail repeat(ScalarType type, const void* counts, const Parts& parts, std::int64_t* numbers,
               const Parts& to, const Resources& resources, std::string_view operation = "repeat");

}  // namespace anabranch::rearrange
