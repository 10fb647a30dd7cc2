#include "io/text/wide_lines.h"

#ifndef __clang__
// Of vectors that g++ 12's own header leaves without a value (its bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>

// Compiled for such processors only, whatever the rest is compiled for; nothing of it runs elsewhere.
#define ANABRANCH_WIDE __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")))

namespace anabranch::io::detail {

namespace {

/// Bits of the bytes that are in the block, of the 64 from `at` on.
ANABRANCH_WIDE inline __mmask64 bytes_there(std::int64_t at, std::int64_t size) {
  return size - at >= 64 ? ~__mmask64{0} : (__mmask64{1} << (size - at)) - 1;
}
ANABRANCH_WIDE inline __m512i load(const unsigned char* block, std::int64_t at, __mmask64 there) {
  return _mm512_maskz_loadu_epi8(there, block + at);
}
ANABRANCH_WIDE inline __mmask64 line_ends(__m512i bytes, __mmask64 there) {
  return _mm512_mask_cmpeq_epi8_mask(there, bytes, _mm512_set1_epi8('\n'));
}

/// Bits of CRs that belong to a line's end.
ANABRANCH_WIDE inline __mmask64 in_line_ends(__mmask64 returns, __mmask64 ends, const unsigned char* block,
                                             std::int64_t at, std::int64_t size, bool last_is_open) {
  __mmask64 out = returns & (ends >> 1);
  const std::int64_t next = at + 64;
  if (returns >> 63 != 0 && next < size && block[next] == '\n') out |= __mmask64{1} << 63;
  // Before an end that is not in the text it belongs to the line.
  const std::int64_t last = size - 2 - at;
  if (last_is_open && last >= 0 && last < 64) out &= ~(__mmask64{1} << last);
  return out;
}

/// The numbers `from` + those of bytes, as many as there are bits in `count`.
ANABRANCH_WIDE inline void store_offsets(__m512i numbers, int count, std::int32_t from,
                                         std::int32_t* offsets) {
  const __m512i base = _mm512_set1_epi32(from);
  for (int done = 0; done < count; done += 16) {
    const auto some = static_cast<__mmask16>(count - done >= 16 ? 0xffff : (1 << (count - done)) - 1);
    const __m512i wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(numbers));
    _mm512_mask_storeu_epi32(offsets + done, some, _mm512_add_epi32(wide, base));
    numbers = _mm512_alignr_epi64(numbers, numbers, 2);
  }
}

ANABRANCH_WIDE std::int64_t longest_of(const std::int32_t* offsets, std::int64_t items) {
  __m512i longest = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < items; i += 16) {
    const auto some = static_cast<__mmask16>(items - i >= 16 ? 0xffff : (1 << (items - i)) - 1);
    const __m512i begin = _mm512_maskz_loadu_epi32(some, offsets + i);
    longest =
        _mm512_max_epi32(longest, _mm512_sub_epi32(_mm512_maskz_loadu_epi32(some, offsets + i + 1), begin));
  }
  return _mm512_reduce_max_epi32(longest);
}

}  // namespace

bool has_wide_lines() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
}

ANABRANCH_WIDE TextCut cut_wide_lines(const unsigned char* block, std::int64_t size, std::int64_t most) {
  TextCut cut;
  for (std::int64_t at = 0; at < size; at += 64) {
    const __mmask64 there = bytes_there(at, size);
    const __mmask64 ends = line_ends(load(block, at, there), there);
    if (ends == 0) continue;
    const std::int64_t taken = std::min<std::int64_t>(_mm_popcnt_u64(ends), most - cut.items);
    if (taken <= 0) return cut;
    cut.items += taken;
    cut.bytes =
        at + static_cast<std::int64_t>(_tzcnt_u64(_pdep_u64(std::uint64_t{1} << (taken - 1), ends))) + 1;
    if (cut.items >= most) return cut;
  }
  return cut;
}

ANABRANCH_WIDE std::int64_t count_wide_line_ends(const unsigned char* block, std::int64_t size) {
  std::int64_t count = 0;
  for (std::int64_t at = 0; at < size; at += 64) {
    const __mmask64 there = bytes_there(at, size);
    count += _mm_popcnt_u64(line_ends(load(block, at, there), there));
  }
  return count;
}

ANABRANCH_WIDE std::int64_t pack_wide_lines(unsigned char* block, std::int64_t size, bool last_is_open,
                                            std::int32_t* offsets) {
  alignas(64) unsigned char positions[64];
  for (int i = 0; i < 64; ++i) positions[i] = static_cast<unsigned char>(i);
  const __m512i position = _mm512_load_si512(positions);
  std::int32_t* next = offsets;
  *next++ = 0;
  std::int64_t to = 0;
  for (std::int64_t at = 0; at < size; at += 64) {
    const __mmask64 there = bytes_there(at, size);
    const __m512i bytes = load(block, at, there);
    const __mmask64 ends = line_ends(bytes, there);
    const __mmask64 returns = _mm512_mask_cmpeq_epi8_mask(there, bytes, _mm512_set1_epi8('\r'));
    const int lines = static_cast<int>(_mm_popcnt_u64(ends));
    __mmask64 kept = there & ~ends;
    if (returns == 0) {
      // End k lies behind k others.
      const __m512i numbers = _mm512_sub_epi8(_mm512_maskz_compress_epi8(ends, position), position);
      store_offsets(numbers, lines, static_cast<std::int32_t>(to), next);
    } else {
      kept &= ~in_line_ends(returns, ends, block, at, size, last_is_open);
      __mmask64 left = ends;
      for (int k = 0; k < lines; ++k, left &= left - 1) {
        const __mmask64 before = (left & (0 - left)) - 1;
        next[k] = static_cast<std::int32_t>(to + _mm_popcnt_u64(kept & before));
      }
    }
    next += lines;
    // What is written is not beyond what has been read.
    const __m512i line_bytes = _mm512_maskz_compress_epi8(kept, bytes);
    _mm512_mask_storeu_epi8(block + to, there, line_bytes);
    to += _mm_popcnt_u64(kept);
  }
  return longest_of(offsets, next - offsets - 1);
}

}  // namespace anabranch::io::detail
