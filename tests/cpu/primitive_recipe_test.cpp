// The recipes, and that both code generators take each of them.

#include "kernel/primitive_recipe.h"

#include "cuda/unit.h"
#include "support/catch.h"
#include "tests/cpu/support/primitive_table.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

/// Builds nothing, and refuses operands that the abstract machine does not take.
class TypeChecker {
 public:
  struct Scalar {
    ScalarType type;
    bool is_divisor = false;
  };
  int operations = 0;

  Scalar constant(ScalarType type, std::uint64_t) const { return {type}; }
  Scalar add(const Scalar& x, const Scalar& y) { return numbers(x, y); }
  Scalar subtract(const Scalar& x, const Scalar& y) { return numbers(x, y); }
  Scalar multiply(const Scalar& x, const Scalar& y) { return numbers(x, y); }
  Scalar divide(const Scalar& x, const Scalar& y) {
    require(ir::is_float(x.type) || y.is_divisor);
    return numbers(x, y);
  }
  Scalar checked_divisor(const Scalar& x, const Scalar& y) {
    require(ir::is_integer(x.type) && x.type == y.type);
    return {y.type, true};
  }
  Scalar float_negate(const Scalar& x) { return floats({x}); }
  Scalar float_absolute(const Scalar& x) { return floats({x}); }
  Scalar float_remainder(const Scalar& x, const Scalar& y) { return floats({x, y}); }
  Scalar multiply_add(const Scalar& x, const Scalar& y, const Scalar& z) { return floats({x, y, z}); }
  Scalar square_root(const Scalar& x) { return floats({x}); }
  Scalar mathematical(Primitive primitive, const Scalar& x, const Scalar& y) {
    require(ir::info(primitive).mathematical);
    return floats({x, y});
  }
  Scalar equal(const Scalar& x, const Scalar& y) { return compared(x, y); }
  Scalar not_equal(const Scalar& x, const Scalar& y) { return compared(x, y); }
  Scalar less(const Scalar& x, const Scalar& y) { return compared(x, y); }
  Scalar less_equal(const Scalar& x, const Scalar& y) { return compared(x, y); }
  Scalar unordered(const Scalar& x) { return floats({x}), Scalar{ScalarType::boolean}; }
  Scalar select(const Scalar& condition, const Scalar& x, const Scalar& y) {
    require(condition.type == ScalarType::boolean && x.type == y.type);
    return {x.type};
  }
  Scalar bit_and(const Scalar& x, const Scalar& y) { return bits(x, y); }
  Scalar bit_or(const Scalar& x, const Scalar& y) { return bits(x, y); }
  Scalar bit_xor(const Scalar& x, const Scalar& y) { return bits(x, y); }
  Scalar logical_not(const Scalar& x) {
    require(x.type == ScalarType::boolean);
    return x;
  }
  Scalar shift_left(const Scalar& x, const Scalar& by) { return integers({x, by}); }
  Scalar shift_right(const Scalar& x, const Scalar& by) { return integers({x, by}); }
  Scalar shift_right_unsigned(const Scalar& x, const Scalar& by) { return integers({x, by}); }
  Scalar count_ones(const Scalar& x) { return integers({x}); }
  Scalar leading_zeros(const Scalar& x) { return integers({x}); }
  Scalar trailing_zeros(const Scalar& x) { return integers({x}); }
  Scalar floor(const Scalar& x) { return floats({x}); }
  Scalar ceiling(const Scalar& x) { return floats({x}); }
  Scalar truncate(const Scalar& x) { return floats({x}); }
  Scalar copy_sign(const Scalar& x, const Scalar& sign) { return floats({x, sign}); }
  Scalar reinterpret(const Scalar& x, ScalarType to) {
    require(size_of(x.type) == size_of(to) && x.type != ScalarType::boolean && to != ScalarType::boolean);
    return {to};
  }
  Scalar to_integer(const Scalar& x, ScalarType to) {
    require(!ir::is_float(x.type) && ir::is_integer(to));
    return {to};
  }
  Scalar to_float(const Scalar&, ScalarType to) {
    require(ir::is_float(to));
    return {to};
  }
  Scalar saturate(const Scalar& x, ScalarType to) {
    require(ir::is_float(x.type) && ir::is_integer(to));
    return {to};
  }

 private:
  void require(bool good) {
    ++operations;
    CHECK(good);
  }
  Scalar numbers(const Scalar& x, const Scalar& y) {
    require(x.type == y.type && x.type != ScalarType::boolean);
    return {x.type};
  }
  Scalar floats(std::initializer_list<Scalar> all) {
    for (const Scalar& x : all) require(ir::is_float(x.type) && x.type == all.begin()->type);
    return {all.begin()->type};
  }
  Scalar integers(std::initializer_list<Scalar> all) {
    for (const Scalar& x : all) require(ir::is_integer(x.type) && x.type == all.begin()->type);
    return {all.begin()->type};
  }
  Scalar bits(const Scalar& x, const Scalar& y) {
    require(x.type == y.type && !ir::is_float(x.type));
    return {x.type};
  }
  Scalar compared(const Scalar& x, const Scalar& y) {
    require(x.type == y.type);
    return {ScalarType::boolean};
  }
};

TypeChecker::Scalar build(TypeChecker& checker, Primitive primitive, ScalarType type, ScalarType result) {
  const std::vector<TypeChecker::Scalar> x(static_cast<std::size_t>(ir::info(primitive).arity), {type});
  return kernel::build_primitive(checker, primitive, result, std::span(std::as_const(x)));
}

/// Calls f(primitive, type, result) for everything that the signature table accepts.
template <class F>
void for_all_accepted(F&& f) {
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    for (const ScalarType type : all_types) {
      if (!ir::accepts(ir::info(primitive).operands, type)) continue;
      for (const ScalarType to : all_types)
        if (gives(primitive, type, to)) f(primitive, type, to);
    }
  }
}

}  // namespace

TEST_CASE("every primitive has a recipe on every type that it accepts, and gives what it is said to give") {
  for_all_accepted([](Primitive primitive, ScalarType type, ScalarType result) {
    INFO(ir::info(primitive).name << " on " << name_of(type) << " to " << name_of(result));
    TypeChecker checker;
    CHECK(build(checker, primitive, type, result).type == result);
    const bool nothing_to_do =
        (converts(primitive) && type == result) ||
        (primitive == Primitive::absolute && !ir::is_float(type) && !ir::is_signed(type));
    CHECK((checker.operations == 0) == nothing_to_do);
  });
}

TEST_CASE("primitives have no recipe on other types") {
  for (int p = 0; p < ir::primitive_count; ++p)
    for (const ScalarType type : all_types) {
      const auto primitive = static_cast<Primitive>(p);
      if (ir::accepts(ir::info(primitive).operands, type)) continue;
      TypeChecker checker;
      CHECK_THROWS_AS(build(checker, primitive, type, type), InternalError);
    }
}

TEST_CASE("both code generators take every recipe, scalar and vector") {
  for_all_accepted([](Primitive primitive, ScalarType type, ScalarType result) {
    if (converts(primitive) && type == result) return;  // is no node
    INFO(ir::info(primitive).name << " on " << name_of(type) << " to " << name_of(result));
    auto k = table(primitive, type, result, [](auto) { return true; });
    k.find_checks();
    for (const int lanes : {0, 1}) {
      cpu::CompileOptions options;
      options.lanes = lanes;
      CHECK_NOTHROW(cpu::compile(k.kernel(), options));
    }
    CHECK_NOTHROW(cuda::generate(k.kernel()));
  });
}

TEST_CASE("cuda texts of primitives are expressions as one would write them") {
  const auto text = [](Primitive primitive, ScalarType type, ScalarType result) {
    auto k = table(primitive, type, result, [](auto) { return true; });
    k.find_checks();
    return cuda::generate(k.kernel()).source;
  };
  using Catch::Contains;
  using enum ScalarType;
  CHECK_THAT(text(Primitive::fma, float32, float32), Contains(" = fmaf("));
  CHECK_THAT(text(Primitive::exp, float64, float64), Contains(" = math::exp("));
  CHECK_THAT(text(Primitive::minimum, float64, float64),
             Contains("minimum_1 = (fetched0[n] != fetched0[n]) ? fetched0[n] : ((fetched0[n] < fetched1[n]) "
                      "? fetched0[n] : fetched1[n]);\n"));
  CHECK_THAT(
      text(Primitive::remainder, uint8, uint8),
      Contains("remainder_1_ok = has_quotient(fetched0[n], fetched1[n]);\n") &&
          Contains("remainder_1_by = remainder_1_ok ? fetched1[n] : u8(1);\n") &&
          Contains("= subtract(fetched0[n], multiply(u8(fetched0[n] / remainder_1_by), remainder_1_by));\n"));
  CHECK_THAT(text(Primitive::cast, float64, int32), Contains(" = saturate<i32>("));
  CHECK_THAT(text(Primitive::bit_and, uint8, uint8), Contains(" = u8("));
  CHECK_THAT(text(Primitive::shift_left, int32, int32),
             Contains("shift_left_1 = shift_left(fetched0[n], fetched1[n] & 31);\n"));
  CHECK_THAT(text(Primitive::shift_right, uint16, uint16), Contains(" = u16(fetched0[n] >> "));
  CHECK_THAT(text(Primitive::floor, float32, float32), Contains(" = floorf(fetched0[n]);\n"));
  CHECK_THAT(text(Primitive::bitcast, int64, float64), Contains(" = reinterpreted<double>(fetched0[n]);\n"));
}
