#include "ir/simplify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/make.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

namespace {

std::optional<std::int64_t> integer(const Ref& node) {
  if (node->op() != Op::constant) return std::nullopt;
  const ScalarType type = node->type().scalars[0];
  // An int64 holds the values of all integer types but one.
  if (is_float(type) || (!is_signed(type) && scalar_info(type).bits == 64)) return std::nullopt;
  return integer_of(type, node->payload().bits);
}

Ref make_integer(ScalarType type, std::int64_t value) {
  if (type == ScalarType::boolean) return constant(type, value != 0 ? 1 : 0);
  return constant(type, static_cast<std::uint64_t>(value) & scalar_info(type).identities.bit_and);
}

std::int64_t wrap(ScalarType type, std::uint64_t value) {
  return integer(make_integer(type, static_cast<std::int64_t>(value))).value_or(0);
}

std::uint64_t shift_count(ScalarType type, std::int64_t by) {
  return static_cast<std::uint64_t>(by) % static_cast<std::uint64_t>(scalar_info(type).bits);
}

bool is_false(const Ref& node) {
  return node->op() == Op::constant && node->type().is(ScalarType::boolean) && node->payload().bits == 0;
}
bool is_true(const Ref& node) {
  return node->op() == Op::constant && node->type().is(ScalarType::boolean) && node->payload().bits != 0;
}

/// A float or a double that is a constant.
std::optional<double> real(const Ref& node) {
  if (node->op() != Op::constant) return std::nullopt;
  const std::uint64_t bits = node->payload().bits;
  if (node->type().is(ScalarType::float64)) return std::bit_cast<double>(bits);
  if (node->type().is(ScalarType::float32))
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::nullopt;
}
Ref make_real(ScalarType type, double value) {
  return type == ScalarType::float64 ? literal(value) : literal(static_cast<float>(value));
}

bool is_zero(std::optional<double> x, bool negative) { return x == 0.0 && std::signbit(*x) == negative; }

/// 1 / x, where x is a power of two so that quotients by it and products with that are the same numbers.
std::optional<double> exact_reciprocal(std::optional<double> x) {
  int exponent = 0;
  if (!x || !std::isfinite(*x) || std::abs(std::frexp(*x, &exponent)) != 0.5) return std::nullopt;
  // Neither x nor its reciprocal is subnormal, as a float either.
  return std::abs(exponent) <= 120 ? std::optional(1 / *x) : std::nullopt;
}

/// Identities of IEEE arithmetic that hold for every number, infinity and NaN, and for both zeros.
Ref fold_real(const Ref& node) {
  const Primitive op = node->payload().primitive;
  const auto operands = PrimitiveTerm(node).operands();
  const Ref& a = operands[0];
  const ScalarType type = a->type().scalars[0];
  if (type == ScalarType::float16) return node;
  if (op == Primitive::negate)
    return a->op() == Op::primitive && a->payload().primitive == Primitive::negate
               ? PrimitiveTerm(a).operands()[0]
               : node;
  if (operands.size() < 2) return node;
  const Ref& b = operands[1];
  const auto x = real(a), y = real(b);
  if (op == Primitive::add && is_zero(x, true)) return b;
  if (op == Primitive::add && is_zero(y, true)) return a;
  if (op == Primitive::subtract && is_zero(y, false)) return a;
  if (op == Primitive::multiply && x == 1.0) return b;
  if (op == Primitive::multiply && y == 1.0) return a;
  if (op == Primitive::divide)
    if (const auto factor = exact_reciprocal(y))
      return y == 1.0 ? a : primitive(Primitive::multiply, {a, make_real(type, *factor)}, node->place());
  if ((op == Primitive::minimum || op == Primitive::maximum) && a == b) return a;
  if (op == Primitive::fma) {
    if (x == 1.0) return primitive(Primitive::add, {b, operands[2]}, node->place());
    if (y == 1.0) return primitive(Primitive::add, {a, operands[2]}, node->place());
    if (is_zero(real(operands[2]), true)) return primitive(Primitive::multiply, {a, b}, node->place());
  }
  return node;
}

/// x + c + d and the like: constants are one, if they are of one type that wraps around.
Ref with_one_constant(const Ref& node) {
  const auto is_sum = [](const Ref& term) {
    return term->op() == Op::primitive &&
           (term->payload().primitive == Primitive::add || term->payload().primitive == Primitive::subtract);
  };
  const auto operands = PrimitiveTerm(node).operands();
  const ScalarType type = operands[0]->type().scalars[0];
  const auto outer = integer(operands[1]);
  if (!is_sum(node) || !outer || !is_sum(operands[0])) return node;
  const auto inside = PrimitiveTerm(operands[0]).operands();
  const auto inner = integer(inside[1]);
  if (!inner) return node;
  const auto signed_sum = [&](const Ref& sum, std::int64_t by) {
    const auto bits = static_cast<std::uint64_t>(by);
    return sum->payload().primitive == Primitive::add ? bits : 0 - bits;
  };
  const std::int64_t all = wrap(type, signed_sum(node, *outer) + signed_sum(operands[0], *inner));
  if (all == 0) return inside[0];
  if (all < 0 && all != std::numeric_limits<std::int64_t>::min() && is_signed(type))
    return primitive(Primitive::subtract,
                     {inside[0], make_integer(type, wrap(type, 0 - static_cast<std::uint64_t>(all)))},
                     node->place());
  return primitive(Primitive::add, {inside[0], make_integer(type, all)}, node->place());
}

/// Folding of primitives whose meaning cannot depend on anything outside this page.
Ref fold_primitive(const Ref& node, bool floats) {
  const Primitive op = node->payload().primitive;
  const auto operands = PrimitiveTerm(node).operands();
  const Ref& a = operands[0];
  const ScalarType type = a->type().scalars[0];
  if (is_float(type)) return floats ? fold_real(node) : node;
  const auto x = integer(a);
  if (op == Primitive::cast) {
    const ScalarType to = node->type().scalars[0];
    if (x && !is_float(to)) return make_integer(to, *x);
    if (x && to == ScalarType::float64 && type != ScalarType::int64) return literal(static_cast<double>(*x));
    return node;
  }
  if (op == Primitive::bitcast)
    return a->op() == Op::constant ? constant(node->type().scalars[0], a->payload().bits) : node;
  if (operands.size() == 1) {
    if (op == Primitive::logical_not && x) return literal(*x == 0);
    const bool is_its_own_inverse = op == Primitive::logical_not || op == Primitive::negate;
    if (is_its_own_inverse && a->op() == Op::primitive && a->payload().primitive == op)
      return PrimitiveTerm(a).operands()[0];
    return node;
  }
  if (operands.size() != 2) return node;
  const Ref& b = operands[1];
  const auto y = integer(b);
  const auto ux = static_cast<std::uint64_t>(x.value_or(0));
  const auto uy = static_cast<std::uint64_t>(y.value_or(0));
  switch (op) {
    case Primitive::add:
      if (x && y) return make_integer(type, wrap(type, ux + uy));
      if (x == 0) return b;
      if (y == 0) return a;
      return with_one_constant(node);
    case Primitive::subtract:
      if (x && y) return make_integer(type, wrap(type, ux - uy));
      if (y == 0) return a;
      return with_one_constant(node);
    case Primitive::multiply:
      if (x && y) return make_integer(type, wrap(type, ux * uy));
      if (x == 1) return b;
      if (y == 1) return a;
      return node;
    case Primitive::divide:
      if (y == 1) return a;
      return node;
    case Primitive::minimum:
      if (a == b) return a;
      if (x && y) return *x < *y ? a : b;
      return node;
    case Primitive::maximum:
      if (a == b) return a;
      if (x && y) return *x > *y ? a : b;
      return node;
    case Primitive::equal:
      if (x && y) return literal(*x == *y);
      return node;
    case Primitive::not_equal:
      if (x && y) return literal(*x != *y);
      return node;
    case Primitive::less:
      if (x && y) return literal(*x < *y);
      return node;
    case Primitive::less_equal:
      if (x && y) return literal(*x <= *y);
      return node;
    case Primitive::bit_and:
    case Primitive::bit_or:
      if (a == b) return a;
      return node;
    case Primitive::shift_left:
      if (x && y) return make_integer(type, wrap(type, ux << shift_count(type, *y)));
      if (y == 0) return a;
      return node;
    case Primitive::shift_right:
      if (x && y) return make_integer(type, *x >> shift_count(type, *y));
      if (y == 0) return a;
      return node;
    case Primitive::rotate_left:
      if (y == 0) return a;
      return node;
    case Primitive::bit_xor:
    case Primitive::count_ones:
    case Primitive::leading_zeros:
    case Primitive::trailing_zeros:
    case Primitive::floor:
    case Primitive::ceiling:
    case Primitive::round:
    case Primitive::truncate:
    case Primitive::copy_sign:
    case Primitive::bitcast:
    case Primitive::remainder:
    case Primitive::negate:
    case Primitive::absolute:
    case Primitive::fma:
    case Primitive::logical_not:
    case Primitive::square_root:
    case Primitive::exp:
    case Primitive::exp2:
    case Primitive::log:
    case Primitive::log2:
    case Primitive::log10:
    case Primitive::sin:
    case Primitive::cos:
    case Primitive::tan:
    case Primitive::asin:
    case Primitive::acos:
    case Primitive::atan:
    case Primitive::sinh:
    case Primitive::cosh:
    case Primitive::tanh:
    case Primitive::asinh:
    case Primitive::acosh:
    case Primitive::atanh:
    case Primitive::erf:
    case Primitive::cbrt:
    case Primitive::rsqrt:
    case Primitive::pow:
    case Primitive::atan2:
    case Primitive::hypot:
    case Primitive::cast:
      return node;
  }
  return node;
}

/// What a primitive of two equal integer terms gives without looking at them; empty where it does not.
Ref of_equal_terms(const Ref& node) {
  const auto operands = PrimitiveTerm(node).operands();
  if (operands.size() != 2 || operands[0] != operands[1]) return {};
  const ScalarType type = PrimitiveTerm(node).operand_type();
  if (is_float(type)) return {};
  const Primitive op = node->payload().primitive;
  if (op == Primitive::subtract) return make_integer(type, 0);
  if (op == Primitive::equal || op == Primitive::less_equal) return literal(true);
  if (op == Primitive::not_equal || op == Primitive::less) return literal(false);
  return {};
}

/// Can it fail, or not end, though its operands do not?
bool fails_itself(const Node& node) {
  if (node.op() == Op::parameter) return false;
  switch (node.op().as<ScalarOp>()) {
    case Op::primitive:
      return can_fail(node);
    case Op::while_loop:
      return true;
    case Op::index:
    case Op::linear_index:
      return !Read(node).in_bounds();
    case Op::constant:
    case Op::tuple:
    case Op::project:
    case Op::cond:
    case Op::shape:
      return false;
  }
  return true;
}

struct Key {
  const Node* node;
};
std::size_t mix(std::size_t h, std::size_t v) {
  return h ^ (v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2));
}
struct Hash {
  std::size_t operator()(const Key& key) const {
    const Node& n = *key.node;
    std::size_t h = static_cast<std::size_t>(n.op().code());
    const Payload& p = n.payload();
    h = mix(h, p.bits);
    h = mix(h, static_cast<std::size_t>(p.primitive));
    h = mix(h, static_cast<std::size_t>(p.first * 64 + p.count));
    // Of programs with many arrays, sources or sinks these are all that tells them apart.
    h = mix(h, std::hash<const void*>()(p.array.get()));
    h = mix(h, std::hash<const void*>()(p.source.get()));
    h = mix(h, std::hash<const void*>()(p.sink.get()));
    h = mix(h, std::hash<std::string_view>()(p.text.view()));
    for (ScalarType s : n.type().scalars) h = mix(h, static_cast<std::size_t>(s));
    for (const Ref& c : n.children()) h = mix(h, NodeHash()(c.get()));
    return h;
  }
};
struct Equal {
  bool operator()(const Key& x, const Key& y) const {
    const Node &a = *x.node, &b = *y.node;
    if (a.op() != b.op() || a.type() != b.type()) return false;
    // A checked read must not become an unchecked one, so the two are different terms.
    if (distinguishing(a.payload()) != distinguishing(b.payload())) return false;
    return std::equal(a.children().begin(), a.children().end(), b.children().begin(), b.children().end());
  }
};

/// Parameters are their own identity; everything else is equal when its parts are. Lambdas hold parameters,
/// so two lambdas are equal only if they are the same node.
bool conses(Op op) { return op != Op::parameter && op != Op::lambda; }

}  // namespace

struct Simplifier::Impl {
  bool into_arrays;
  tsl::robin_map<Key, Ref, Hash, Equal> known{};
  Rewriter rewriter{[this](const Ref&, const Ref& node) { return step(node); },
                    [this](const Node& node) { return into_arrays || !node.type().is_array(); }};

  NodeMap<bool> fails{};    // may it, with all it is computed from?
  std::vector<Ref> kept{};  // so that no address is reused while it is a key

  /// An array may, too: whoever mentions it asks for it. Later passes, which leave arrays alone, see to that
  /// themselves.
  bool fails_as_array(const Node& array) const {
    return into_arrays && array.op() != Op::parameter && array.op() != Op::use;
  }

  bool may_fail(const Ref& term) {
    const auto enter = [&](const Node& n) {
      return !fails.contains(&n) && !n.type().is_array() && !fails_itself(n);
    };
    for (const Node* node : topological({&term, 1}, enter)) {
      if (fails.contains(node)) continue;
      kept.emplace_back(node);
      fails[node] = node->type().is_array()
                        ? fails_as_array(*node)
                        : fails_itself(*node) || std::any_of(node->children().begin(), node->children().end(),
                                                             [&](const Ref& c) { return fails.at(c.get()); });
    }
    return fails.at(term.get());
  }

  Ref step(Ref node) {
    if (node->op() == Op::primitive) {
      const Ref image = of_equal_terms(node);
      node =
          image && !may_fail(PrimitiveTerm(node).operands()[0]) ? image : fold_primitive(node, !into_arrays);
    } else if (node->op() == Op::cond) {
      const Cond cond(node);
      if (is_true(cond.condition()))
        node = Ref(cond.then());
      else if (is_false(cond.condition()))
        node = Ref(cond.otherwise());
      else if (cond.then() == cond.otherwise() && !may_fail(cond.condition()))
        node = Ref(cond.then());
    }
    if (!conses(node->op())) return node;
    return known.try_emplace(Key{node.get()}, node).first.value();
  }
};

bool may_fail(const Ref& term) {
  const auto fails = [](const Node& node) { return !node.type().is_array() && fails_itself(node); };
  const std::vector<const Node*> nodes =
      topological({&term, 1}, [&](const Node& node) { return !node.type().is_array() && !fails(node); });
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) { return fails(*node); });
}

Simplifier::Simplifier(bool into_arrays) : impl_(new Impl{into_arrays}) {}
Simplifier::~Simplifier() = default;
Ref Simplifier::operator()(const Ref& root) { return impl_->rewriter(root); }
Ref Simplifier::step(const Ref& node) { return impl_->step(node); }

}  // namespace anabranch::ir
