#include "ir/transcendental.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <anabranch/error.h>

namespace anabranch::ir {

namespace {

/// One routine at one vector width. `call` takes and gives `lanes` values in memory and moves them through
/// the vector register that the routine expects; generated code calls the address itself.
struct Variant {
  const char* symbol;
  int lanes;
  void (*call)(const void* routine, void* values);
};

template <class T>
void call_scalar(const void* routine, void* values) {
  T* value = static_cast<T*>(values);
  *value = reinterpret_cast<T (*)(T)>(const_cast<void*>(routine))(*value);
}

#if defined(__x86_64__)
// A vector argument travels in a register only where the function that passes it is compiled for that width:
// hence one function per width with its own target. (The routines keep to the vector calling convention,
// which here is the ordinary one.)
__attribute__((target("avx512f"))) void call_16f(const void* routine, void* values) {
  const __m512 in = _mm512_loadu_ps(values);
  _mm512_storeu_ps(values, reinterpret_cast<__m512 (*)(__m512)>(const_cast<void*>(routine))(in));
}
__attribute__((target("avx512f"))) void call_8d(const void* routine, void* values) {
  const __m512d in = _mm512_loadu_pd(values);
  _mm512_storeu_pd(values, reinterpret_cast<__m512d (*)(__m512d)>(const_cast<void*>(routine))(in));
}
__attribute__((target("avx2"))) void call_8f(const void* routine, void* values) {
  const __m256 in = _mm256_loadu_ps(static_cast<const float*>(values));
  _mm256_storeu_ps(static_cast<float*>(values),
                   reinterpret_cast<__m256 (*)(__m256)>(const_cast<void*>(routine))(in));
}
__attribute__((target("avx2"))) void call_4d(const void* routine, void* values) {
  const __m256d in = _mm256_loadu_pd(static_cast<const double*>(values));
  _mm256_storeu_pd(static_cast<double*>(values),
                   reinterpret_cast<__m256d (*)(__m256d)>(const_cast<void*>(routine))(in));
}
void call_4f(const void* routine, void* values) {
  const __m128 in = _mm_loadu_ps(static_cast<const float*>(values));
  _mm_storeu_ps(static_cast<float*>(values),
                reinterpret_cast<__m128 (*)(__m128)>(const_cast<void*>(routine))(in));
}
void call_2d(const void* routine, void* values) {
  const __m128d in = _mm_loadu_pd(static_cast<const double*>(values));
  _mm_storeu_pd(static_cast<double*>(values),
                reinterpret_cast<__m128d (*)(__m128d)>(const_cast<void*>(routine))(in));
}
#endif

/// Everything known about one numbered routine: its vector variants, widest first, and libm's function.
struct Family {
  Primitive primitive;
  ScalarType type;
  std::array<Variant, 3> vectors;
  Variant scalar;
  const void* scalar_address;
};

template <class T>
const void* address_of(T (*function)(T)) {
  return reinterpret_cast<const void*>(function);
}

Family float_family(Primitive primitive, const char* e, const char* d, const char* b, const char* name,
                    float (*function)(float)) {
#if defined(__x86_64__)
  return {primitive,
          ScalarType::float32,
          {{{e, 16, call_16f}, {d, 8, call_8f}, {b, 4, call_4f}}},
          {name, 1, call_scalar<float>},
          address_of(function)};
#else
  return {primitive, ScalarType::float32, {}, {name, 1, call_scalar<float>}, address_of(function)};
#endif
}

Family double_family(Primitive primitive, const char* e, const char* d, const char* b, const char* name,
                     double (*function)(double)) {
#if defined(__x86_64__)
  return {primitive,
          ScalarType::float64,
          {{{e, 8, call_8d}, {d, 4, call_4d}, {b, 2, call_2d}}},
          {name, 1, call_scalar<double>},
          address_of(function)};
#else
  return {primitive, ScalarType::float64, {}, {name, 1, call_scalar<double>}, address_of(function)};
#endif
}

/// The order of this list is the numbering. New routines are appended: numbers are part of cached kernels.
const auto& families() {
  using enum Primitive;
  static const std::array<Family, 8> list{
      float_family(exponential, "_ZGVeN16v_expf", "_ZGVdN8v_expf", "_ZGVbN4v_expf", "expf", ::expf),
      double_family(exponential, "_ZGVeN8v_exp", "_ZGVdN4v_exp", "_ZGVbN2v_exp", "exp", ::exp),
      float_family(logarithm, "_ZGVeN16v_logf", "_ZGVdN8v_logf", "_ZGVbN4v_logf", "logf", ::logf),
      double_family(logarithm, "_ZGVeN8v_log", "_ZGVdN4v_log", "_ZGVbN2v_log", "log", ::log),
      float_family(sine, "_ZGVeN16v_sinf", "_ZGVdN8v_sinf", "_ZGVbN4v_sinf", "sinf", ::sinf),
      double_family(sine, "_ZGVeN8v_sin", "_ZGVdN4v_sin", "_ZGVbN2v_sin", "sin", ::sin),
      float_family(cosine, "_ZGVeN16v_cosf", "_ZGVdN8v_cosf", "_ZGVbN4v_cosf", "cosf", ::cosf),
      double_family(cosine, "_ZGVeN8v_cos", "_ZGVdN4v_cos", "_ZGVbN2v_cos", "cos", ::cos),
  };
  static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(list)>> <= routine_count);
  return list;
}

/// Index of the widest variant this processor (and its operating system) runs; 3 = none.
std::size_t widest_variant() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return 0;
  if (__builtin_cpu_supports("avx2")) return 1;
  return 2;
#else
  return 3;
#endif
}

class Routines {
 public:
  Routines() {
    // Never closed: generated code and this table point into it as long as the process lives.
    void* library = ::dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    const std::size_t widest = widest_variant();
    for (std::size_t number = 0; number < families().size(); ++number) {
      const Family& family = families()[number];
      const Variant* variant = nullptr;
      const void* address = nullptr;
      for (std::size_t v = widest; library && !address && v < family.vectors.size(); ++v) {
        variant = &family.vectors[v];
        address = ::dlsym(library, variant->symbol);
      }
      if (!address) {
        variant = &family.scalar;
        address = family.scalar_address;
      }
      routines_[number] = {address, variant->lanes, variant->symbol};
      calls_[number] = variant->call;
      table_[number] = address;
    }
  }

  const Routine& at(int number) const { return routines_[static_cast<std::size_t>(number)]; }
  const void* const* table() const { return table_.data(); }

  template <class T>
  T evaluate(Primitive primitive, ScalarType type, T x) const {
    const int number = routine_number(primitive, type);
    if (number < 0) throw InternalError("not a library routine: " + std::string(info(primitive).name));
    // The idle lanes hold the same value, so that they can neither raise flags nor take a slower path of
    // their own.
    std::array<T, 16> lanes;
    lanes.fill(x);
    calls_[static_cast<std::size_t>(number)](at(number).address, lanes.data());
    return lanes[0];
  }

 private:
  std::array<Routine, routine_count> routines_{};
  std::array<void (*)(const void*, void*), routine_count> calls_{};
  std::array<const void*, routine_count> table_{};
};

const Routines& routines() {
  static const Routines resolved;
  return resolved;
}

}  // namespace

int routine_number(Primitive primitive, ScalarType type) {
  const auto& list = families();
  const auto found = std::find_if(list.begin(), list.end(), [&](const Family& family) {
    return family.primitive == primitive && family.type == type;
  });
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

const Routine& routine(int number) { return routines().at(number); }
const void* const* routine_table() { return routines().table(); }

float evaluate(Primitive primitive, float x) {
  return routines().evaluate(primitive, ScalarType::float32, x);
}
double evaluate(Primitive primitive, double x) {
  return routines().evaluate(primitive, ScalarType::float64, x);
}

}  // namespace anabranch::ir
