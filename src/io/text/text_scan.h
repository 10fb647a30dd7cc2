#pragma once

#include <cstdint>

/// Lines and words in blocks of text, at memory speed.
namespace anabranch::io::detail {

/// What the items of a text are. A line ends with LF, before which a CR belongs to the end. Words are what lies between
/// white space of ASCII (space, tab, LF, VT, FF, CR).
enum class TextItems : std::uint8_t { lines, words };

bool is_white_space(unsigned char byte);

/// The complete items at the beginning of a block.
struct TextCut {
  std::int64_t items = 0;
  std::int64_t bytes = 0;  ///< up to the next item: with what ends the last one
};

/// Those of a block that begins with an item, or between two; at most `most` of them. Where there is none, `bytes` are
/// those that belong to no item.
TextCut cut_text(TextItems kind, const unsigned char* block, std::int64_t size, std::int64_t most);

/// How many bytes end a line.
std::int64_t count_line_ends(const unsigned char* block, std::int64_t size);

/// Moves the items of a block, all of which are complete, together at its beginning, without what divides them, and
/// writes where they begin, and where the last one ends: items + 1 offsets. `last_is_open`: the last byte is not in the
/// text, but put there to end its last item. The length of the longest item.
std::int64_t pack_text(TextItems kind, unsigned char* block, std::int64_t size, bool last_is_open,
                       std::int32_t* offsets);

/// The same with what every processor has. The three above take wide_lines.h for lines where this one has what that needs.
TextCut cut_plain_text(TextItems kind, const unsigned char* block, std::int64_t size, std::int64_t most);
std::int64_t count_plain_line_ends(const unsigned char* block, std::int64_t size);
std::int64_t pack_plain_lines(unsigned char* block, std::int64_t size, bool last_is_open,
                              std::int32_t* offsets);

/// Behind the last place in a block at which an item ends, whatever is before the block; 0 where there is none.
std::int64_t end_of_last_item(TextItems kind, const unsigned char* block, std::int64_t size);

}  // namespace anabranch::io::detail
