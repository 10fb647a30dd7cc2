#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/node.h"

/// How numbers differ from lane to lane, and how memory is reached at such positions. The code generator for vectors follows
/// these rules, and `explain` reports by them what it does.
namespace anabranch::kernel {

/// What is known of an int64 in neighbouring lanes.
struct Motion {
  enum class Kind : std::uint8_t {
    same,    ///< one number for all lanes
    steady,  ///< `step` more in each lane than in the one before
    even,    ///< likewise, but the step is known at run time only, or large
    apart,   ///< nothing
  };
  Kind kind = Kind::apart;
  std::int64_t step = 0;                 ///< steady: not 0
  std::optional<std::int64_t> constant;  ///< same: the number, where it is known

  static Motion same(std::optional<std::int64_t> number = {}) { return {Kind::same, 0, number}; }
  static Motion steady(std::int64_t step) { return step == 0 ? same() : Motion{Kind::steady, step, {}}; }
  bool is_same() const { return kind == Kind::same; }
  friend bool operator==(const Motion&, const Motion&) = default;
};

Motion sum(const Motion& x, const Motion& y);
Motion product(const Motion& x, const Motion& y);
Motion difference(const Motion& x, const Motion& y);
/// Index arithmetic: its result moves as these rules say. Of any other primitive it is the same if all operands are.
bool is_index_arithmetic(ir::Primitive primitive, ScalarType operands);
Motion of_primitive(ir::Primitive primitive, ScalarType operands, std::span<const Motion> x);

/// How the lanes of a vector reach memory.
enum class AccessPattern : std::uint8_t {
  broadcast,   ///< one element for all lanes
  contiguous,  ///< a vector load
  backwards,   ///< a vector load, turned around
  strided,     ///< element by element, equally far apart
  gathered,    ///< element by element, anywhere
};
const char* name_of(AccessPattern pattern);
AccessPattern pattern_of(const Motion& position);

/// Which components of a loop's state are the same in all lanes that have not ended: those that begin so and become
/// something that depends on them only, as counters do. `varies`: does a term differ from lane to lane?
std::vector<bool> in_step(const ir::Node& loop, std::vector<bool> same_at_first,
                          const std::function<bool(const ir::Node&)>& varies);

}  // namespace anabranch::kernel
