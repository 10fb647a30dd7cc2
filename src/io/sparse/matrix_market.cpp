#include "io/sparse/matrix_market.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/lower_case.h"
#include "io/base/shown.h"

namespace anabranch::io::detail {

namespace {

/// The lines of a file's beginning, one after the other.
class LineReader {
 public:
  explicit LineReader(const ReadFile& file) : file_(file) {}

  bool next(std::string& line) {
    line.clear();
    for (;;) {
      if (at_ == buffer_.size() && !fill()) return !line.empty() && ends(line);
      const std::string_view rest(buffer_.data() + at_, buffer_.size() - at_);
      const auto end = rest.find('\n');
      line += rest.substr(0, end);
      if (line.size() > longest)
        throw DataError(fmt::format("{}:{}: the line is too long", file_.name(), number_ + 1));
      at_ += std::min(end, rest.size() - 1) + 1;
      if (end == std::string_view::npos) continue;
      return ends(line);
    }
  }
  std::int64_t position() const { return read_ - static_cast<std::int64_t>(buffer_.size() - at_); }
  std::int64_t number() const { return number_; }

 private:
  static constexpr std::size_t longest = 64 << 10;

  bool ends(std::string& line) {
    ++number_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }
  bool fill() {
    const std::int64_t n = std::min<std::int64_t>(16 << 10, file_.size() - read_);
    if (n <= 0) return false;
    buffer_.resize(static_cast<std::size_t>(n));
    file_.read(read_, buffer_.data(), n);
    read_ += n;
    at_ = 0;
    return true;
  }

  const ReadFile& file_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t read_ = 0;
  std::int64_t number_ = 0;
};

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

void read_banner(const std::string& line, const std::string& name, MatrixMarketHeader& out) {
  const auto fail = [&](const std::string& why) { throw DataError(fmt::format("{}:1: {}", name, why)); };
  auto word = words(line);
  if (word.size() != 5 || word[0] != "%%MatrixMarket")
    fail("the first line must be '%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  for (auto& w : word) w = lower_case(w);
  if (word[1] != "matrix") fail(fmt::format("a Matrix Market {} is not a matrix", shown(word[1])));
  if (word[2] != "coordinate") fail(fmt::format("the format {} is not read; coordinate is", shown(word[2])));
  if (word[3] == "real" || word[3] == "double")
    out.field = MarketField::real;
  else if (word[3] == "integer")
    out.field = MarketField::integer;
  else if (word[3] == "unsigned-integer")
    out.field = MarketField::unsigned_integer;
  else if (word[3] == "pattern")
    out.field = MarketField::pattern;
  else
    fail(fmt::format("entries of kind {} are not read; real, integer and pattern are", shown(word[3])));
  if (word[4] == "general")
    out.symmetry = MarketSymmetry::general;
  else if (word[4] == "symmetric")
    out.symmetry = MarketSymmetry::symmetric;
  else if (word[4] == "skew-symmetric")
    out.symmetry = MarketSymmetry::skew_symmetric;
  else
    fail(fmt::format("{} matrices are not read; general, symmetric and skew-symmetric are", shown(word[4])));
  if (out.symmetry == MarketSymmetry::skew_symmetric &&
      (out.field == MarketField::pattern || out.field == MarketField::unsigned_integer))
    fail(fmt::format("a skew-symmetric matrix has negative entries, which '{}' does not give", word[3]));
}

void read_sizes(const std::string& line, const std::string& where, MatrixMarketHeader& out) {
  const auto word = words(line);
  if (word.size() != 3)
    throw DataError(fmt::format("{}: 'ROWS COLUMNS ENTRIES' expected, not '{}'", where, shown(line)));
  std::int64_t* const fields[] = {&out.rows, &out.cols, &out.entries};
  for (std::size_t i = 0; i < 3; ++i) {
    const char* end = word[i].data() + word[i].size();
    const auto [at, error] = std::from_chars(word[i].data(), end, *fields[i]);
    if (error != std::errc{} || at != end || *fields[i] < 0)
      throw DataError(fmt::format("{}: '{}' is not a size", where, shown(word[i])));
  }
}

}  // namespace

CsrHeader MatrixMarketHeader::csr_header() const {
  CsrHeader out;
  out.format = MatrixFormat::matrix_market;
  out.rows = rows;
  out.cols = cols;
  out.entries = entries;
  out.index =
      std::max({rows, cols, most_stream_entries()}) > INT32_MAX ? ScalarType::int64 : ScalarType::int32;
  out.value = ScalarType::float64;
  return out;
}

MatrixMarketHeader read_matrix_market_header(const ReadFile& file) {
  const std::string& name = file.name();
  MatrixMarketHeader out;
  LineReader lines(file);
  std::string line;
  if (!lines.next(line)) throw DataError(name + ": the file is empty");
  read_banner(line, name, out);
  do {
    if (!lines.next(line)) throw DataError(fmt::format("{}: the file ends before its size line", name));
  } while (line.find_first_not_of(" \t") == std::string::npos || line[0] == '%');
  const std::string where = fmt::format("{}:{}", name, lines.number());
  read_sizes(line, where, out);
  out.begin = lines.position();
  out.line = lines.number() + 1;

  if (out.rows > most_rows || out.cols > most_rows)
    throw DataError(fmt::format("{}: {} x {} is too large for a matrix", where, out.rows, out.cols));
  // "1 1\n" and "1 1 0\n" are the shortest entries; the last may lack its newline.
  const std::int64_t shortest = out.field == MarketField::pattern ? 4 : 6;
  if (out.entries > (file.size() - out.begin + 1) / shortest)
    throw DataError(fmt::format("{}: {} {} promised, but only {} follow", where,
                                counted(out.entries, "entry"), out.entries == 1 ? "is" : "are",
                                counted(file.size() - out.begin, "byte")));
  if (out.entries > 0 && (out.rows == 0 || out.cols == 0))
    throw DataError(fmt::format("{}: {} in a matrix of {} x {}", where, counted(out.entries, "entry"),
                                out.rows, out.cols));
  if (out.symmetry != MarketSymmetry::general && out.rows != out.cols)
    throw DataError(fmt::format("{}: a matrix of {} x {} cannot be symmetric", where, out.rows, out.cols));
  return out;
}

}  // namespace anabranch::io::detail
