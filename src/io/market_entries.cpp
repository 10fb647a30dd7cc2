#include "market_entries.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

bool TextBlocks::next(TextBlock& block) {
  std::string& text = block.text;
  text.swap(carry_);
  carry_.clear();
  const std::int64_t n = std::min(bytes_, file_.size() - at_);
  if (n <= 0) {
    if (text.empty()) return false;
    text += '\n';
    return true;
  }
  const std::size_t kept = text.size();
  text.resize(kept + static_cast<std::size_t>(n));
  file_.read(at_, text.data() + kept, n);
  at_ += n;
  const auto end = text.rfind('\n');
  if (end == std::string::npos) {
    if (at_ < file_.size() || static_cast<std::int64_t>(text.size()) > bytes_)
      throw DataError(
          fmt::format("{}: a line before byte {} is longer than {} bytes", file_.name(), at_, bytes_));
    text += '\n';
    return true;
  }
  carry_.assign(text, end + 1);
  text.resize(end + 1);
  return true;
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

/// Reads one line after the other. Relies on the block's last character being '\n': no other end test needed.
class LineParser {
 public:
  explicit LineParser(const TextBlock& block) : at_(block.text.data()), end_(at_ + block.text.size()) {}

  bool done() const { return at_ == end_; }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
  }
  bool end_of_line() {
    skip_space();
    if (*at_ != '\n') return false;
    ++at_;
    return true;
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
  const char* real(double& value) {
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
  /// Null, or why there is no integer that a double holds.
  const char* integer(double& value, bool may_be_negative) {
    skip_space();
    const bool negative = *at_ == '-';
    if (negative && !may_be_negative) return "an integer from 0 on expected as third item of the line";
    const char* begin = at_ + (*at_ == '-' || *at_ == '+' ? 1 : 0);
    std::uint64_t digits = 0;
    const auto [end, error] = std::from_chars(begin, end_, digits);
    if (error == std::errc::invalid_argument ||
        !(*end == ' ' || *end == '\t' || *end == '\r' || *end == '\n'))
      return "an integer expected as third item of the line";
    if (error == std::errc::result_out_of_range ||
        (digits != 0 && std::bit_width(digits) - std::countr_zero(digits) > 53))
      return "a double does not hold this integer exactly";
    value = negative ? -static_cast<double>(digits) : static_cast<double>(digits);
    at_ = end;
    return nullptr;
  }
  bool separated() const { return *at_ == ' ' || *at_ == '\t'; }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

template <class I>
void parse_entries(const TextBlock& block, const MatrixMarketHeader& header, ParsedBlock<I>& out) {
  out.entries.clear();
  out.lines = out.lines_with_entry = 0;
  out.fault.reset();
  const bool pattern = header.field == MarketField::pattern;
  const bool general = header.symmetry == MarketSymmetry::general;
  const double mirror = header.symmetry == MarketSymmetry::skew_symmetric ? -1.0 : 1.0;
  const auto fail = [&](std::string why) { out.fault = {out.lines, std::move(why)}; };
  for (LineParser in(block); !in.done(); ++out.lines) {
    if (in.end_of_line()) continue;
    const std::int64_t row = in.index();
    const bool first = in.separated();
    const std::int64_t col = in.index();
    if (row < 0 || col < 0 || !first)
      return fail("an entry 'ROW COLUMN" + std::string(pattern ? "'" : " VALUE'") + " expected");
    if (row < 1 || row > header.rows) return fail(fmt::format("row {} is outside 1..{}", row, header.rows));
    if (col < 1 || col > header.cols)
      return fail(fmt::format("column {} is outside 1..{}", col, header.cols));
    double value = 1.0;
    if (!pattern) {
      if (!in.separated()) return fail("a number expected as third item of the line");
      const char* why =
          header.integers() ? in.integer(value, header.field == MarketField::integer) : in.real(value);
      if (why) return fail(why);
    }
    if (!in.end_of_line()) return fail("text after the entry");
    ++out.lines_with_entry;
    const auto r = static_cast<I>(row - 1);
    const auto c = static_cast<I>(col - 1);
    out.entries.push_back({r, c, value});
    if (general) continue;
    if (r != c)
      out.entries.push_back({c, r, mirror * value});
    else if (mirror < 0 && value != 0)
      return fail("a skew-symmetric matrix has a zero diagonal");
  }
}

template void parse_entries(const TextBlock&, const MatrixMarketHeader&, ParsedBlock<std::int32_t>&);
template void parse_entries(const TextBlock&, const MatrixMarketHeader&, ParsedBlock<std::int64_t>&);

}  // namespace anabranch::io::detail
