#pragma once

#include <limits>

#include "interp/primitives.h"
#include "tests/cpu/support/kernels.h"

namespace anabranch::test {

inline const std::vector<ScalarType> all_types = [] {
  std::vector<ScalarType> out;
  for (const auto& facts : detail::scalar_table) out.push_back(facts.type);
  return out;
}();

template <class T>
std::vector<interp::Bits> bits_of(const std::vector<T>& values) {
  std::vector<interp::Bits> out;
  for (const T v : values) out.push_back(interp::to_bits(v));
  return out;
}

/// Borders, and what lies beside them.
template <class T>
std::vector<interp::Bits> real_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v{T(0), T(1), T(2), T(3), T(0.5), T(1.5), T(2.5), T(7.3), T(100.25), T(255.5), T(256),
                   T(1e9), T(2147483647.0), T(2147483648.0), T(9.2233720368547758e18), T(1e19), T(1e-20),
                   L::min(), L::denorm_min(), L::max(), L::infinity(), T(3.1415926535897932), T(86.5),
                   T(708.5), T(127.9), T(128.9), T(129), T(32767.5), T(32769), T(4294967295.0),
                   T(4294967296.0), T(1.8446744073709550e19),
                   // About halves.
                   T(65504), T(65519.99), T(65520), T(0x1p-14), T(0x1p-24), T(0x1.8p-25), T(0x1p-25),
                   T(0x1.000001p-25), T(1 + 0x1p-11), T(1 + 0x1p-11 + 0x1p-35), T(1 + 0x3p-11)};
  const auto n = v.size();
  for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<T>(-v[i]));
  v.push_back(L::quiet_NaN());
  return bits_of(v);
}

/// Borders of this type and of others, and what lies beside them.
template <class T>
std::vector<interp::Bits> integer_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v{L::min(),        T(L::min() + 1), L::max(),
                   T(L::max() - 1), T(L::max() / 2), T(L::max() / 2 + 1)};
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{10},
        std::int64_t{100}, std::int64_t{129}, std::int64_t{255}, std::int64_t{256}, std::int64_t{46341},
        std::int64_t{65535}, std::int64_t{65536}, std::int64_t{16777217}, std::int64_t{123456789},
        std::int64_t{INT32_MAX}, std::int64_t{1} << 32, std::int64_t{3037000500},
        std::int64_t{9007199254740993}})
    for (const std::int64_t x : {n, -n})
      if (std::in_range<T>(x)) v.push_back(static_cast<T>(x));
  return bits_of(v);
}

inline std::vector<interp::Bits> values_of(ScalarType type) {
  return detail::with_scalar(type, []<class T>(std::type_identity<T>) -> std::vector<interp::Bits> {
    if constexpr (std::is_same_v<T, bool>)
      return {0, 1};
    else if constexpr (detail::FloatValue<T>)
      return real_values<T>();
    else
      return integer_values<T>();
  });
}

/// Those that name the type of their result.
inline bool converts(ir::Primitive primitive) {
  return primitive == ir::Primitive::cast || primitive == ir::Primitive::bitcast;
}
/// Of operands of a type that it accepts, a primitive gives a result of that type.
inline bool gives(ir::Primitive primitive, ScalarType type, ScalarType result) {
  if (primitive == ir::Primitive::cast) return true;
  if (primitive == ir::Primitive::bitcast)
    return size_of(type) == size_of(result) && result != ScalarType::boolean;
  return result == (ir::info(primitive).boolean_result ? ScalarType::boolean : type);
}

/// out[i] = primitive(columns[0][i], ...), the columns holding
/// every combination of the values for which `keep` holds.
inline KernelBuilder table(ir::Primitive primitive, ScalarType type, ScalarType result,
                           const std::function<bool(std::span<const interp::Bits>)>& keep) {
  const auto arity = static_cast<std::size_t>(ir::info(primitive).arity);
  const auto values = values_of(type);
  std::vector<std::vector<std::byte>> columns(arity);
  std::int64_t rows = 0;
  const auto add = [&](std::span<const interp::Bits> row) {
    if (!keep(row)) return;
    for (std::size_t c = 0; c < arity; ++c) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&row[c]);
      columns[c].insert(columns[c].end(), bytes, bytes + size_of(type));
    }
    ++rows;
  };
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < (arity > 1 ? values.size() : 1); ++j) {
      const interp::Bits third = values[(i * 7 + j * 3) % values.size()];
      const interp::Bits row[3] = {values[i], values[j], third};
      add(std::span(row).first(arity));
    }
  KernelBuilder k(kernel::Map{});
  std::vector<ir::Ref> arrays;
  const auto extent = k.uniform_extent(rows);
  for (std::size_t c = 0; c < arity; ++c)
    arrays.push_back(
        k.array(kernel::Form::avoided, {type}, {extent}, k.bytes(columns[c].data(), columns[c].size())));
  k.output(kernel::Form::avoided, {result}, {extent}, rows);
  std::vector<ir::Ref> operands;
  for (const auto& a : arrays) operands.push_back(ir::index(a, k.kernel().index[0], {}, true));
  k.kernel().body = {primitive == ir::Primitive::cast      ? ir::cast(result, operands[0])
                     : primitive == ir::Primitive::bitcast ? ir::bitcast(result, operands[0])
                                                           : ir::primitive(primitive, operands)};
  return k;
}

}  // namespace anabranch::test
