#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <anabranch/array.h>

/// The digests that are looked for.
namespace anabranch::apps {

/// a, b, c, d: of the digest's bytes each four, the first one in the low bits.
using DigestWords = std::array<std::uint32_t, 4>;

/// Whether the text is one: 32 hexadecimal digits.
bool is_digest(const std::string& text);

/// 32 digits, lower letters.
std::string hex(const DigestWords& digest);

/// Distinct digests in an order of their own, which is that of their first 32 bits.
class DigestTable {
 public:
  /// `argument`: 32 hexadecimal digits, or a file with as many on each line (white space around them, and empty lines, are
  /// nothing), or "-", what is left of standard input. UsageError where it is none of these, DataError with file and line, also
  /// where a line is longer than 4 KiB, IoError; ResourceError where they take more than `memory` bytes.
  DigestTable(const std::string& argument, std::int64_t memory);
  /// Of digests in any order, some of which may be there several times.
  explicit DigestTable(std::vector<DigestWords> digests);

  std::int64_t given() const { return given_; }
  std::int64_t distinct() const { return static_cast<std::int64_t>(digests_.size()); }
  const DigestWords& operator[](std::size_t i) const { return digests_[i]; }
  std::optional<std::size_t> find(const DigestWords& digest) const;

  /// What Targets is made of.
  Vector<std::uint32_t> firsts() const;
  Vector<std::int32_t> begins() const;
  Vector<std::uint32_t> bits() const;
  /// Held here, with whether each has been found. The three above are inputs of a run, which counts them itself.
  std::int64_t own_bytes() const;
  /// Held here and in those three.
  std::int64_t bytes() const;

 private:
  void read(const std::string& path, std::int64_t memory);
  void read_standard_input(std::int64_t memory);
  void add(const std::string& file, std::int64_t number, std::string_view line, std::int64_t memory);
  void bring_in_order();

  std::vector<DigestWords> digests_;
  std::int64_t given_ = 0;
};

}  // namespace anabranch::apps
