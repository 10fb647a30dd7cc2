#include "io/text/text_blocks.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "scheduler/concurrency.h"

namespace anabranch::io::detail {

bool TextBlocks::next(TextBlock& block) {
  std::string& text = block.text;
  text.swap(carry_);
  carry_.clear();
  for (;;) {
    const std::int64_t n = std::min(bytes_, file_.size() - at_);
    if (n <= 0) {
      if (text.empty()) return false;
      check_line(text, text.size());
      text += '\n';
      return true;
    }
    const std::size_t kept = text.size();  // the beginning of a line
    text.resize(kept + static_cast<std::size_t>(n));
    file_.read(at_, text.data() + kept, n);
    at_ += n;
    check_line(text, text.find('\n', kept));
    const auto end = text.rfind('\n');
    if (end == std::string::npos) continue;
    carry_.assign(text, end + 1);
    text.resize(end + 1);
    return true;
  }
}

/// The first line of `text`, which ends behind so many bytes, or with the text at the earliest.
void TextBlocks::check_line(const std::string& text, std::size_t end) const {
  if (static_cast<std::int64_t>(std::min(end, text.size())) <= bytes_) return;
  const std::int64_t begin = at_ - static_cast<std::int64_t>(text.size());
  if (bytes_ < longest_line)
    throw ResourceError(
        fmt::format("{}: the line that begins at byte {} needs a larger memory bound: with this one {} are "
                    "read, {} with any",
                    file_.name(), begin, counted(bytes_, "byte"), longest_line));
  throw DataError(fmt::format("{}: the line that begins at byte {} is longer than {}, the most that is read",
                              file_.name(), begin, counted(bytes_, "byte")));
}

namespace {

constexpr int any_memory_threads = 8, most_threads = 32;
constexpr std::int64_t thread_memory = 32 << 20;

}  // namespace

int reading_threads(int asked, std::int64_t memory) {
  const std::int64_t most =
      std::clamp<std::int64_t>(memory / thread_memory, any_memory_threads, most_threads);
  return std::clamp(asked > 0 ? asked : scheduler::available_concurrency(), 1, static_cast<int>(most));
}

std::int64_t reading_memory(int asked) {
  return std::max(reading_threads(asked, INT64_MAX), any_memory_threads) * thread_memory;
}

int threads_for(int threads, std::int64_t pieces) {
  if (threads <= any_memory_threads) return threads;
  return static_cast<int>(std::clamp<std::int64_t>(pieces, any_memory_threads, threads));
}

std::int64_t text_block_bytes(std::int64_t memory, int threads) {
  return std::clamp<std::int64_t>(memory / (32 * threads), 4 << 10, longest_line);
}

namespace {

/// Of a decimal number that is too large or too small for a double: whether it is too large.
bool exceeds_one(const char* at, const char* end) {
  std::int64_t digits = 0;  // before the point; less than 0: zeros behind it
  bool point = false, leading = true;
  for (; at != end && *at != 'e' && *at != 'E'; ++at) {
    point |= *at == '.';
    if (*at < '0' || *at > '9') continue;
    leading &= *at == '0';
    if (leading && point) --digits;
    if (!leading && !point) ++digits;
  }
  std::int64_t exponent = 0;
  const bool negative = at != end && at[1] == '-';
  for (; at != end; ++at)
    if (*at >= '0' && *at <= '9') exponent = std::min(exponent * 10 + (*at - '0'), std::int64_t{1} << 40);
  return digits + (negative ? -exponent : exponent) > 0;
}

}  // namespace

const char* LineParser::real(double& value) {
  skip_space();
  const char* begin = *at_ == '+' && at_[1] != '-' ? at_ + 1 : at_;
  const auto [end, error] = std::from_chars(begin, end_, value);
  // from_chars knows nan(...), too, which names a payload that we would not keep.
  if (error == std::errc::invalid_argument || end[-1] == ')')
    return "a number expected as third item of the line";
  if (error == std::errc::result_out_of_range) {
    if (exceeds_one(begin, end)) return "the number is beyond the range of a double";
    value = *begin == '-' ? -0.0 : 0.0;
  }
  at_ = end;
  return nullptr;
}

const char* LineParser::integer(double& value, bool may_be_negative) {
  skip_space();
  const bool negative = *at_ == '-';
  if (negative && !may_be_negative) return "an integer from 0 on expected as third item of the line";
  const char* begin = at_ + (*at_ == '-' || *at_ == '+' ? 1 : 0);
  std::uint64_t digits = 0;
  const auto [end, error] = std::from_chars(begin, end_, digits);
  if (error == std::errc::invalid_argument || !(*end == ' ' || *end == '\t' || *end == '\r' || *end == '\n'))
    return "an integer expected as third item of the line";
  if (error == std::errc::result_out_of_range ||
      (digits != 0 && std::bit_width(digits) - std::countr_zero(digits) > 53))
    return "a double does not hold this integer exactly";
  value = negative ? -static_cast<double>(digits) : static_cast<double>(digits);
  at_ = end;
  return nullptr;
}

}  // namespace anabranch::io::detail
