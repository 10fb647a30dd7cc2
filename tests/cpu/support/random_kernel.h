#pragma once

#include <random>

#include "tests/cpu/support/kernels.h"

namespace anabranch::test {

/// Random expression graphs: many terms shared, across the sides of conditionals and the rounds of loops.
class Expressions {
 public:
  Expressions(unsigned seed, std::vector<ir::Ref> arrays) : random_(seed), arrays_(std::move(arrays)) {}

  void know(const ir::Ref& node) { pool_.push_back(node); }

  ir::Ref any(ScalarType type, int depth) {
    if (depth <= 0 || below(5) == 0) {
      std::vector<ir::Ref> known;
      for (const auto& node : pool_)
        if (node->type().is(type)) known.push_back(node);
      if (!known.empty() && below(4) != 0) return known[below(known.size())];
      return number(type);
    }
    const auto before = pool_.size();
    ir::Ref made = make(type, depth - 1);
    // What a loop's function made from its parameter must not leave it; the caller keeps the rest.
    if (scopes_ == 0)
      pool_.push_back(made);
    else if (pool_.size() == before || below(2) == 0)
      pool_.push_back(made);
    return made;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  ScalarType type() { return static_cast<ScalarType>(below(detail::scalar_count)); }
  ir::Ref number(ScalarType type) {
    const auto n = static_cast<int>(below(21)) - 10;
    return detail::with_scalar(type, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, bool>) return ir::literal(n > 0);
      if constexpr (std::is_same_v<T, float>) return ir::literal(static_cast<float>(n) / 4);
      if constexpr (std::is_same_v<T, double>) return ir::literal(n / 3.0);
      return ir::literal(static_cast<T>(n));
    });
  }

  ir::Ref make(ScalarType type, int depth) {
    switch (below(9)) {
      case 0:
        return ir::cond(any(ScalarType::boolean, depth), any(type, depth), any(type, depth));
      case 1:
        return loop(type, depth);
      case 2: {
        std::vector<ir::Ref> fit;
        for (const auto& a : arrays_)
          if (a->type().scalars[0] == type) fit.push_back(a);
        if (fit.empty()) break;
        // Mostly in range: the arrays have at least 64 elements.
        ir::Ref at = any(ScalarType::int64, depth);
        if (below(12) != 0) at = ir::primitive(ir::Primitive::bit_and, {at, ir::int64(63)});
        return ir::index(fit[below(fit.size())], at);
      }
      case 3: {
        const ScalarType from = this->type();
        if (from == type) break;
        const bool fits = from != ScalarType::boolean && type != ScalarType::boolean;
        if (fits && size_of(from) == size_of(type) && below(2) == 0)
          return ir::bitcast(type, any(from, depth));
        return ir::cast(type, any(from, depth));
      }
      default:
        break;
    }
    if (type == ScalarType::boolean && below(2) == 0) {
      constexpr ir::Primitive compare[] = {ir::Primitive::equal, ir::Primitive::not_equal,
                                           ir::Primitive::less, ir::Primitive::less_equal};
      const ScalarType of = this->type();
      return ir::primitive(compare[below(4)], {any(of, depth), any(of, depth)});
    }
    for (;;) {
      const auto primitive = static_cast<ir::Primitive>(below(ir::primitive_count));
      const auto& info = ir::info(primitive);
      if (primitive == ir::Primitive::cast || primitive == ir::Primitive::bitcast || info.boolean_result ||
          !ir::accepts(info.operands, type))
        continue;
      std::vector<ir::Ref> operands;
      for (int i = 0; i < info.arity; ++i) operands.push_back(any(type, depth));
      // Mostly without failure, or few programs would give a result at all.
      if (info.can_fail && ir::is_integer(type) && below(8) != 0) operands[1] = number_not_zero(type);
      return ir::primitive(primitive, operands);
    }
  }

  ir::Ref number_not_zero(ScalarType type) {
    return ir::cast(type, ir::literal(static_cast<std::int32_t>(below(20)) + 1));
  }

  /// A few rounds: a counter beside the value.
  ir::Ref loop(ScalarType type, int depth) {
    const auto state = ir::Type::element(ir::Scalars{type, ScalarType::int32});
    const ir::Ref s = ir::parameter(state), t = ir::parameter(state);
    const ir::Ref initial =
        ir::tuple({any(type, depth),
                   ir::primitive(ir::Primitive::bit_and, {any(ScalarType::int32, depth), ir::literal(7)})});
    ++scopes_;
    const auto mark = pool_.size();
    const ir::Ref left = ir::project(s, 1, 1);
    const ir::Ref more = ir::primitive(ir::Primitive::less, {ir::literal(0), left});
    pool_.push_back(ir::project(t, 0, 1));
    pool_.push_back(ir::project(t, 1, 1));
    const ir::Ref next = any(type, depth);
    pool_.resize(mark);
    --scopes_;
    const ir::Ref down = ir::primitive(ir::Primitive::subtract, {ir::project(t, 1, 1), ir::literal(1)});
    return ir::project(
        ir::while_loop(ir::lambda({s}, {more}), ir::lambda({t}, {ir::tuple({next, down})}), initial), 0, 1);
  }

  std::mt19937 random_;
  std::vector<ir::Ref> arrays_;
  std::vector<ir::Ref> pool_;
  int scopes_ = 0;
};

template <class T>
std::vector<T> some(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> out(n);
  for (auto& v : out)
    v = anabranch::detail::FloatValue<T> ? T(static_cast<T>(static_cast<int>(random() % 200) - 100) / T(8))
                                         : static_cast<T>(static_cast<int>(random() % 200) - 100);
  return out;
}

/// A map or a fold of random expressions.
inline KernelBuilder random_kernel(unsigned seed) {
  std::mt19937 random(seed * 7919 + 1);
  const bool fold = random() % 3 == 0;
  const std::int64_t n = static_cast<std::int64_t>(1 + random() % 100);
  const std::int64_t rows = fold ? 3 : n;
  KernelBuilder k(fold ? kernel::KernelForm(kernel::Reduce{}) : kernel::Map{});
  const auto size = k.uniform_extent(128);
  const std::vector<ir::Ref> arrays{
      k.array(kernel::Form::avoided, {ScalarType::float64}, {size}, k.buffer(some<double>(128, seed))),
      k.array(kernel::Form::avoided, {ScalarType::float32}, {size}, k.buffer(some<float>(128, seed + 1))),
      k.array(kernel::Form::avoided, {ScalarType::int32}, {size},
              k.buffer(some<std::int32_t>(128, seed + 2))),
      k.array(kernel::Form::avoided, {ScalarType::int64}, {size},
              k.buffer(some<std::int64_t>(128, seed + 3))),
      k.array(kernel::Form::avoided, {ScalarType::uint8}, {size},
              k.buffer(some<std::uint8_t>(128, seed + 4)))};
  // A fold's operator is none of bools, which are the first type.
  const unsigned first = fold ? 1 : 0;
  const auto type = static_cast<ScalarType>(first + random() % (detail::scalar_count - first));
  k.output(kernel::Form::avoided, {type}, {k.uniform_extent(rows)}, rows);
  auto& kernel = k.kernel();
  Expressions make(seed, arrays);
  make.know(kernel.index[0]);
  if (fold) make.know(row_in(kernel).index);
  const ir::Ref lane = fold ? row_in(kernel).index : kernel.index[0];
  for (const auto& a : arrays) make.know(ir::index(a, lane, {}, true));
  kernel.body = {make.any(type, 7)};
  if (fold) {
    row_in(kernel).length = k.uniform_extent(n);
    reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
    const ir::Primitive op[] = {ir::Primitive::add, ir::Primitive::multiply, ir::Primitive::minimum,
                                ir::Primitive::maximum};
    reduction_in(kernel).combine = {
        ir::primitive(op[random() % 4], {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
    reduction_in(kernel).seed = {ir::cast(type, ir::literal(std::int32_t{2}))};
    if (type == ScalarType::int32) reduction_in(kernel).seed = {ir::literal(std::int32_t{2})};
  }
  return k;
}

}  // namespace anabranch::test
