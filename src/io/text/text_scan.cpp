#include "io/text/text_scan.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "io/text/wide_lines.h"

namespace anabranch::io::detail {

namespace {

/// 64 bytes at once: a bit for each of which something holds. SSE2 is in every x86-64.
template <class Test>
std::uint64_t bits_of(const unsigned char* at, Test test) {
  std::uint64_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + part);
    bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(test(bytes)))} << (16 * part);
  }
  return bits;
}
std::uint64_t line_ends(const unsigned char* at) {
  return bits_of(at, [](__m128i bytes) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')); });
}
std::uint64_t white_space(const unsigned char* at) {
  return bits_of(at, [](__m128i bytes) {
    const __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));  // up to CR: 0 to 4
    return _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                        _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8(4)), from_tab));
  });
}

/// Calls f(first, bits, those that there are) for each 64 bytes until it says no.
template <class Bits, class F>
void each_word(const unsigned char* block, std::int64_t size, Bits bits, F f) {
  std::int64_t at = 0;
  for (; at + 64 <= size; at += 64)
    if (!f(at, bits(block + at), ~std::uint64_t{0})) return;
  if (at == size) return;
  unsigned char rest[64] = {};
  std::memcpy(rest, block + at, static_cast<std::size_t>(size - at));
  const std::uint64_t there = (std::uint64_t{1} << (size - at)) - 1;
  f(at, bits(rest) & there, there);
}

/// Where the n-th of the bits is, from 0 on.
int position_of(std::uint64_t bits, std::int64_t n) {
  for (; n > 0; --n) bits &= bits - 1;
  return std::countr_zero(bits);
}

/// Ends of items, as bits: of words, white space behind something else.
struct Ends {
  TextItems kind;
  std::uint64_t before = 1;  ///< was the byte before the 64 white space?

  std::uint64_t of(std::uint64_t bits) {
    if (kind == TextItems::lines) return bits;
    const std::uint64_t behind = (bits << 1) | before;
    before = bits >> 63;
    return bits & ~behind;
  }
};

auto separators(TextItems kind) { return kind == TextItems::lines ? line_ends : white_space; }

class Packer {
 public:
  Packer(unsigned char* block, std::int32_t* offsets) : block_(block), offsets_(offsets) { *offsets_++ = 0; }

  void add(std::int64_t begin, std::int64_t end) {
    const std::int64_t length = end - begin;
    if (to_ != begin) std::memmove(block_ + to_, block_ + begin, static_cast<std::size_t>(length));
    to_ += length;
    *offsets_++ = static_cast<std::int32_t>(to_);
    longest_ = std::max(longest_, length);
  }
  std::int64_t longest() const { return longest_; }

 private:
  unsigned char* block_;
  std::int32_t* offsets_;
  std::int64_t to_ = 0, longest_ = 0;
};

}  // namespace

std::int64_t pack_plain_lines(unsigned char* block, std::int64_t size, bool last_is_open,
                              std::int32_t* offsets) {
  Packer packer(block, offsets);
  std::int64_t begin = 0;
  each_word(block, size, line_ends, [&](std::int64_t at, std::uint64_t bits, std::uint64_t) {
    for (; bits != 0; bits &= bits - 1) {
      const std::int64_t end = at + std::countr_zero(bits);
      const bool carriage_return =
          end > begin && block[end - 1] == '\r' && !(last_is_open && end + 1 == size);
      packer.add(begin, end - (carriage_return ? 1 : 0));
      begin = end + 1;
    }
    return true;
  });
  return packer.longest();
}

namespace {

std::int64_t pack_words(unsigned char* block, std::int64_t size, std::int32_t* offsets) {
  Packer packer(block, offsets);
  std::int64_t begin = -1;  // of the word that has not ended
  std::uint64_t before = 1;
  each_word(block, size, white_space, [&](std::int64_t at, std::uint64_t space, std::uint64_t there) {
    // Where words and spaces begin, in turn.
    std::uint64_t changes = (space ^ ((space << 1) | before)) & there;
    for (; changes != 0; changes &= changes - 1) {
      const std::int64_t here = at + std::countr_zero(changes);
      if (begin < 0) {
        begin = here;
      } else {
        packer.add(begin, here);
        begin = -1;
      }
    }
    before = space >> 63;
    return true;
  });
  return packer.longest();
}

}  // namespace

bool is_white_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

TextCut cut_plain_text(TextItems kind, const unsigned char* block, std::int64_t size, std::int64_t most) {
  TextCut cut;
  if (most <= 0) return cut;
  Ends ends{kind};
  each_word(block, size, separators(kind), [&](std::int64_t at, std::uint64_t bits, std::uint64_t) {
    const std::uint64_t found = ends.of(bits);
    const std::int64_t here = std::popcount(found);
    if (here == 0) return true;
    const std::int64_t taken = std::min(here, most - cut.items);
    cut.items += taken;
    cut.bytes = at + position_of(found, taken - 1) + 1;
    return cut.items < most;
  });
  if (cut.items == 0 && kind == TextItems::words)
    while (cut.bytes < size && is_white_space(block[cut.bytes])) ++cut.bytes;
  return cut;
}

std::int64_t count_plain_line_ends(const unsigned char* block, std::int64_t size) {
  std::int64_t count = 0;
  each_word(block, size, line_ends, [&](std::int64_t, std::uint64_t bits, std::uint64_t) {
    count += std::popcount(bits);
    return true;
  });
  return count;
}

std::int64_t end_of_last_item(TextItems kind, const unsigned char* block, std::int64_t size) {
  const auto divides = [&](std::int64_t at) {
    return kind == TextItems::lines ? block[at] == '\n' : is_white_space(block[at]);
  };
  std::int64_t behind = size;
  while (behind > 0 && !divides(behind - 1)) --behind;
  if (kind == TextItems::lines) return behind;
  std::int64_t word = behind;  // behind what comes before
  while (word > 0 && divides(word - 1)) --word;
  return word > 0 ? behind : 0;
}

TextCut cut_text(TextItems kind, const unsigned char* block, std::int64_t size, std::int64_t most) {
  return kind == TextItems::lines && has_wide_lines() ? cut_wide_lines(block, size, most)
                                                      : cut_plain_text(kind, block, size, most);
}

std::int64_t count_line_ends(const unsigned char* block, std::int64_t size) {
  return has_wide_lines() ? count_wide_line_ends(block, size) : count_plain_line_ends(block, size);
}

std::int64_t pack_text(TextItems kind, unsigned char* block, std::int64_t size, bool last_is_open,
                       std::int32_t* offsets) {
  if (kind == TextItems::words) return pack_words(block, size, offsets);
  return has_wide_lines() ? pack_wide_lines(block, size, last_is_open, offsets)
                          : pack_plain_lines(block, size, last_is_open, offsets);
}

}  // namespace anabranch::io::detail
