#pragma once

#if !defined(__SSE2__)
#include <cfenv>
#endif

namespace anabranch::ir {

/// While this lives, the thread's arithmetic on floats is what the language says: rounded to nearest, denormal
/// numbers kept, no trap. A program linked with -ffast-math, or one that calls fesetround, has its threads do
/// otherwise; they do so again afterwards. Costs a few cycles where there is nothing to change.
class StandardArithmetic {
 public:
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

#if defined(__SSE2__)
  StandardArithmetic() : before_(__builtin_ia32_stmxcsr()) {
    if (differs()) __builtin_ia32_ldmxcsr(standard);
  }
  ~StandardArithmetic() {
    if (differs()) __builtin_ia32_ldmxcsr(before_);
  }

 private:
  static constexpr unsigned standard = 0x1f80;  ///< all exceptions masked, all else 0
  static constexpr unsigned flags = 0x3f;       ///< what has happened so far
  bool differs() const { return (before_ & ~flags) != standard; }

  unsigned before_;
#else
  StandardArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardArithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace anabranch::ir
