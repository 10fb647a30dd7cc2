#include "io/base/csr_check.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace anabranch::io::detail {

namespace {

// The loops are written on vectors of 32 bytes (the width of AVX2; wider ones go through memory where they
// must be split), so that they are vector code at every optimisation level; each is compiled twice, and the
// processor chooses.
#define ANABRANCH_ALWAYS_INLINE [[gnu::always_inline]] inline
constexpr std::size_t vector_bytes = 32;

/// The largest of p[0..n) read as unsigned: one comparison then answers for negative and too large alike.
template <class U>
ANABRANCH_ALWAYS_INLINE U largest(const U* p, std::int64_t n) {
  using V [[gnu::vector_size(vector_bytes)]] = U;
  constexpr std::int64_t lanes = vector_bytes / sizeof(U);
  V a{}, b{}, c{}, d{};
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    V x, y, z, w;
    std::memcpy(&x, p + i, sizeof x);
    std::memcpy(&y, p + i + lanes, sizeof y);
    std::memcpy(&z, p + i + 2 * lanes, sizeof z);
    std::memcpy(&w, p + i + 3 * lanes, sizeof w);
    a = a > x ? a : x;
    b = b > y ? b : y;
    c = c > z ? c : z;
    d = d > w ? d : w;
  }
  a = a > b ? a : b;
  c = c > d ? c : d;
  a = a > c ? a : c;
  U m = 0;
  for (std::int64_t j = 0; j < lanes; ++j)
    if (a[j] > m) m = a[j];
  for (; i < n; ++i)
    if (p[i] > m) m = p[i];
  return m;
}

/// Whether some p[i] < p[i - 1], 1 <= i < n.
template <class S>
ANABRANCH_ALWAYS_INLINE bool decreases(const S* p, std::int64_t n) {
  using V [[gnu::vector_size(vector_bytes)]] = S;
  constexpr std::int64_t lanes = vector_bytes / sizeof(S);
  V bad{};
  std::int64_t i = 1;
  for (; i + lanes <= n; i += lanes) {
    V x, y;
    std::memcpy(&x, p + i - 1, sizeof x);
    std::memcpy(&y, p + i, sizeof y);
    bad |= (y < x);
  }
  bool any = false;
  for (std::int64_t j = 0; j < lanes; ++j) any |= bad[j] != 0;
  for (; i < n; ++i) any |= p[i] < p[i - 1];
  return any;
}

#if defined(__x86_64__)
#define ANABRANCH_AVX2 [[gnu::target("avx2")]]
ANABRANCH_AVX2 std::uint32_t largest_avx2(const std::uint32_t* p, std::int64_t n) { return largest(p, n); }
ANABRANCH_AVX2 std::uint64_t largest_avx2(const std::uint64_t* p, std::int64_t n) { return largest(p, n); }
ANABRANCH_AVX2 bool decreases_avx2(const std::int32_t* p, std::int64_t n) { return decreases(p, n); }
ANABRANCH_AVX2 bool decreases_avx2(const std::int64_t* p, std::int64_t n) { return decreases(p, n); }

bool has_avx2() {
  static const bool answer = __builtin_cpu_supports("avx2");
  return answer;
}
#endif

template <class U>
U largest_here(const U* p, std::int64_t n) {
#if defined(__x86_64__)
  if (has_avx2()) return largest_avx2(p, n);
#endif
  return largest(p, n);
}

template <class S>
bool decreases_here(const S* p, std::int64_t n) {
#if defined(__x86_64__)
  if (has_avx2()) return decreases_avx2(p, n);
#endif
  return decreases(p, n);
}

template <class S>
std::int64_t find_decrease(const S* p, std::int64_t n, S before) {
  if (n == 0) return 0;
  if (p[0] < before) return 0;
  if (!decreases_here(p, n)) return n;
  std::int64_t i = 1;
  while (p[i] >= p[i - 1]) ++i;
  return i;
}

template <class S>
std::int64_t find_outside(const S* p, std::int64_t n, std::int64_t bound) {
  using U = std::make_unsigned_t<S>;
  if (n == 0) return 0;
  const auto* u = reinterpret_cast<const U*>(p);
  // 32-bit columns of a matrix wider than 2^31: only a negative one is out of range.
  const std::uint64_t positive = std::uint64_t{1} << (8 * sizeof(S) - 1);
  if (largest_here(u, n) < std::min(static_cast<std::uint64_t>(bound), positive)) return n;
  for (std::int64_t i = 0; i < n; ++i)
    if (p[i] < 0 || p[i] >= bound) return i;
  return n;
}

}  // namespace

std::int64_t first_decrease(const std::int32_t* p, std::int64_t n, std::int32_t before) {
  return find_decrease(p, n, before);
}
std::int64_t first_decrease(const std::int64_t* p, std::int64_t n, std::int64_t before) {
  return find_decrease(p, n, before);
}
std::int64_t first_outside(const std::int32_t* p, std::int64_t n, std::int64_t bound) {
  return find_outside(p, n, bound);
}
std::int64_t first_outside(const std::int64_t* p, std::int64_t n, std::int64_t bound) {
  return find_outside(p, n, bound);
}

}  // namespace anabranch::io::detail
