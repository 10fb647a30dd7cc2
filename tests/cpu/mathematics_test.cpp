// Mathematical functions give the interpreter's bits in every vector width, in line and as routines.

#include <random>

#include "ir/mathematics.h"
#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/primitive_table.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

/// Ordinary operands in long runs, any bits at all in others, borders in the last.
template <class T>
std::vector<T> operands(unsigned seed, bool rare) {
  std::mt19937_64 random(seed);
  std::vector<T> out;
  for (int i = 0; i < 500; ++i) {
    const double u = std::ldexp(static_cast<double>(random() >> 11), -53);
    out.push_back(
        static_cast<T>(rare ? std::ldexp(2 * u - 1, static_cast<int>(random() % 40) - 20) : 0.25 + 0.5 * u));
  }
  if (!rare) return out;
  for (int i = 0; i < 500; ++i) out.push_back(detail::value_of<T>(random()));
  for (const interp::Bits bits : real_values<T>()) out.push_back(detail::value_of<T>(bits));
  return out;
}

template <class T>
KernelBuilder applied(Primitive primitive, bool rare) {
  KernelBuilder k(kernel::Map{});
  const auto n = static_cast<std::int64_t>(operands<T>(0, rare).size());
  const auto extent = k.uniform_extent(n);
  std::vector<ir::Ref> arrays, values;
  for (int i = 0; i < ir::info(primitive).arity; ++i)
    arrays.push_back(k.array(kernel::Form::avoided, {detail::scalar_type<T>}, {extent},
                             k.buffer(operands<T>(static_cast<unsigned>(i) + 1, rare))));
  k.output(kernel::Form::avoided, {detail::scalar_type<T>}, {extent}, n);
  for (const ir::Ref& array : arrays) values.push_back(ir::index(array, k.kernel().index[0], {}, true));
  k.kernel().body = {ir::primitive(primitive, values)};
  return k;
}

template <class T>
void check_widths(Primitive primitive) {
  for (const bool rare : {false, true}) {
    INFO(ir::info(primitive).name << " of " << (rare ? "rare" : "ordinary") << " operands");
    auto k = applied<T>(primitive, rare);
    CHECK(disagreement(k, {0, 7}) == "");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) continue;
    const auto expected = Oracle(k).run();
    for (const int lanes : {0, 1, 2, 32}) {
      cpu::CompileOptions narrow;
      narrow.cpu = "haswell";
      narrow.lanes = lanes;
      INFO("AVX2, lanes " << lanes);
      CHECK(same_values(k, k.run(narrow), expected));
    }
  }
}

}  // namespace

TEST_CASE("mathematical functions give the interpreter's bits in every vector width") {
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    if (!ir::info(primitive).mathematical) continue;
    check_widths<float>(primitive);
    check_widths<double>(primitive);
  }
}
