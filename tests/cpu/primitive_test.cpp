#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/primitive_table.h"

using namespace anabranch;
using namespace anabranch::test;
using interp::Bits;
using ir::Primitive;

TEST_CASE("every primitive on every type, bit for bit") {
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    for (const ScalarType type : all_types) {
      if (converts(primitive) || !ir::accepts(ir::info(primitive).operands, type)) continue;
      const ScalarType result = ir::info(primitive).boolean_result ? ScalarType::boolean : type;
      INFO(ir::info(primitive).name << " on " << name_of(type));
      auto k = table(primitive, type, result, [&](std::span<const Bits> row) {
        return interp::apply(primitive, type, result, row).has_value();
      });
      CHECK(disagreement(k, {0}) == "");
    }
  }
}

TEST_CASE("every conversion, bit for bit") {
  for (const Primitive primitive : {Primitive::cast, Primitive::bitcast})
    for (const ScalarType from : all_types)
      for (const ScalarType to : all_types) {
        if (from == to || !ir::accepts(ir::info(primitive).operands, from) || !gives(primitive, from, to))
          continue;
        INFO(ir::info(primitive).name << " from " << name_of(from) << " to " << name_of(to));
        auto k = table(primitive, from, to, [](auto) { return true; });
        CHECK(disagreement(k, {0}) == "");
      }
}

namespace {

/// What half is in: on AVX2, and on AVX-512 without arithmetic of halves.
void check_halves(const cpu::CompileOptions& machine) {
  const auto agrees = [&](KernelBuilder k) {
    k.find_checks();
    const auto expected = Oracle(k).run();
    for (const int lanes : {0, 1}) {
      cpu::CompileOptions options = machine;
      options.lanes = lanes;
      CHECK(same_values(k, k.run(options), expected));
    }
  };
  constexpr ScalarType half_type = ScalarType::float16;
  const auto always = [](auto) { return true; };
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    if (primitive == Primitive::cast || primitive == Primitive::bitcast) continue;
    if (!ir::accepts(ir::info(primitive).operands, half_type)) continue;
    INFO(ir::info(primitive).name);
    agrees(table(primitive, half_type, ir::info(primitive).boolean_result ? ScalarType::boolean : half_type,
                 always));
  }
  for (const ScalarType other : all_types) {
    if (other == half_type) continue;
    INFO("casts to and from " << name_of(other));
    agrees(table(Primitive::cast, half_type, other, always));
    agrees(table(Primitive::cast, other, half_type, always));
  }
}

/// Casts of all types, as code of another processor.
void check_casts(const cpu::CompileOptions& machine) {
  for (const ScalarType from : all_types)
    for (const ScalarType to : all_types) {
      if (from == to) continue;
      INFO("from " << name_of(from) << " to " << name_of(to));
      auto k = table(Primitive::cast, from, to, [](auto) { return true; });
      k.find_checks();
      CHECK(same_values(k, k.run(machine), Oracle(k).run()));
    }
}

}  // namespace

TEST_CASE("halves and casts on AVX2") {
  if (!__builtin_cpu_supports("avx2")) return;
  cpu::CompileOptions machine;
  machine.cpu = "haswell";
  check_halves(machine);
  check_casts(machine);
}

TEST_CASE("halves and casts on AVX-512 that only converts halves") {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq")) return;
  cpu::CompileOptions machine;
  machine.cpu = "skylake-avx512";
  machine.features = "+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512bw,+avx512dq";
  check_halves(machine);
  check_casts(machine);
}

TEST_CASE("integer division without a result is an error in whatever lane it happens") {
  for (const Primitive primitive : {Primitive::divide, Primitive::remainder})
    for (const ScalarType type : all_types) {
      if (!ir::is_integer(type)) continue;
      int bad = 0;
      auto k = table(primitive, type, type, [&](std::span<const Bits> row) {
        if (interp::apply(primitive, type, type, row)) return true;
        return ++bad == 5;
      });
      CHECK(disagreement(k, {0}) == "");
      REQUIRE_THROWS_WITH(k.run(), Catch::Contains("division"));
    }
}
