#include "io/npy/npy_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/little_endian.h"
#include "io/base/shown.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t longest_header = 64 << 10;

/// Reads the Python dictionary of a header: string keys;
/// values that are strings, booleans or tuples of integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(NpyFormat& out) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail("a structured dtype is not supported");
        out.dtype = string();
        descr = true;
      } else if (key == "fortran_order") {
        out.fortran = boolean();
        order = true;
      } else if (key == "shape") {
        out.shape = tuple();
        shape = true;
      } else {
        fail(fmt::format("unknown key '{}'", shown(key)));
      }
      if (!accept(',') && peek() != '}') fail("',' or '}' expected");
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!descr || !order || !shape) fail("one of descr, fortran_order, shape is missing");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(fmt::format("{}: bad NPY header: {} (at character {})", name_, why, at_));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' expected", c));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a string expected");
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string without its end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    fail("True or False expected");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error == std::errc::result_out_of_range) fail("an extent beyond 64 bits");
      if (error != std::errc{}) fail("an integer expected");
      if (extent < 0) fail(fmt::format("the extent {} is negative", extent));
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      out.push_back(extent);
      if (out.size() > 32) fail("more than 32 dimensions");
      if (!accept(',') && peek() != ')') fail("',' or ')' expected");
    }
    return out;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// The scalars of which std::complex is an element.
bool has_complex(ScalarType type) { return type == ScalarType::float32 || type == ScalarType::float64; }

/// As NumPy writes it: what it reads may say no byte order, = for the machine's, or one where there is but one byte.
std::string with_order(std::string dtype) {
  if (dtype.find_first_of("<>=|") != 0) dtype.insert(0, 1, '=');
  const std::string_view type = std::string_view(dtype).substr(1);
  if (type == "b1" || type == "i1" || type == "u1" || type.starts_with('S'))
    dtype[0] = '|';
  else if (dtype[0] == '=')
    dtype[0] = '<';
  return dtype;
}

/// Fills scalar, parts and item_bytes from the dtype.
void interpret_dtype(NpyFormat& out, const std::string& name) {
  const std::string d = with_order(out.dtype);
  std::string known;
  for (const int parts : {1, 2}) {
    for (const auto& scalar : anabranch::detail::scalar_table) {
      if (parts == 2 && !has_complex(scalar.type)) continue;
      const std::string dtype = npy_dtype(scalar.type, parts);
      known += fmt::format("{}{}", known.empty() ? "" : " ", dtype);
      if (d != dtype) continue;
      out.scalar = scalar.type;
      out.parts = parts;
      out.item_bytes = static_cast<std::int64_t>(scalar.bytes) * parts;
      return;
    }
  }
  if (!d.empty() && d[0] == '>')
    throw DataError(
        fmt::format("{}: dtype '{}' is big-endian; only little-endian is read", name, shown(out.dtype)));
  if (d.size() >= 3 && (d.substr(0, 2) == "|S" || d.substr(0, 2) == "<U")) {
    std::int64_t characters = 0;
    const auto [end, error] = std::from_chars(d.data() + 2, d.data() + d.size(), characters);
    if (error == std::errc{} && end == d.data() + d.size() && characters >= 0 && characters <= 1 << 20) {
      out.item_bytes = characters * (d[0] == '<' ? 4 : 1);
      return;
    }
  }
  throw DataError(fmt::format("{}: dtype '{}' is not supported ({} are)", name, shown(out.dtype), known));
}

}  // namespace

std::string npy_dtype(ScalarType type, int parts) {
  return parts == 1 ? anabranch::detail::scalar_info(type).numpy : fmt::format("<c{}", 2 * size_of(type));
}
std::string npy_type_name(ScalarType type, int parts) {
  return fmt::format("{}{}", parts == 2 ? "complex " : "", name_of(type));
}

NpyFormat read_npy_format(Cursor& cursor, std::int64_t total_bytes, const std::string& name) {
  const auto need = [&](std::int64_t bytes) {
    if (total_bytes < bytes)
      throw DataError(fmt::format("{}: {} bytes are too few for an NPY array", name, total_bytes));
  };
  unsigned char start[12];
  need(10);
  cursor.read(start, 8);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0)
    throw DataError(fmt::format("{}: not an NPY array (wrong first bytes)", name));
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    throw DataError(fmt::format("{}: NPY version {}.{} is not known", name, start[6], start[7]));
  const std::int64_t length_bytes = start[6] == 1 ? 2 : 4;
  need(8 + length_bytes);
  cursor.read(start + 8, length_bytes);
  const std::int64_t length = length_bytes == 2 ? std::int64_t{load<std::uint16_t>(start + 8)}
                                                : std::int64_t{load<std::uint32_t>(start + 8)};
  if (length > longest_header)
    throw DataError(fmt::format("{}: an NPY header of {} bytes is too long", name, length));
  NpyFormat out;
  out.header_bytes = 8 + length_bytes + length;
  need(out.header_bytes);
  std::string text(static_cast<std::size_t>(length), '\0');
  cursor.read(text.data(), length);
  HeaderParser(text, name).parse(out);
  interpret_dtype(out, name);

  out.count = 1;
  bool overflow = false;
  // Of an array without elements, too, no product of its extents overflows.
  std::int64_t most = std::max<std::int64_t>(out.item_bytes, 1);
  for (std::int64_t extent : out.shape) {
    overflow |= __builtin_mul_overflow(most, std::max<std::int64_t>(extent, 1), &most);
    if (!overflow) out.count *= extent;
  }
  std::int64_t wanted = 0;
  overflow |= __builtin_mul_overflow(out.count, out.item_bytes, &wanted);
  overflow |= __builtin_add_overflow(wanted, out.header_bytes, &wanted);
  if (overflow || wanted != total_bytes)
    throw DataError(fmt::format("{}: the header promises {} elements of {} ({}), but there {} {}", name,
                                fmt::join(out.shape, " x "), counted(out.item_bytes, "byte"), out.dtype,
                                total_bytes - out.header_bytes == 1 ? "is" : "are",
                                counted(total_bytes - out.header_bytes, "byte")));
  // Of a file that is full of holes: so that no number of bytes overflows, to whatever type the elements are converted.
  if (out.count > most_elements)
    throw DataError(fmt::format("{}: {} elements are too many: {} at most", name, out.count, most_elements));
  return out;
}

std::string npy_header(const std::string& dtype, std::span<const std::int64_t> shape, std::int64_t bytes) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  std::string out("\x93NUMPY\x01\x00", 8);
  const auto length = static_cast<std::size_t>(bytes) - 10;
  put(out, static_cast<std::uint16_t>(length));
  if (text.size() + 1 > length) throw InternalError("npy_header: shape too long: " + text);
  text.resize(length - 1, ' ');
  return out + text + '\n';
}

}  // namespace anabranch::io::detail
