#pragma once

#include <cstdint>

#include "io/text/text_scan.h"

/// Lines in blocks of text, 64 bytes at once: what text_scan.h does with any processor, with one that picks bytes out of vectors
/// (AVX-512 with VBMI2).
namespace anabranch::io::detail {

/// Has this processor what the others here need?
bool has_wide_lines();
TextCut cut_wide_lines(const unsigned char* block, std::int64_t size, std::int64_t most);
std::int64_t count_wide_line_ends(const unsigned char* block, std::int64_t size);
std::int64_t pack_wide_lines(unsigned char* block, std::int64_t size, bool last_is_open,
                             std::int32_t* offsets);

}  // namespace anabranch::io::detail
