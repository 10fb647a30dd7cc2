#include "support/random_scalars.h"

namespace anabranch::testing {

using ir::Primitive;
using ir::Ref;
using ir::Scalars;

namespace {
Ref small(ScalarType type, int value) {
  return detail::with_scalar(
      type, [&]<class T>(std::type_identity<T>) { return ir::literal(static_cast<T>(value)); });
}
}  // namespace

Ref RandomScalars::size(const Ref& array) {
  Ref out = ir::int64(1);
  for (int d = 0; d < array->type().rank; ++d)
    out = ir::primitive(Primitive::multiply, {out, ir::extent(array, d)});
  return out;
}

Ref RandomScalars::position(Scope& scope, const Ref& extent, int depth) {
  const Ref any = ir::primitive(Primitive::bit_and, {scalar(scope, ScalarType::int64, depth),
                                                     ir::int64(std::numeric_limits<std::int64_t>::max())});
  return ir::primitive(Primitive::remainder,
                       {any, ir::primitive(Primitive::maximum, {extent, ir::int64(1)})});
}

Ref RandomScalars::index_of(Scope& scope, const Ref& array, int depth) {
  std::vector<Ref> ix;
  for (int d = 0; d < array->type().rank; ++d) {
    if (options_.unguarded && dice_.chance(10))
      ix.push_back(scalar(scope, ScalarType::int64, depth));
    else
      ix.push_back(position(scope, ir::extent(array, d), depth));
  }
  return ir::tuple(std::move(ix));
}

Ref RandomScalars::read(Scope& scope, const Ref& array, int depth) {
  if (array->type().rank > 0 && dice_.chance(30)) return read_within(scope, array, dice_.chance(60), depth);
  std::vector<Ref> zeros;
  for (ScalarType type : array->type().scalars) zeros.push_back(zero(type));
  Ref value;
  if (array->type().rank > 0 && dice_.chance(30))
    value = ir::linear_index(array, position(scope, size(array), depth));
  else
    value = ir::index(array, index_of(scope, array, depth));
  if (array->type().rank == 0) return value;
  return ir::cond(ir::primitive(Primitive::less, {ir::int64(0), size(array)}), value,
                  ir::tuple(std::move(zeros)));
}

/// A position that moves with one of the indices: some way from it, or counted from the end.
Ref RandomScalars::near_index(Scope& scope, const Ref& extent, int depth) {
  using enum Primitive;
  std::vector<Ref> indices;
  for (const Ref& e : scope.elements)
    if (e->op() == ir::Op::parameter)
      for (int c = 0; c < e->type().components(); ++c)
        if (e->type().scalars[static_cast<std::size_t>(c)] == ScalarType::int64)
          indices.push_back(ir::component(e, c));
  if (indices.empty()) return scalar(scope, ScalarType::int64, depth);
  const Ref from = ir::int64(dice_.pick(std::vector<std::int64_t>{-17, -3, -1, 0, 1, 2, 30}));
  const Ref at = dice_.pick(indices);
  return dice_.chance(25) ? ir::primitive(subtract, {ir::primitive(add, {extent, from}), at})
                          : ir::primitive(add, {at, from});
}

/// Any index at all, or one near the own; where there is no such element the nearest one, or zeros.
Ref RandomScalars::read_within(Scope& scope, const Ref& array, bool near, int depth) {
  using enum Primitive;
  const bool nearest = dice_.chance(40);
  std::vector<Ref> ix, zeros;
  Ref there = ir::constant(ScalarType::boolean, 1);
  for (int d = 0; d < array->type().rank; ++d) {
    const Ref extent = ir::extent(array, d);
    const Ref i = near ? near_index(scope, extent, depth) : scalar(scope, ScalarType::int64, depth);
    const Ref from_zero = ir::primitive(less_equal, {ir::int64(0), i});
    const Ref to_end = ir::primitive(less, {i, extent});
    const Ref last = ir::primitive(subtract, {extent, ir::int64(1)});
    ix.push_back(nearest ? ir::primitive(maximum, {ir::primitive(minimum, {i, last}), ir::int64(0)}) : i);
    const Ref here =
        nearest ? ir::primitive(less, {ir::int64(0), extent}) : ir::primitive(bit_and, {from_zero, to_end});
    there = ir::primitive(bit_and, {there, here});
  }
  for (ScalarType type : array->type().scalars) zeros.push_back(zero(type));
  return ir::cond(there, ir::index(array, ir::tuple(std::move(ix))), ir::tuple(std::move(zeros)));
}

Ref RandomScalars::leaf(Scope& scope, ScalarType type) {
  if (!scope.elements.empty() && dice_.chance(75)) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Ref& e = dice_.pick(scope.elements);
      if (e->type().components() == 0) continue;
      const Ref c = ir::component(e, dice_.below(e->type().components()));
      if (c->type().is(type) || attempt >= 3) return ir::cast(type, c);
    }
  }
  return ir::constant(type, dice_.scalar(type));
}

Ref RandomScalars::scalar(Scope& scope, ScalarType type, int depth) {
  if (depth <= 0) return leaf(scope, type);
  Ref out;
  const int roll = dice_.below(100);
  if (roll < 15) {
    out = leaf(scope, type);
  } else if (roll < 30 && !scope.arrays.empty()) {
    const Ref array = dice_.pick(scope.arrays);
    if (array->type().rank > 0 && dice_.chance(20)) {
      out = ir::cast(type, ir::extent(array, dice_.below(array->type().rank)));
    } else {
      const Ref value = read(scope, array, depth - 1);
      out = ir::cast(type, ir::component(value, dice_.below(value->type().components())));
    }
  } else if (roll < 40) {
    const Ref condition = scalar(scope, ScalarType::boolean, depth - 1);
    const Ref then = scalar(scope, type, depth - 1);
    out = ir::cond(condition, then, scalar(scope, type, depth - 1));
  } else if (roll < 43 && scope.loops < 2) {
    out = loop(scope, type, depth - 1);
  } else if (roll < 52) {
    out = converted(scope, type, depth - 1);
  } else {
    out = arithmetic(scope, type, depth - 1);
  }
  if (dice_.chance(50)) scope.elements.push_back(out);
  return out;
}

Ref RandomScalars::converted(Scope& scope, ScalarType type, int depth) {
  // The bytes of a float, which may be NaN.
  if (options_.floats && ir::is_integer(type) && size_of(type) >= 4 && dice_.chance(30))
    return ir::bitcast(type,
                       real(scope, size_of(type) == 4 ? ScalarType::float32 : ScalarType::float64, depth));
  const ScalarType from = dice_.scalar_type(options_.floats);
  const Ref value = scalar(scope, from, depth);
  const bool numbers = from != ScalarType::boolean && type != ScalarType::boolean;
  const bool same_size = size_of(from) == size_of(type);
  return numbers && same_size && dice_.chance(50) ? ir::bitcast(type, value) : ir::cast(type, value);
}

Ref RandomScalars::element(Scope& scope, const Scalars& scalars, int depth) {
  // Now and then a whole element that is there already.
  if (dice_.chance(15))
    for (const Ref& e : scope.elements)
      if (e->type().scalars == scalars) return e;
  std::vector<Ref> parts;
  for (ScalarType type : scalars) parts.push_back(scalar(scope, type, depth));
  return ir::tuple(std::move(parts));
}

Ref RandomScalars::arithmetic(Scope& scope, ScalarType type, int depth) {
  if (type == ScalarType::boolean) return boolean(scope, depth);
  if (ir::is_float(type)) return real(scope, type, depth);
  return integer(scope, type, depth);
}

Ref RandomScalars::boolean(Scope& scope, int depth) {
  using enum Primitive;
  static const std::vector<Primitive> comparisons{equal, not_equal, less, less_equal};
  static const std::vector<Primitive> logic{bit_and, bit_or, bit_xor};
  if (dice_.chance(20)) return ir::primitive(logical_not, {scalar(scope, ScalarType::boolean, depth)});
  const bool connect = dice_.chance(35);
  const Primitive op = dice_.pick(connect ? logic : comparisons);
  const ScalarType type = connect ? ScalarType::boolean : dice_.scalar_type(options_.floats);
  const Ref x = scalar(scope, type, depth);
  return ir::primitive(op, {x, scalar(scope, type, depth)});
}

/// 1 to 8: neither 0 nor -1, but where programs may fail.
Ref RandomScalars::small_divisor(Scope& scope, ScalarType type, int depth) {
  if (options_.unguarded && dice_.chance(10)) return scalar(scope, type, depth);
  const Ref low = ir::primitive(Primitive::bit_and, {scalar(scope, type, depth), small(type, 7)});
  return ir::primitive(Primitive::add, {low, small(type, 1)});
}

Ref RandomScalars::integer(Scope& scope, ScalarType type, int depth) {
  using enum Primitive;
  static const std::vector<Primitive> two{add,     add,    subtract, multiply,   minimum,     maximum,
                                          bit_and, bit_or, bit_xor,  shift_left, shift_right, rotate_left};
  static const std::vector<Primitive> one{negate,     absolute,      negate,        absolute,
                                          count_ones, leading_zeros, trailing_zeros};
  static const std::vector<Primitive> division{divide, remainder};
  const Ref x = scalar(scope, type, depth);
  if (dice_.chance(20)) return ir::primitive(dice_.pick(one), {x});
  const bool divides = dice_.chance(15);
  if (divides && dice_.chance(40)) {
    // By any number that there is a quotient by: neither 0 nor -1.
    const Ref y = scalar(scope, type, depth);
    Ref divides_all = ir::primitive(less, {zero(type), y});
    if (ir::is_signed(type))
      divides_all = ir::primitive(bit_or, {divides_all, ir::primitive(less, {y, small(type, -1)})});
    return ir::cond(divides_all, ir::primitive(dice_.pick(division), {x, y}), x);
  }
  const Primitive op = dice_.pick(divides ? division : two);
  return ir::primitive(op, {x, divides ? small_divisor(scope, type, depth) : scalar(scope, type, depth)});
}

Ref RandomScalars::real(Scope& scope, ScalarType type, int depth) {
  using enum Primitive;
  static const std::vector<Primitive> two{add,    add,     subtract, multiply,  multiply,
                                          divide, minimum, maximum,  remainder, copy_sign};
  static const std::vector<Primitive> one{negate, absolute, square_root, floor, ceiling, round, truncate};
  static const std::vector<Primitive> mathematical{exp,   exp2,  log,   log2, log10, sin,  cos,
                                                   tan,   asin,  acos,  atan, sinh,  cosh, tanh,
                                                   asinh, acosh, atanh, erf,  cbrt,  rsqrt};
  static const std::vector<Primitive> mathematical_of_two{pow, atan2, hypot};
  const Ref x = scalar(scope, type, depth);
  if (dice_.chance(20)) return ir::primitive(dice_.pick(mathematical), {x});
  if (dice_.chance(20)) return ir::primitive(dice_.pick(one), {x});
  const Ref y = scalar(scope, type, depth);
  if (dice_.chance(10)) return ir::primitive(dice_.pick(mathematical_of_two), {x, y});
  if (dice_.chance(10)) return ir::primitive(fma, {x, y, scalar(scope, type, depth)});
  return ir::primitive(dice_.pick(two), {x, y});
}

/// At most 7 rounds, a different number for different elements.
Ref RandomScalars::loop(Scope& scope, ScalarType type, int depth) {
  using enum Primitive;
  const Ref rounds = ir::primitive(bit_and, {scalar(scope, ScalarType::int64, depth), ir::int64(7)});
  const Scalars state{ScalarType::int64, type};
  const Ref initial = ir::tuple({ir::int64(0), scalar(scope, type, depth)});

  const Ref tested = ir::parameter(ir::Type::element(state));
  Ref more = ir::primitive(less, {ir::component(tested, 0), rounds});
  if (dice_.chance(30)) {
    Scope inner = scope;
    ++inner.loops;
    inner.elements.push_back(tested);
    more = ir::primitive(bit_and, {more, scalar(inner, ScalarType::boolean, std::min(depth, 2))});
  }
  const Ref stepped = ir::parameter(ir::Type::element(state));
  Scope inner = scope;
  ++inner.loops;
  inner.elements.push_back(stepped);
  const Ref next = ir::tuple({ir::primitive(add, {ir::component(stepped, 0), ir::int64(1)}),
                              scalar(inner, type, std::min(depth, 2))});
  return ir::component(ir::while_loop(ir::lambda({tested}, {more}), ir::lambda({stepped}, {next}), initial),
                       1);
}

Ref RandomScalars::function(const Scope& outer, const std::vector<Scalars>& parameters, const Scalars& result,
                            int depth) {
  Scope scope = outer;
  std::vector<Ref> mine;
  for (const Scalars& scalars : parameters) mine.push_back(ir::parameter(ir::Type::element(scalars)));
  // Several times, so that a function mostly speaks of its own arguments.
  for (int i = 0; i < 3; ++i) scope.elements.insert(scope.elements.end(), mine.begin(), mine.end());
  Ref body = element(scope, result, depth);
  return ir::lambda(std::move(mine), {std::move(body)});
}

Ref RandomScalars::join(const Scope& outer, const Scalars& scalars) {
  using enum Primitive;
  static const std::vector<Primitive> for_numbers{add, add, multiply, minimum, maximum};
  static const std::vector<Primitive> for_bits{bit_and, bit_or, bit_xor};
  const int kind = dice_.below(10);
  if (kind < 3) {
    Scope inner{{}, kind == 0 ? outer.arrays : std::vector<Ref>{}, 1};
    return function(inner, {scalars, scalars}, scalars, 2);
  }
  const Ref left = ir::parameter(ir::Type::element(scalars));
  const Ref right = ir::parameter(ir::Type::element(scalars));
  std::vector<Ref> parts;
  for (int c = 0; c < static_cast<int>(scalars.size()); ++c) {
    const ScalarType type = scalars[static_cast<std::size_t>(c)];
    const Ref x = ir::component(left, c);
    const Ref y = ir::component(right, c);
    if (kind < 5) {
      // Not commutative: the last (or the first) that is not zero; a number in base 3.
      if (type == ScalarType::boolean)
        parts.push_back(ir::cond(y, y, x));
      else if (kind == 3)
        parts.push_back(ir::cond(ir::primitive(equal, {x, zero(type)}), y, x));
      else
        parts.push_back(ir::primitive(add, {ir::primitive(multiply, {x, small(type, 3)}), y}));
    } else {
      const bool bits = type == ScalarType::boolean || (ir::is_integer(type) && dice_.chance(25));
      parts.push_back(ir::primitive(dice_.pick(bits ? for_bits : for_numbers), {x, y}));
    }
  }
  return ir::lambda({left, right}, {ir::tuple(std::move(parts))});
}

}  // namespace anabranch::testing
