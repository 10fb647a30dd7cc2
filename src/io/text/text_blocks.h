#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/file.h"

/// Text of one record a line, in blocks that can be parsed apart from each other.
namespace anabranch::io::detail {

struct TextBlock {
  std::string text;  ///< whole lines; every line, also the last, ends with '\n'
};

/// Bytes of a line, where memory suffices.
constexpr std::int64_t longest_line = 1 << 20;

/// Cuts the text from byte `begin` on into blocks of whole lines, about `bytes` long: at most `longest_line`.
class TextBlocks {
 public:
  TextBlocks(const ReadFile& file, std::int64_t begin, std::int64_t bytes)
      : file_(file), at_(begin), bytes_(bytes) {}
  /// False at the end of the file. DataError if a line is longer than any may be, ResourceError if it is longer than the
  /// blocks that memory allows.
  bool next(TextBlock& block);

 private:
  void check_line(const std::string& text, std::size_t end) const;

  const ReadFile& file_;
  std::int64_t at_;
  std::int64_t bytes_;
  std::string carry_;
};

/// How many threads parse and sort with so much memory, where so many are asked for; 0: as many as the process may use.
/// There are more than 8 only where each has 32 MiB: then lines may be as long, and what is sorted at once as much, as
/// with 8 threads and 256 MiB. More than 32 would wait for whoever reads the file, or appends to what is there: that is
/// done by one at a time, and takes, as reckoned and not measured, a tenth to a twentieth of all the time.
int reading_threads(int asked, std::int64_t memory);
/// The memory for as many of them as there may be.
std::int64_t reading_memory(int asked);
/// Of so many, those that have something to do, where there are more than 8 and so few pieces of work.
int threads_for(int threads, std::int64_t pieces);
/// How long a block is where all threads together may hold a quarter of `memory`: a block, and what is parsed of it, which
/// takes up to 8 times as much.
std::int64_t text_block_bytes(std::int64_t memory, int threads);

/// Reads one line after the other. Relies on the block's last character being '\n': no other end test needed.
class LineParser {
 public:
  explicit LineParser(const TextBlock& block) : at_(block.text.data()), end_(at_ + block.text.size()) {}

  bool done() const { return at_ == end_; }
  /// Carriage returns are blanks at the end of a line.
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\t' || (*at_ == '\r' && (at_[1] == '\n' || at_[1] == '\r'))) ++at_;
  }
  bool is_at_end_of_line() const {
    LineParser ahead = *this;
    return ahead.end_of_line();
  }
  bool end_of_line() {
    skip_space();
    if (*at_ != '\n') return false;
    ++at_;
    return true;
  }
  /// The next character, which is not taken.
  char peek() const { return *at_; }
  /// What is left of the line, which is not taken.
  std::string_view rest_of_line() const {
    const char* end = at_;
    while (*end != '\n') ++end;
    return {at_, static_cast<std::size_t>(end - at_)};
  }
  void skip_line() {
    while (*at_ != '\n') ++at_;
    ++at_;
  }
  /// A number without sign; -1 if there is none. More than 18 digits give a number beyond every dimension.
  std::int64_t index() {
    skip_space();
    const char* begin = at_;
    std::int64_t value = 0;
    unsigned digit;
    while ((digit = static_cast<unsigned>(*at_) - '0') < 10) {
      value = at_ - begin < 18 ? value * 10 + digit : INT64_MAX;
      ++at_;
    }
    return at_ == begin ? -1 : value;
  }
  /// Null, or why there is no real number: decimal, rounded to the nearest double; inf or infinity; nan.
  const char* real(double& value);
  /// Null, or why there is no integer that a double holds.
  const char* integer(double& value, bool may_be_negative);
  bool separated() const { return *at_ == ' ' || *at_ == '\t'; }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace anabranch::io::detail
