#include "md5_numbers.h"

#include <immintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <thread>
#include <utility>

#include "md5_targets.h"

#ifdef __AVX512F__
// What <immintrin.h> leaves undefined on purpose, g++ 12 calls uninitialised (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace anabranch::bench {

namespace {

/// Candidates that share all letters but the first four.
constexpr std::int64_t block = 1 << 16;

// ---- Lanes: one number, eight of AVX2, sixteen of AVX-512 ---------------------------------------------------

struct Scalar {
  using Vector = std::uint32_t;
  static constexpr int lanes = 1;
  static Vector all(std::uint32_t x) { return x; }
  static Vector plus(Vector a, Vector b) { return a + b; }
  template <int By>
  static Vector rotated(Vector x) {
    return std::rotl(x, By);
  }
  static Vector chosen(Vector b, Vector c, Vector d) { return d ^ (b & (c ^ d)); }
  static Vector odd(Vector b, Vector c, Vector d) { return b ^ c ^ d; }
  static Vector last_mix(Vector b, Vector c, Vector d) { return c ^ (b | ~d); }
  static Vector lane_numbers() { return 0; }
  static unsigned marked(Vector first, const Md5Targets& targets) { return targets.marked(first) ? 1 : 0; }
  static void store(std::uint32_t* to, Vector x) { *to = x; }
};

#if defined(__AVX2__)
struct Avx2 {
  using Vector = __m256i;
  static constexpr int lanes = 8;
  static Vector all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector plus(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  template <int By>
  static Vector rotated(Vector x) {
    return _mm256_or_si256(_mm256_slli_epi32(x, By), _mm256_srli_epi32(x, 32 - By));
  }
  static Vector chosen(Vector b, Vector c, Vector d) {
    return _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d)));
  }
  static Vector odd(Vector b, Vector c, Vector d) { return _mm256_xor_si256(b, _mm256_xor_si256(c, d)); }
  static Vector last_mix(Vector b, Vector c, Vector d) {
    return _mm256_xor_si256(c, _mm256_or_si256(b, _mm256_xor_si256(d, all(~0U))));
  }
  static Vector lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static unsigned marked(Vector first, const Md5Targets& targets) {
    const Vector bit = _mm256_and_si256(first, all(targets.mask));
    const Vector word = _mm256_i32gather_epi32(reinterpret_cast<const int*>(targets.bits.data()),
                                               _mm256_srli_epi32(bit, 5), 4);
    // The bit that is looked for becomes the sign: those above it leave.
    const Vector sign = _mm256_sllv_epi32(word, _mm256_andnot_si256(bit, all(31)));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(sign)));
  }
  static void store(std::uint32_t* to, Vector x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x); }
};
#endif

#if defined(__AVX512F__)
struct Avx512 {
  using Vector = __m512i;
  static constexpr int lanes = 16;
  static Vector all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector plus(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  template <int By>
  static Vector rotated(Vector x) {
    return _mm512_rol_epi32(x, By);
  }
  // Bit 4 b + 2 c + d of the last argument is what the function gives of three bits.
  static Vector chosen(Vector b, Vector c, Vector d) { return _mm512_ternarylogic_epi32(b, c, d, 0xca); }
  static Vector odd(Vector b, Vector c, Vector d) { return _mm512_ternarylogic_epi32(b, c, d, 0x96); }
  static Vector last_mix(Vector b, Vector c, Vector d) { return _mm512_ternarylogic_epi32(b, c, d, 0x39); }
  static Vector lane_numbers() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  static unsigned marked(Vector first, const Md5Targets& targets) {
    const Vector bit = _mm512_and_si512(first, all(targets.mask));
    const Vector word = _mm512_i32gather_epi32(_mm512_srli_epi32(bit, 5), targets.bits.data(), 4);
    return _mm512_test_epi32_mask(word, _mm512_sllv_epi32(all(1), _mm512_and_si512(bit, all(31))));
  }
  static void store(std::uint32_t* to, Vector x) { _mm512_storeu_si512(to, x); }
};
#endif

// ---- The hash -----------------------------------------------------------------------------------------------

constexpr std::array<std::uint32_t, 4> start{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
/// 2^32 |sin(step + 1)|, rounded down: the table of RFC 1321.
constexpr std::array<std::uint32_t, 64> sine{
    {0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
     0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
     0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
     0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
     0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
     0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
     0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
     0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391}};
constexpr std::array<std::array<int, 4>, 4> turns{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
/// Of a message of eight bytes all words but the first two, which are letters.
constexpr std::array<std::uint32_t, 16> message{0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};

constexpr int word_of(int step) {
  return step < 16 ? step : step < 32 ? (5 * step + 1) % 16 : step < 48 ? (3 * step + 5) % 16 : 7 * step % 16;
}

template <class Lanes, int Step>
typename Lanes::Vector mixed(typename Lanes::Vector b, typename Lanes::Vector c, typename Lanes::Vector d) {
  if constexpr (Step < 16) return Lanes::chosen(b, c, d);
  if constexpr (Step >= 16 && Step < 32) return Lanes::chosen(d, b, c);
  if constexpr (Step >= 32 && Step < 48) return Lanes::odd(b, c, d);
  if constexpr (Step >= 48) return Lanes::last_mix(b, c, d);
}

/// What each step adds of the message and of the table, but for the first four letters.
using Inputs = std::array<std::uint32_t, 64>;
Inputs inputs_of(std::uint32_t next_letters) {
  Inputs inputs = sine;
  for (int step = 0; step < 64; ++step) {
    const int word = word_of(step);
    inputs[static_cast<std::size_t>(step)] +=
        word == 1 ? next_letters : message[static_cast<std::size_t>(word)];
  }
  return inputs;
}

/// Groups of lanes side by side.
template <class Lanes, int Groups>
struct Vectors {
  typename Lanes::Vector group[Groups];
  static Vectors all(std::uint32_t x) {
    Vectors out;
    for (auto& group : out.group) group = Lanes::all(x);
    return out;
  }
};

/// The digests' first 32 bits, of all groups step by step. The last three steps do not change them.
template <class Lanes, int Groups>
Vectors<Lanes, Groups> hashes(const Vectors<Lanes, Groups>& letters, const Inputs& inputs) {
  using All = Vectors<Lanes, Groups>;
  All a = All::all(start[0]), b = All::all(start[1]), c = All::all(start[2]), d = All::all(start[3]);
  const auto step = [&]<int Step>(std::integral_constant<int, Step>) {
    const auto input = Lanes::all(inputs[Step]);
    for (int g = 0; g < Groups; ++g) {
      const auto b_here = b.group[g], c_here = c.group[g], d_here = d.group[g];
      auto sum = Lanes::plus(a.group[g], input);
      if constexpr (word_of(Step) == 0) sum = Lanes::plus(sum, letters.group[g]);
      sum = Lanes::plus(sum, mixed<Lanes, Step>(b_here, c_here, d_here));
      a.group[g] = d_here;
      d.group[g] = c_here;
      c.group[g] = b_here;
      b.group[g] = Lanes::plus(b_here, Lanes::template rotated<turns[Step / 16][Step % 4]>(sum));
    }
  };
  [&]<int... Step>(std::integer_sequence<int, Step...>) {
    (step(std::integral_constant<int, Step>{}), ...);
  }(std::make_integer_sequence<int, 61>{});
  for (auto& first : b.group) first = Lanes::plus(first, Lanes::all(start[0]));
  return b;
}

/// Four letters of sixteen bits.
std::uint32_t letters_of(std::uint32_t bits) {
  const std::uint32_t pairs = (bits | bits << 8) & 0x00ff00ff;
  return ((pairs | pairs << 4) & 0x0f0f0f0f) + 0x61616161;
}

// ---- The attack ---------------------------------------------------------------------------------------------

/// Of the candidates `number` and behind it, as many as there are lanes. Their numbers differ in four bits: in the first letter.
template <class Lanes, int Groups>
std::int64_t matches_at(std::uint32_t number, const Inputs& inputs, const Md5Targets& targets) {
  Vectors<Lanes, Groups> letters;
  for (int g = 0; g < Groups; ++g) {
    const std::uint32_t first = number + static_cast<std::uint32_t>(g * Lanes::lanes);
    letters.group[g] = Lanes::plus(Lanes::all(letters_of(first)), Lanes::lane_numbers());
  }
  const auto firsts = hashes<Lanes, Groups>(letters, inputs);
  std::int64_t found = 0;
  for (const auto& group : firsts.group) {
    unsigned any = Lanes::marked(group, targets);
    if (any == 0) continue;
    std::array<std::uint32_t, Lanes::lanes> each;
    Lanes::store(each.data(), group);
    for (; any != 0; any &= any - 1)
      found += targets.has(each[static_cast<std::size_t>(std::countr_zero(any))]) ? 1 : 0;
  }
  return found;
}

template <class Lanes, int Groups>
std::int64_t matches_in_block(std::uint32_t high_bits, const Md5Targets& targets) {
  constexpr std::uint32_t side_by_side = Lanes::lanes * Groups;
  const Inputs inputs = inputs_of(letters_of(high_bits));
  std::int64_t found = 0;
  std::uint32_t number = 0;
  for (; number + side_by_side <= block; number += side_by_side)
    found += matches_at<Lanes, Groups>(number, inputs, targets);
  for (; number < block; number += Lanes::lanes) found += matches_at<Lanes, 1>(number, inputs, targets);
  return found;
}

using MatchesInBlock = std::int64_t (*)(std::uint32_t, const Md5Targets&);

std::int64_t attack(std::int64_t count, const Md5Targets& targets, int threads, MatchesInBlock in_block) {
  std::atomic<std::int64_t> next = 0, found = 0;
  const auto work = [&] {
    std::int64_t mine = 0;
    for (std::int64_t at = next++; at < count / block; at = next++)
      mine += in_block(static_cast<std::uint32_t>(at), targets);
    found += mine;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return found;
}

/// Null where the processor has no such vectors.
MatchesInBlock matches_by(Md5NumbersWay way) {
  switch (way) {
    case Md5NumbersWay::scalar:
      return matches_in_block<Scalar, 1>;
    case Md5NumbersWay::avx2:
#if defined(__AVX2__)
      return matches_in_block<Avx2, 2>;
#endif
      break;
    case Md5NumbersWay::avx512x4:
#if defined(__AVX512F__)
      return matches_in_block<Avx512, 4>;
#endif
      break;
    case Md5NumbersWay::avx512x5:
#if defined(__AVX512F__)
      return matches_in_block<Avx512, 5>;
#endif
      break;
  }
  return nullptr;
}

}  // namespace

bool has_md5_numbers_way(Md5NumbersWay way) { return matches_by(way) != nullptr; }

std::uint32_t md5_of_number(std::uint32_t number) {
  return hashes<Scalar, 1>({{letters_of(number & 0xffff)}}, inputs_of(letters_of(number >> 16))).group[0];
}

std::int64_t md5_number_matches(std::int64_t count, const std::vector<std::uint32_t>& firsts,
                                Md5NumbersWay way, int threads) {
  return attack(count, Md5Targets(firsts), threads, matches_by(way));
}

}  // namespace anabranch::bench
