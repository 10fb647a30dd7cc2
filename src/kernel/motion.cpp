#include "kernel/motion.h"

#include <algorithm>
#include <unordered_set>

#include "ir/views.h"

namespace anabranch::kernel {

namespace {

using Kind = Motion::Kind;

/// Strides stay far from overflow: anything larger is no longer an address pattern worth knowing. That first and last lane are
/// in range, and so all between, is true only while a vector's strides together do not wrap around.
constexpr std::int64_t most_factor = 4096, most_step = std::int64_t{1} << 32;

bool is_small(std::int64_t number) { return number > -most_factor && number < most_factor; }

Motion steady(std::int64_t step) {
  return step > -most_step && step < most_step ? Motion::steady(step) : Motion{Kind::even, 0, {}};
}

std::int64_t wrapped(std::uint64_t number) { return static_cast<std::int64_t>(number); }

/// Of numbers that are all known.
template <class F>
std::optional<std::int64_t> of_constants(const Motion& x, const Motion& y, F&& f) {
  if (!x.constant || !y.constant) return {};
  return wrapped(f(static_cast<std::uint64_t>(*x.constant), static_cast<std::uint64_t>(*y.constant)));
}

Motion scaled(const Motion& line, const Motion& factor) {
  if (line.kind == Kind::steady && factor.constant && is_small(line.step) && is_small(*factor.constant))
    return steady(line.step * *factor.constant);
  return {Kind::even, 0, {}};
}

}  // namespace

Motion sum(const Motion& x, const Motion& y) {
  if (x.kind == Kind::apart || y.kind == Kind::apart) return {};
  if (x.is_same() && y.is_same())
    return Motion::same(of_constants(x, y, [](std::uint64_t a, std::uint64_t b) { return a + b; }));
  if (x.kind == Kind::even || y.kind == Kind::even) return {Kind::even, 0, {}};
  return steady(x.step + y.step);
}

Motion product(const Motion& x, const Motion& y) {
  if (x.is_same() && y.is_same())
    return Motion::same(of_constants(x, y, [](std::uint64_t a, std::uint64_t b) { return a * b; }));
  if (x.kind == Kind::apart || y.kind == Kind::apart) return {};
  if (y.is_same()) return scaled(x, y);
  if (x.is_same()) return scaled(y, x);
  return {};
}

Motion difference(const Motion& x, const Motion& y) { return sum(x, product(y, Motion::same(-1))); }

bool is_index_arithmetic(ir::Primitive primitive, ScalarType operands) {
  return operands == ScalarType::int64 &&
         (primitive == ir::Primitive::add || primitive == ir::Primitive::subtract ||
          primitive == ir::Primitive::multiply);
}

Motion of_primitive(ir::Primitive primitive, ScalarType operands, std::span<const Motion> x) {
  if (is_index_arithmetic(primitive, operands)) {
    if (primitive == ir::Primitive::add) return sum(x[0], x[1]);
    if (primitive == ir::Primitive::subtract) return difference(x[0], x[1]);
    return product(x[0], x[1]);
  }
  const auto all = [&](auto&& holds) { return std::all_of(x.begin(), x.end(), holds); };
  if (!all([](const Motion& m) { return m.is_same(); })) return {};
  // Conditions that are known where something is assumed.
  if (operands != ScalarType::boolean) return Motion::same();
  const Motion &first = x.front(), &last = x.back();
  if (primitive == ir::Primitive::logical_not)
    return Motion::same(of_constants(first, first, [](std::uint64_t a, std::uint64_t) { return a ^ 1; }));
  if (primitive == ir::Primitive::bit_and)
    return Motion::same(of_constants(first, last, [](std::uint64_t a, std::uint64_t b) { return a & b; }));
  if (primitive == ir::Primitive::bit_or)
    return Motion::same(of_constants(first, last, [](std::uint64_t a, std::uint64_t b) { return a | b; }));
  return Motion::same();
}

const char* name_of(AccessPattern pattern) {
  switch (pattern) {
    case AccessPattern::broadcast:
      return "broadcast";
    case AccessPattern::contiguous:
      return "contiguous";
    case AccessPattern::backwards:
      return "contiguous, backwards";
    case AccessPattern::strided:
      return "strided";
    case AccessPattern::gathered:
      return "gathered";
  }
  return "?";
}

AccessPattern pattern_of(const Motion& position) {
  switch (position.kind) {
    case Kind::same:
      return AccessPattern::broadcast;
    case Kind::steady:
      if (position.step == 1) return AccessPattern::contiguous;
      return position.step == -1 ? AccessPattern::backwards : AccessPattern::strided;
    case Kind::even:
      return AccessPattern::strided;
    case Kind::apart:
      return AccessPattern::gathered;
  }
  return AccessPattern::gathered;
}

std::vector<bool> in_step(const ir::Node& loop, std::vector<bool> same_at_first,
                          const std::function<bool(const ir::Node&)>& varies) {
  const ir::Node& body = *ir::WhileLoop(loop).body();
  const ir::Node& parameter = *body.parameters()[0];
  const ir::Ref& result = body.result();
  std::vector<bool> out = std::move(same_at_first);
  const std::size_t count = out.size();
  if (result->op() != ir::Op::tuple || result->children().size() != count) out.assign(count, false);

  const auto depends_on_those = [&](const ir::Ref& next) {
    std::vector<const ir::Node*> open{next.get()};
    std::unordered_set<const ir::Node*> seen;
    while (!open.empty()) {
      const ir::Node& at = *open.back();
      open.pop_back();
      if (!seen.insert(&at).second) continue;
      const auto& free = at.free();
      if (std::find(free.begin(), free.end(), &parameter) == free.end()) {
        if (varies(at)) return false;
      } else if (at.op() == ir::Op::project && ir::Project(at).value().get() == &parameter) {
        if (at.type().components() != 1 || !out[static_cast<std::size_t>(at.payload().first)]) return false;
      } else if (at.op() == ir::Op::primitive) {
        for (const ir::Ref& child : at.children()) open.push_back(child.get());
      } else {
        return false;
      }
    }
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t c = 0; c < count; ++c)
      if (out[c] && !depends_on_those(result->children()[c])) {
        out[c] = false;
        changed = true;
      }
  }
  return out;
}

}  // namespace anabranch::kernel
