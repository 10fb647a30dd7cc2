#pragma once

#include <limits>

#include "interp/primitives.h"
#include "tests/cpu/support/kernels.h"

namespace anabranch::test {

inline const std::vector<ScalarType> all_types{ScalarType::boolean, ScalarType::uint8,   ScalarType::int32,
                                               ScalarType::int64,   ScalarType::float32, ScalarType::float64};

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
  std::vector<T> v{0,
                   1,
                   2,
                   3,
                   T(0.5),
                   T(1.5),
                   T(2.5),
                   T(7.3),
                   T(100.25),
                   T(255.5),
                   T(256),
                   T(1e9),
                   T(2147483647.0),
                   T(2147483648.0),
                   T(9.2233720368547758e18),
                   T(1e19),
                   T(1e-20),
                   L::min(),
                   L::denorm_min(),
                   L::max(),
                   L::infinity(),
                   T(3.1415926535897932),
                   T(86.5),
                   T(708.5)};
  const auto n = v.size();
  for (std::size_t i = 0; i < n; ++i) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  return bits_of(v);
}

inline std::vector<interp::Bits> values_of(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
      return {0, 1};
    case ScalarType::uint8:
      return {0, 1, 2, 3, 7, 100, 127, 128, 129, 200, 254, 255};
    case ScalarType::int32:
      return bits_of(std::vector<std::int32_t>{0,         1,
                                               -1,        2,
                                               -2,        3,
                                               -3,        7,
                                               10,        -10,
                                               255,       256,
                                               65536,     46341,
                                               123456789, 16777217,
                                               INT32_MAX, INT32_MAX - 1,
                                               INT32_MIN, INT32_MIN + 1});
    case ScalarType::int64:
      return bits_of(std::vector<std::int64_t>{0,
                                               1,
                                               -1,
                                               2,
                                               -2,
                                               3,
                                               -3,
                                               7,
                                               10,
                                               -10,
                                               255,
                                               256,
                                               INT32_MAX,
                                               INT32_MIN,
                                               std::int64_t{1} << 32,
                                               3037000500,
                                               9007199254740993,
                                               INT64_MAX,
                                               INT64_MAX - 1,
                                               INT64_MIN,
                                               INT64_MIN + 1,
                                               (std::int64_t{1} << 53) + 1});
    case ScalarType::float32:
      return real_values<float>();
    case ScalarType::float64:
      return real_values<double>();
  }
  return {};
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
  k.kernel().body = {primitive == ir::Primitive::cast ? ir::cast(result, operands[0])
                                                      : ir::primitive(primitive, operands)};
  return k;
}

}  // namespace anabranch::test
