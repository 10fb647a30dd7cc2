#include "md5_peers.h"

#include <fcntl.h>
#include <immintrin.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "md5_targets.h"

namespace anabranch::bench {

namespace {

constexpr std::int64_t longest = 55;
constexpr std::int64_t block_bytes = 256 << 10, slack = 64 << 10;

struct Constants {
  std::array<std::uint32_t, 64> sine{};
  Constants() {
    for (std::size_t i = 0; i < 64; ++i)
      sine[i] = static_cast<std::uint32_t>(
          std::floor(std::ldexp(std::abs(std::sin(static_cast<double>(i) + 1)), 32)));
  }
};
const Constants& constants() {
  static const Constants all;
  return all;
}

/// `groups` vectors of 32-bit numbers, by the compiler's vectors.
template <int Lanes>
struct VectorOf {
  typedef std::uint32_t type __attribute__((vector_size(4 * Lanes)));  // NOLINT(modernize-use-using)
};
template <>
struct VectorOf<1> {
  using type = std::uint32_t;
};
template <int Lanes>
using Vector = typename VectorOf<Lanes>::type;

template <class V>
inline V rotated(V x, int by) {
  return (x << by) | (x >> (32 - by));
}

template <int Step, class V>
inline V mixed(V b, V c, V d) {
  if constexpr (Step < 16) return d ^ (b & (c ^ d));
  if constexpr (Step < 32) return c ^ (d & (b ^ c));
  if constexpr (Step < 48) return b ^ c ^ d;
  return c ^ (b | ~d);
}
template <int Step>
constexpr int input() {
  return Step < 16 ? Step : Step < 32 ? (5 * Step + 1) % 16 : Step < 48 ? (3 * Step + 5) % 16 : 7 * Step % 16;
}
constexpr std::array<std::array<int, 4>, 4> turns{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

/// The first number of the digest, which the last three steps do not change. Groups side by side, step by step.
template <int Lanes, int Groups>
inline void hash(const Vector<Lanes> (*m)[16], const std::uint32_t* sine, Vector<Lanes>* out) {
  using V = Vector<Lanes>;
  V a[Groups], b[Groups], c[Groups], d[Groups];
  for (int g = 0; g < Groups; ++g) {
    a[g] = V{} + 0x67452301u;
    b[g] = V{} + 0xefcdab89u;
    c[g] = V{} + 0x98badcfeu;
    d[g] = V{} + 0x10325476u;
  }
  const auto step = [&]<int S>(std::integral_constant<int, S>) {
    for (int g = 0; g < Groups; ++g) {
      const V next = b[g] + rotated<V>(a[g] + (m[g][input<S>()] + sine[S]) + mixed<S>(b[g], c[g], d[g]),
                                       turns[S / 16][S % 4]);
      a[g] = d[g];
      d[g] = c[g];
      c[g] = b[g];
      b[g] = next;
    }
  };
  [&]<int... S>(std::integer_sequence<int, S...>) {
    (step(std::integral_constant<int, S>{}), ...);
  }(std::make_integer_sequence<int, 61>{});
  // After step 61 b is what three more steps make a.
  for (int g = 0; g < Groups; ++g) out[g] = b[g] + 0x67452301u;
}

struct Line {
  std::uint32_t begin, size;
};

/// The message of a line: what follows the line in memory is masked out.
inline void fill_scalar(std::uint32_t* m, const unsigned char* text, Line line) {
  unsigned char bytes[64] = {};
  std::memcpy(bytes, text + line.begin, line.size);
  bytes[line.size] = 0x80;
  std::memcpy(m, bytes, 64);
  m[14] = line.size * 8;
}

#if defined(__AVX512F__)
inline void fill(Vector<16>* m, const unsigned char* text, const Line* lines) {
  alignas(64) std::uint32_t begins[16], sizes[16];
  for (int l = 0; l < 16; ++l) {
    begins[l] = lines[l].begin;
    sizes[l] = lines[l].size;
  }
  const __m512i begin = _mm512_load_si512(begins), size = _mm512_load_si512(sizes);
  const auto most = static_cast<int>(_mm512_reduce_max_epu32(size));
  for (int j = 0; j < 14; ++j) {
    __m512i word = _mm512_setzero_si512();
    if (4 * j <= most) {
      const __m512i at = _mm512_set1_epi32(4 * j);
      const __mmask16 there = _mm512_cmple_epu32_mask(at, size);
      word = _mm512_mask_i32gather_epi32(word, there, _mm512_add_epi32(begin, at), text, 1);
      // Of the last word, what is no part of the line goes, and a bit marks the end.
      const __m512i left = _mm512_sub_epi32(size, at);
      const __mmask16 last = there & _mm512_cmplt_epu32_mask(left, _mm512_set1_epi32(4));
      const __m512i bits = _mm512_slli_epi32(left, 3);
      const __m512i end = _mm512_sllv_epi32(_mm512_set1_epi32(0x80), bits);
      const __m512i low =
          _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), bits), _mm512_set1_epi32(1));
      word = _mm512_mask_or_epi32(word, last, _mm512_and_si512(word, low), end);
    }
    m[j] = (Vector<16>)word;
  }
  m[14] = (Vector<16>)_mm512_slli_epi32(size, 3);
  m[15] = Vector<16>{};
}
#endif
#if defined(__AVX2__)
inline void fill(Vector<8>* m, const unsigned char* text, const Line* lines) {
  alignas(32) std::uint32_t begins[8], sizes[8];
  std::uint32_t most = 0;
  for (int l = 0; l < 8; ++l) {
    begins[l] = lines[l].begin;
    sizes[l] = lines[l].size;
    most = std::max(most, sizes[l]);
  }
  const __m256i begin = _mm256_load_si256(reinterpret_cast<const __m256i*>(begins));
  const __m256i size = _mm256_load_si256(reinterpret_cast<const __m256i*>(sizes));
  for (int j = 0; j < 14; ++j) {
    __m256i word = _mm256_setzero_si256();
    if (4 * j <= static_cast<int>(most)) {
      const __m256i at = _mm256_set1_epi32(4 * j), left = _mm256_sub_epi32(size, at);
      const __m256i there = _mm256_cmpgt_epi32(left, _mm256_set1_epi32(-1));
      word = _mm256_mask_i32gather_epi32(word, reinterpret_cast<const int*>(text),
                                         _mm256_add_epi32(begin, at), there, 1);
      const __m256i last = _mm256_and_si256(there, _mm256_cmpgt_epi32(_mm256_set1_epi32(4), left));
      const __m256i bits = _mm256_slli_epi32(left, 3);
      const __m256i end = _mm256_sllv_epi32(_mm256_set1_epi32(0x80), bits);
      const __m256i low =
          _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), bits), _mm256_set1_epi32(1));
      word = _mm256_blendv_epi8(word, _mm256_or_si256(_mm256_and_si256(word, low), end), last);
    }
    m[j] = (Vector<8>)word;
  }
  m[14] = (Vector<8>)_mm256_slli_epi32(size, 3);
  m[15] = Vector<8>{};
}
#endif

template <int Lanes, int Groups>
std::int64_t matches(const unsigned char* text, std::vector<Line>& lines, const Md5Targets& targets) {
  const std::uint32_t* const sine = constants().sine.data();
  std::int64_t found = 0;
  if constexpr (Lanes == 1) {
    for (const Line& line : lines) {
      Vector<1> m[1][16];
      fill_scalar(m[0], text, line);
      Vector<1> first[1];
      hash<1, 1>(m, sine, first);
      found += targets.has(first[0]) ? 1 : 0;
    }
  } else {
    const std::size_t count = lines.size();
    while (lines.size() % (Lanes * Groups) != 0) lines.push_back(lines.back());
    for (std::size_t i = 0; i < lines.size(); i += Lanes * Groups) {
      Vector<Lanes> m[Groups][16], first[Groups];
      for (std::size_t g = 0; g < Groups; ++g) fill(m[g], text, lines.data() + i + g * Lanes);
      hash<Lanes, Groups>(m, sine, first);
      for (std::size_t g = 0; g < Groups; ++g) {
        std::uint64_t any = 0;
#if defined(__AVX512F__)
        if constexpr (Lanes == 16) {
          const auto v = (__m512i)first[g];
          const __m512i bit = _mm512_and_si512(v, _mm512_set1_epi32(static_cast<int>(targets.mask)));
          const __m512i word = _mm512_i32gather_epi32(_mm512_srli_epi32(bit, 5), targets.bits.data(), 4);
          any = _mm512_test_epi32_mask(
              word, _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(bit, _mm512_set1_epi32(31))));
        }
#endif
        if constexpr (Lanes == 8)
          for (int l = 0; l < Lanes; ++l) any |= std::uint64_t{targets.marked(first[g][l])} << l;
        for (; any != 0; any &= any - 1) {
          const int lane = std::countr_zero(any);
          const std::size_t line = i + g * Lanes + static_cast<std::size_t>(lane);
          found += line < count && targets.has(first[g][lane]) ? 1 : 0;
        }
      }
    }
  }
  return found;
}

/// Lines that begin in [0, end) of text that goes on behind it.
void find_lines(const unsigned char* text, std::int64_t begin, std::int64_t end, std::int64_t size,
                std::vector<Line>& lines) {
  lines.clear();
  std::int64_t line = begin;
  const auto add = [&](std::int64_t at) {
    std::int64_t bytes = at - line;
    if (bytes > 0 && text[at - 1] == '\r') --bytes;
    if (bytes <= longest)
      lines.push_back({static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(bytes)});
    line = at + 1;
  };
  std::int64_t at = begin;
  while (line < end && at < size) {
#if defined(__AVX512BW__)
    if (at + 64 <= size) {
      std::uint64_t ends = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text + at), _mm512_set1_epi8('\n'));
      for (; ends != 0 && line < end; ends &= ends - 1) add(at + std::countr_zero(ends));
      at += 64;
      continue;
    }
#endif
    if (text[at] == '\n') add(at);
    ++at;
  }
  if (line < end && line < size) add(size);
}

using Matches = std::int64_t (*)(const unsigned char*, std::vector<Line>&, const Md5Targets&);

std::int64_t attack(const std::string& path, const Md5Targets& targets, int threads, Matches of_lines) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error(path + ": cannot be opened");
  struct stat facts{};
  ::fstat(file, &facts);
  std::atomic<std::int64_t> next = 0, found = 0;
  const auto work = [&] {
    // The byte before a block tells whether a line begins with it; behind it its last line ends.
    std::vector<unsigned char> text(static_cast<std::size_t>(block_bytes + slack + 128));
    std::vector<Line> lines;
    std::int64_t mine = 0;
    for (;;) {
      const std::int64_t begin = next.fetch_add(block_bytes);
      if (begin >= facts.st_size) break;
      const std::int64_t from = std::max<std::int64_t>(begin - 1, 0);
      const std::int64_t size =
          ::pread(file, text.data(), static_cast<std::size_t>(block_bytes + slack), from);
      std::int64_t first = begin - from;
      if (first > 0 && text[0] != '\n')
        while (first < size && text[static_cast<std::size_t>(first) - 1] != '\n') ++first;
      find_lines(text.data(), first, std::min(begin - from + block_bytes, size), size, lines);
      if (!lines.empty()) mine += of_lines(text.data(), lines, targets);
    }
    found += mine;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  ::close(file);
  return found;
}

}  // namespace

bool has_md5_way(Md5Way way) {
  switch (way) {
    case Md5Way::scalar:
      return true;
    case Md5Way::avx2:
#if defined(__AVX2__)
      return true;
#else
      return false;
#endif
    case Md5Way::avx512:
    case Md5Way::avx512x4:
#if defined(__AVX512F__) && defined(__AVX512BW__)
      return true;
#else
      return false;
#endif
  }
  return false;
}

std::int64_t md5_matches(const std::string& file, const std::vector<std::uint32_t>& firsts, Md5Way way,
                         int threads) {
  const Md5Targets targets(firsts);
  switch (way) {
    case Md5Way::scalar:
      break;
    case Md5Way::avx2:
#if defined(__AVX2__)
      return attack(file, targets, threads, matches<8, 1>);
#endif
      break;
    case Md5Way::avx512:
#if defined(__AVX512F__)
      return attack(file, targets, threads, matches<16, 1>);
#endif
      break;
    case Md5Way::avx512x4:
#if defined(__AVX512F__)
      return attack(file, targets, threads, matches<16, 4>);
#endif
      break;
  }
  return attack(file, targets, threads, matches<1, 1>);
}

}  // namespace anabranch::bench
