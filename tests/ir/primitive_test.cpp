// The signature table and the library routines.

#include "ir/primitive.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include <anabranch/error.h>

#include "ir/transcendental.h"
#include "support/catch.h"

using namespace anabranch;
using ir::Primitive;

namespace {

const std::vector<Primitive> library{Primitive::exponential, Primitive::logarithm, Primitive::sine,
                                     Primitive::cosine};

long double exact(Primitive primitive, long double x) {
  if (primitive == Primitive::exponential) return std::exp(x);
  if (primitive == Primitive::logarithm) return std::log(x);
  if (primitive == Primitive::sine) return std::sin(x);
  return std::cos(x);
}

template <class T>
void check_accuracy(Primitive primitive, T x) {
  const T got = ir::evaluate(primitive, x);
  const long double want = exact(primitive, static_cast<long double>(x));
  const T near = static_cast<T>(want);
  if (std::isinf(near) || std::fabs(near) < std::numeric_limits<T>::min()) return;
  const T ulp = std::nextafter(std::fabs(near), std::numeric_limits<T>::infinity()) - std::fabs(near);
  INFO(ir::info(primitive).name << " of " << x << " gave " << got);
  // libmvec promises 4 units in the last place.
  CHECK(std::fabs(static_cast<long double>(got) - want) <= 4.0L * static_cast<long double>(ulp));
}

}  // namespace

TEST_CASE("the table names every primitive once") {
  std::set<std::string_view> names;
  for (int i = 0; i < ir::primitive_count; ++i) {
    const ir::PrimitiveInfo& info = ir::info(static_cast<Primitive>(i));
    names.insert(info.name);
    CHECK(info.arity >= 1);
    CHECK(info.arity <= 3);
    CHECK(info.cost >= 1);
    CHECK(info.can_fail == (info.name == "divide" || info.name == "remainder"));
  }
  CHECK(names.size() == static_cast<std::size_t>(ir::primitive_count));
}

TEST_CASE("operand classes") {
  using enum ScalarType;
  using ir::Operands;
  CHECK_FALSE(ir::accepts(Operands::numbers, boolean));
  CHECK(ir::accepts(Operands::numbers, float32));
  CHECK_FALSE(ir::accepts(Operands::integers, float64));
  CHECK(ir::accepts(Operands::bits, boolean));
  CHECK_FALSE(ir::accepts(Operands::bits, float32));
  CHECK_FALSE(ir::accepts(Operands::floats, int64));
  CHECK(ir::accepts(Operands::boolean, boolean));
  CHECK_FALSE(ir::accepts(Operands::boolean, uint8));
  CHECK(ir::accepts(Operands::any, boolean));
}

TEST_CASE("exactly the transcendental primitives are library routines, on floats") {
  std::set<int> numbers;
  for (int i = 0; i < ir::primitive_count; ++i) {
    const auto primitive = static_cast<Primitive>(i);
    for (const auto& facts : detail::scalar_table) {
      const ScalarType type = facts.type;
      const int number = ir::routine_number(primitive, type);
      CHECK((number >= 0) == (ir::info(primitive).transcendental && ir::is_float(type)));
      if (number < 0) continue;
      numbers.insert(number);
      const ir::Routine& routine = ir::routine(number);
      CHECK(routine.address != nullptr);
      CHECK(routine.lanes >= 1);
      CHECK(std::strlen(routine.symbol) > 0);
      CHECK(ir::routine_table()[number] == routine.address);
    }
  }
  CHECK(numbers.size() == 8);
  CHECK_THROWS_AS(ir::evaluate(Primitive::add, 1.0), InternalError);
}

TEST_CASE("library routines are within 4 units in the last place") {
  std::mt19937_64 random(7);
  for (Primitive primitive : library) {
    for (int i = 0; i < 2000; ++i) {
      const double mantissa = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52);
      const int exponent = static_cast<int>(random() % 16) - 8;
      double x = std::ldexp(random() % 2 ? mantissa : -mantissa, exponent);
      if (primitive == Primitive::logarithm) x = std::fabs(x);
      if (primitive == Primitive::exponential) x = std::ldexp(x, -2);
      check_accuracy(primitive, x);
      check_accuracy(primitive, static_cast<float>(x));
    }
  }
}

TEST_CASE("library routines at the borders") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(ir::evaluate(Primitive::exponential, 0.0) == 1.0);
  CHECK(ir::evaluate(Primitive::exponential, infinity) == infinity);
  CHECK(ir::evaluate(Primitive::exponential, -infinity) == 0.0);
  CHECK(ir::evaluate(Primitive::exponential, 1e5F) == std::numeric_limits<float>::infinity());
  CHECK(ir::evaluate(Primitive::logarithm, 1.0) == 0.0);
  CHECK(ir::evaluate(Primitive::logarithm, 0.0) == -infinity);
  CHECK(std::isnan(ir::evaluate(Primitive::logarithm, -1.0)));
  CHECK(ir::evaluate(Primitive::sine, 0.0F) == 0.0F);
  CHECK(ir::evaluate(Primitive::cosine, 0.0F) == 1.0F);
  for (Primitive primitive : library) {
    CHECK(std::isnan(ir::evaluate(primitive, std::numeric_limits<double>::quiet_NaN())));
    CHECK(std::isnan(ir::evaluate(primitive, std::numeric_limits<float>::quiet_NaN())));
  }
  CHECK(std::isnan(ir::evaluate(Primitive::sine, infinity)));
  check_accuracy(Primitive::sine, 1e22);
  check_accuracy(Primitive::cosine, 1e5F);
}
