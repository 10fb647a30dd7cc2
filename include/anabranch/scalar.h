#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/half.h>

/// The scalar types, and all that is known of each: one table, which every part of the library reads.
///
/// To add one: an enumerator, its row in `scalar_rows`, its name in ANABRANCH_SCALAR_TYPES. Its C++ type is
/// an arithmetic type, or a class for which std::numeric_limits is specialised; its CUDA name is declared in
/// kernels/cuda/scalar.cuh. CONTRIBUTING.md has the tests.
namespace anabranch {

/// The scalar types, in the order of C++'s usual arithmetic conversions.
enum class ScalarType : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64
};

/// For messages that the compiler shows.
#define ANABRANCH_SCALAR_TYPES                                                             \
  "bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, half, " \
  "float or double"

namespace detail {

/// A type and its names. C++: as in ANABRANCH_SCALAR_TYPES. NumPy: of a dtype. Arrow: the format string of
/// the C data interface (there the elements of "b" are packed, here each is a byte).
template <class T>
struct ScalarRow {
  ScalarType type;
  const char *name, *cpp, *cuda, *numpy, *arrow;
};

inline constexpr std::tuple scalar_rows{
    //                       type                 in messages and dumps  C++     CUDA   NumPy  Arrow
    ScalarRow<bool>{ScalarType::boolean, "bool", "bool", "bool", "|b1", "b"},
    ScalarRow<std::int8_t>{ScalarType::int8, "int8", "int8_t", "i8", "|i1", "c"},
    ScalarRow<std::uint8_t>{ScalarType::uint8, "uint8", "uint8_t", "u8", "|u1", "C"},
    ScalarRow<std::int16_t>{ScalarType::int16, "int16", "int16_t", "i16", "<i2", "s"},
    ScalarRow<std::uint16_t>{ScalarType::uint16, "uint16", "uint16_t", "u16", "<u2", "S"},
    ScalarRow<std::int32_t>{ScalarType::int32, "int32", "int32_t", "i32", "<i4", "i"},
    ScalarRow<std::uint32_t>{ScalarType::uint32, "uint32", "uint32_t", "u32", "<u4", "I"},
    ScalarRow<std::int64_t>{ScalarType::int64, "int64", "int64_t", "i64", "<i8", "l"},
    ScalarRow<std::uint64_t>{ScalarType::uint64, "uint64", "uint64_t", "u64", "<u8", "L"},
    ScalarRow<half>{ScalarType::float16, "half", "half", "f16", "<f2", "e"},
    ScalarRow<float>{ScalarType::float32, "float", "float", "float", "<f4", "f"},
    ScalarRow<double>{ScalarType::float64, "double", "double", "double", "<f8", "g"},
};
using ScalarRows = std::remove_const_t<decltype(scalar_rows)>;
inline constexpr std::size_t scalar_count = std::tuple_size_v<ScalarRows>;

// Types and values in C++ -----------------------------------------------------------------------------------

/// A number or a bool as C++ has them, whether or not it is a scalar type (long, char).
template <class T>
concept NumericValue = std::is_arithmetic_v<T> || (std::is_class_v<T> && !std::is_abstract_v<T> &&
                                                   std::numeric_limits<T>::is_specialized);
/// Including bool and characters.
template <class T>
concept IntegerValue = NumericValue<T> && std::numeric_limits<T>::is_integer;
template <class T>
concept FloatValue = NumericValue<T> && !std::numeric_limits<T>::is_integer;

/// The unsigned integer of so many bytes.
template <std::size_t Bytes>
using UnsignedOf =
    std::tuple_element_t<std::bit_width(Bytes) - 1,
                         std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

/// A scalar as its bytes, zero-extended to 64 bits: how constants are kept.
template <NumericValue T>
constexpr std::uint64_t bits_of(T value) {
  return std::bit_cast<UnsignedOf<sizeof(T)>>(value);
}
template <NumericValue T>
constexpr T value_of(std::uint64_t bits) {
  if constexpr (std::same_as<T, bool>)
    return bits != 0;
  else
    return std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(bits));
}

/// The C++ type of a scalar.
template <class Row>
struct TypeOfRow;
template <class T>
struct TypeOfRow<ScalarRow<T>> {
  using type = T;
};
template <ScalarType S>
using ScalarOf = typename TypeOfRow<std::tuple_element_t<static_cast<std::size_t>(S), ScalarRows>>::type;

/// The position of T's row; scalar_count if it has none.
template <class T>
inline constexpr std::size_t scalar_row = []<class... Ts>(const std::tuple<ScalarRow<Ts>...>&) {
  std::size_t at = 0;
  (void)((std::same_as<T, Ts> ? true : (++at, false)) || ...);
  return at;
}(scalar_rows);

/// f(std::type_identity<T>{}) with the C++ type of `type`.
template <std::size_t I = 0, class F>
constexpr decltype(auto) with_scalar(ScalarType type, F&& f) {
  using T = ScalarOf<static_cast<ScalarType>(I)>;
  if constexpr (I + 1 < scalar_count) {
    if (static_cast<std::size_t>(type) != I) return with_scalar<I + 1>(type, std::forward<F>(f));
  }
  return std::forward<F>(f)(std::type_identity<T>{});
}

// Facts -----------------------------------------------------------------------------------------------------

enum class ScalarKind : std::uint8_t { boolean, unsigned_integer, signed_integer, floating };

/// The identity x of an operator o, as bits: x o y and y o x are y, bit for bit. (That of bit_and is all bits
/// of the type, also where it has no such operator.)
struct ScalarIdentities {
  std::uint64_t add, multiply, minimum, maximum, bit_and, bit_or, bit_xor;
};

struct ScalarInfo {
  ScalarType type;
  ScalarKind kind;
  int bits;                       ///< that carry the value; 1 of a bool, which is a byte in memory
  std::size_t bytes;              ///< in a buffer
  std::uint64_t least, greatest;  ///< as bits; of floating types the infinities
  ScalarIdentities identities;
  const char *name, *cpp, *cuda, *numpy, *arrow;
};

template <NumericValue T>
constexpr ScalarInfo scalar_facts(const ScalarRow<T>& row) {
  using Limits = std::numeric_limits<T>;
  ScalarInfo out{};
  out.type = row.type;
  out.kind = std::same_as<T, bool> ? ScalarKind::boolean
             : FloatValue<T>       ? ScalarKind::floating
             : Limits::is_signed   ? ScalarKind::signed_integer
                                   : ScalarKind::unsigned_integer;
  out.bits = std::same_as<T, bool> ? 1 : static_cast<int>(8 * sizeof(T));
  out.bytes = sizeof(T);
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - out.bits);
  if constexpr (FloatValue<T>) {
    out.least = bits_of(static_cast<T>(-Limits::infinity()));
    out.greatest = bits_of(Limits::infinity());
    // -0 + x is x, also where x is -0.
    out.identities.add = std::uint64_t{1} << (out.bits - 1);
  } else {
    out.least = bits_of(Limits::min());
    out.greatest = bits_of(Limits::max());
  }
  out.identities.bit_and = ones;
  out.identities.multiply = bits_of(static_cast<T>(1));
  out.identities.minimum = out.greatest;
  out.identities.maximum = out.least;
  out.name = row.name;
  out.cpp = row.cpp;
  out.cuda = row.cuda;
  out.numpy = row.numpy;
  out.arrow = row.arrow;
  return out;
}

inline constexpr std::array<ScalarInfo, scalar_count> scalar_table =
    std::apply([](const auto&... row) { return std::array<ScalarInfo, scalar_count>{scalar_facts(row)...}; },
               scalar_rows);

static_assert(
    [] {
      for (std::size_t i = 0; i < scalar_count; ++i)
        if (static_cast<std::size_t>(scalar_table[i].type) != i) return false;
      return true;
    }(),
    "the rows stand in the order of the enumerators, one for each");

constexpr const ScalarInfo& scalar_info(ScalarType type) {
  return scalar_table[static_cast<std::size_t>(type)];
}

}  // namespace detail

/// Bytes of one scalar in a buffer.
constexpr std::size_t size_of(ScalarType type) { return detail::scalar_info(type).bytes; }

/// "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "half",
/// "float", "double".
constexpr const char* name_of(ScalarType type) { return detail::scalar_info(type).name; }

}  // namespace anabranch
