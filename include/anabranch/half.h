#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace anabranch {

/// A floating-point number of 16 bits, IEEE's binary16: 11 significant bits, up to 65504. An element type
/// (NumPy's float16). On the host it is a format to store numbers in: what is made a half is rounded once, to
/// nearest even, and a half is a float wherever one is wanted, without loss; so arithmetic on halves gives
/// floats. In a program, operations on Exp<half> give halves, each rounded once.
class half {
 public:
  half() = default;
  explicit constexpr half(double value) : bits_(rounded(std::bit_cast<std::uint64_t>(value))) {}
  explicit constexpr half(float value) : half(static_cast<double>(value)) {}
  /// An integer that float does not hold is beyond all halves: rounding it twice gives infinity, too.
  template <std::integral I>
  explicit constexpr half(I value) : half(static_cast<float>(value)) {}

  constexpr operator float() const {
    const std::uint32_t sign = (bits_ & 0x8000u) << 16;
    const std::uint32_t exponent = bits_ >> 10 & 0x1fu, fraction = bits_ & 0x3ffu;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + 112;
    return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
  }

 private:
  /// The half nearest to the double of these bits, the even one of two.
  static constexpr std::uint16_t rounded(std::uint64_t value) {
    const auto sign = static_cast<std::uint16_t>(value >> 48 & 0x8000u);
    const std::uint64_t magnitude = value & ~(std::uint64_t{1} << 63);
    const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << 52) - 1);
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    if (exponent == 1024 && fraction != 0)  // NaN: quiet, with what fits of its payload
      return static_cast<std::uint16_t>(sign | 0x7e00u | fraction >> 42);
    if (exponent >= 16) return sign | 0x7c00u;
    if (exponent < -25) return sign;
    // Of a normal half 11 bits are kept, of a smaller one as many as lie above 2^-25.
    const int dropped = exponent < -14 ? 28 - exponent : 42;
    const std::uint64_t significand = fraction | std::uint64_t{1} << 52;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t tie = std::uint64_t{1} << (dropped - 1);
    std::uint64_t kept = significand >> dropped;
    if (rest > tie || (rest == tie && kept % 2 != 0)) ++kept;
    // A carry goes into the exponent, up to that of infinity.
    const std::uint64_t biased = exponent < -14 ? 0 : static_cast<std::uint64_t>(exponent + 14) << 10;
    return static_cast<std::uint16_t>(sign | (biased + kept));
  }

  std::uint16_t bits_;
};

static_assert(sizeof(half) == 2);

}  // namespace anabranch

template <>
class std::numeric_limits<anabranch::half> {
  using half = anabranch::half;
  static constexpr half of_bits(std::uint16_t bits) { return std::bit_cast<half>(bits); }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool has_denorm_loss = false, tinyness_before = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = 11, digits10 = 3, max_digits10 = 5;
  static constexpr int min_exponent = -13, max_exponent = 16, min_exponent10 = -4, max_exponent10 = 4;

  static constexpr half min() noexcept { return of_bits(0x0400); }
  static constexpr half lowest() noexcept { return of_bits(0xfbff); }
  static constexpr half max() noexcept { return of_bits(0x7bff); }
  static constexpr half epsilon() noexcept { return of_bits(0x1400); }
  static constexpr half round_error() noexcept { return of_bits(0x3800); }
  static constexpr half infinity() noexcept { return of_bits(0x7c00); }
  static constexpr half quiet_NaN() noexcept { return of_bits(0x7e00); }
  static constexpr half signaling_NaN() noexcept { return of_bits(0x7d00); }
  static constexpr half denorm_min() noexcept { return of_bits(0x0001); }
};
