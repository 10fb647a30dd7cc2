// That each mathematical primitive has its recipe. What the recipes give is tested in tests/math.

#include "ir/mathematics.h"

#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include <anabranch/error.h>

#include "ir/math_recipe.h"
#include "support/catch.h"

using namespace anabranch;
using ir::Primitive;

namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

const std::map<Primitive, Unary>& unary() {
  using enum Primitive;
  static const std::map<Primitive, Unary> all{
      {exp, std::exp},     {exp2, std::exp2},
      {log, std::log},     {log2, std::log2},
      {log10, std::log10}, {sin, std::sin},
      {cos, std::cos},     {tan, std::tan},
      {asin, std::asin},   {acos, std::acos},
      {atan, std::atan},   {sinh, std::sinh},
      {cosh, std::cosh},   {tanh, std::tanh},
      {asinh, std::asinh}, {acosh, std::acosh},
      {atanh, std::atanh}, {erf, std::erf},
      {cbrt, std::cbrt},   {rsqrt, [](double x) { return 1 / std::sqrt(x); }}};
  return all;
}
const std::map<Primitive, Binary>& binary() {
  using enum Primitive;
  static const std::map<Primitive, Binary> all{{pow, std::pow}, {atan2, std::atan2}, {hypot, std::hypot}};
  return all;
}

template <class T>
void check_near(Primitive primitive, T got, double expected) {
  INFO(ir::info(primitive).name << " gave " << got << ", expected " << expected);
  CHECK(std::fabs(static_cast<double>(got) - expected) <=
        2 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::fabs(expected));
}

template <class T>
void check_all(T x, T y) {
  for (const auto& [primitive, exact] : unary()) {
    const double expected = exact(static_cast<double>(x));
    if (std::isfinite(expected)) check_near(primitive, ir::mathematical(primitive, x), expected);
  }
  for (const auto& [primitive, exact] : binary())
    check_near(primitive, ir::mathematical(primitive, x, y),
               exact(static_cast<double>(x), static_cast<double>(y)));
}

}  // namespace

TEST_CASE("each mathematical primitive computes its own function") {
  check_all(0.625, 1.75);
  check_all(0.625F, 1.75F);
  check_all(1.375, 0.25);
  check_all(1.375F, 0.25F);
}

TEST_CASE("exactly the mathematical primitives have recipes") {
  for (int i = 0; i < ir::primitive_count; ++i) {
    const auto primitive = static_cast<Primitive>(i);
    const auto& facts = ir::info(primitive);
    INFO(facts.name);
    CHECK(facts.mathematical == (unary().contains(primitive) || binary().contains(primitive)));
    if (facts.mathematical) {
      CHECK(facts.arity == (binary().contains(primitive) ? 2 : 1));
      CHECK_NOTHROW(ir::mathematical(primitive, 0.5, 0.5));
    } else {
      CHECK_THROWS_AS(ir::mathematical(primitive, 0.5, 0.5), InternalError);
    }
    if (ir::has_fast_path(primitive))
      CHECK(ir::build_fast(primitive, 1.5, 1.5).holds);
    else
      CHECK_THROWS_AS(ir::build_fast(primitive, 1.5, 1.5), InternalError);
  }
}
