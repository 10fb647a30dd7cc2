#pragma once

/// Halves: IEEE's binary16, with its conversions and no arithmetic. A half is a float wherever one is
/// wanted; texts round the results of operations to halves again (cuda/scalar_text.cpp). CUDA's own header
/// is not needed.
namespace anabranch {

#ifdef GPU_HOST
using gpu_host::double_to_half;
using gpu_host::float_to_half;
using gpu_host::half_to_float;
#else
ANABRANCH_DEVICE unsigned short float_to_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
ANABRANCH_DEVICE unsigned short double_to_half(double x) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return bits;
}
ANABRANCH_DEVICE float half_to_float(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
#endif

struct f16 {
  unsigned short bits;

  f16() = default;
  explicit ANABRANCH_DEVICE f16(double x) : bits(double_to_half(x)) {}
  /// A float, or an integer: one that float does not hold is beyond all halves.
  template <class T>
  explicit ANABRANCH_DEVICE f16(T x) : bits(float_to_half(static_cast<float>(x))) {}
  ANABRANCH_DEVICE operator float() const { return half_to_float(bits); }
};

}  // namespace anabranch
