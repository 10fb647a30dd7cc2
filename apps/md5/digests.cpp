#include "apps/md5/digests.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <unistd.h>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include "apps/common/each_line.h"
#include "apps/common/quantities.h"
#include "apps/common/trimmed.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

constexpr std::size_t digits = 32;
constexpr std::size_t most_digests = INT32_MAX;  // by their numbers
constexpr std::size_t longest_line = 4096;       // of what may be no text at all, and endless
/// Bits for each digest, so that few of what is looked up is searched for; but no more in all than a cache holds.
constexpr std::int64_t bits_per_digest = 64, least_bits = 1 << 15, most_bits = std::int64_t{1} << 26;

std::int64_t bits_for(std::int64_t digests) {
  const auto wanted = static_cast<std::uint64_t>(std::min(digests, most_bits) * bits_per_digest);
  return std::clamp(static_cast<std::int64_t>(std::bit_ceil(wanted)), least_bits, most_bits);
}

/// About one digest in each.
std::int64_t buckets_for(std::int64_t digests) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(digests, 1))));
}

int value_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// What keeps it from being a digest; empty: nothing.
std::string fault_of(std::string_view text) {
  for (std::size_t i = 0; i < std::min(text.size(), digits); ++i)
    if (value_of(text[i]) < 0) return fmt::format("character {} is no hexadecimal digit", i + 1);
  if (text.size() != digits) return "it has " + counted(std::ssize(text), "character");
  return {};
}

DigestWords digest_of(std::string_view text) {
  DigestWords out{};
  for (std::size_t byte = 0; byte < digits / 2; ++byte) {
    const int value = value_of(text[2 * byte]) * 16 + value_of(text[2 * byte + 1]);
    out[byte / 4] |= static_cast<std::uint32_t>(value) << (8 * (byte % 4));
  }
  return out;
}

/// Of a line as md5sum writes it, "digest  file name" or "digest *file name", the digest.
std::string_view without_name(std::string_view line) {
  const std::string_view digest = line.substr(0, 32);
  const bool named = line.size() > 34 && line[32] == ' ' && (line[33] == ' ' || line[33] == '*');
  // A second digest is no file's name: it would be lost.
  return named && fault_of(digest).empty() && !fault_of(line.substr(34)).empty() ? digest : line;
}

/// Of a line that may hold anything: short, and of printable characters.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return "'" + out + (text.size() > 40 ? "..." : "") + "'";
}

/// There is one, or why not is for whoever opens it to say.
bool may_be_file(const std::string& name) {
  std::error_code failed;
  const bool exists = std::filesystem::exists(name, failed);
  return exists || (failed && failed != std::errc::filename_too_long);
}

}  // namespace

bool is_digest(const std::string& text) { return fault_of(text).empty(); }

std::string hex(const DigestWords& digest) {
  constexpr std::string_view all = "0123456789abcdef";
  std::string out;
  for (const std::uint32_t word : digest)
    for (int byte = 0; byte < 4; ++byte) {
      out += all[(word >> (8 * byte + 4)) & 0xf];
      out += all[(word >> (8 * byte)) & 0xf];
    }
  return out;
}

DigestTable::DigestTable(const std::string& argument, std::int64_t memory) {
  if (is_digest(argument)) {
    digests_.push_back(digest_of(argument));
    given_ = 1;
  } else if (argument == "-") {
    read_standard_input(memory);
  } else if (may_be_file(argument)) {
    read(argument, memory);
  } else {
    throw UsageError(
        fmt::format("DIGESTS: {} is neither a file nor an MD5 digest, 32 hexadecimal digits ({})",
                    shown(argument), fault_of(argument)));
  }
  bring_in_order();
}

DigestTable::DigestTable(std::vector<DigestWords> digests)
    : digests_(std::move(digests)), given_(std::ssize(digests_)) {
  bring_in_order();
}

void DigestTable::bring_in_order() {
  std::sort(digests_.begin(), digests_.end());
  digests_.erase(std::unique(digests_.begin(), digests_.end()), digests_.end());
  digests_.shrink_to_fit();
}

void DigestTable::read(const std::string& path, std::int64_t memory) {
  const auto failed = [&] { throw IoError(fmt::format("{}: {}", path, std::strerror(errno))); };
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown))
    throw IoError(path + ": it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) failed();
  std::array<char, longest_line + 1> line{};
  const auto taken = [&] { return static_cast<std::size_t>(file.gcount()); };
  std::int64_t number = 1;
  for (; file.getline(line.data(), line.size()); ++number) {
    // What ends it has been taken, too.
    add(path, number, {line.data(), file.eof() ? taken() : taken() - 1}, memory);
  }
  if (file.bad()) failed();
  if (!file.eof())
    throw DataError(
        fmt::format("{}: line {}: {} is no MD5 digest, 32 hexadecimal digits: it has more than {} bytes",
                    path, number, shown({line.data(), taken()}), longest_line));
  if (digests_.empty()) throw DataError(path + ": there is no digest in it");
}

void DigestTable::read_standard_input(std::int64_t memory) {
  const std::string name = "standard input";
  each_line(io::lines_of(STDIN_FILENO, {.name = name, .longest = longest_line}),
            [&](std::int64_t number, std::string_view line) { add(name, number, line, memory); });
  if (digests_.empty()) throw DataError(name + ": there is no digest in it");
}

void DigestTable::add(const std::string& file, std::int64_t number, std::string_view line,
                      std::int64_t memory) {
  const std::string_view text = without_name(trimmed(line));
  if (text.empty()) return;
  if (const std::string fault = fault_of(text); !fault.empty())
    throw DataError(fmt::format("{}: line {}: {} is no MD5 digest, 32 hexadecimal digits: {}", file, number,
                                shown(text), fault));
  if (bytes() > memory)
    throw ResourceError(fmt::format(
        "{}: line {}: {} take {}, more than the {} that they may, half of the memory bound", file, number,
        digests_.empty() ? "the tables to look digests up in"
                         : "the digests up to here and the tables to look them up in",
        counted(bytes(), "byte"), memory));
  if (digests_.size() == most_digests)
    throw ResourceError(
        fmt::format("{}: line {}: there are more than {} digests", file, number, most_digests));
  digests_.push_back(digest_of(text));
  ++given_;
}

std::optional<std::size_t> DigestTable::find(const DigestWords& digest) const {
  const auto at = std::lower_bound(digests_.begin(), digests_.end(), digest);
  if (at == digests_.end() || *at != digest) return std::nullopt;
  return static_cast<std::size_t>(at - digests_.begin());
}

Vector<std::uint32_t> DigestTable::firsts() const {
  Vector<std::uint32_t> out(distinct());
  for (std::size_t i = 0; i < digests_.size(); ++i) out.set(static_cast<std::int64_t>(i), digests_[i][0]);
  return out;
}

Vector<std::int32_t> DigestTable::begins() const {
  const std::int64_t buckets = buckets_for(distinct());
  Vector<std::int32_t> out(buckets + 1);
  std::size_t at = 0;
  for (std::int64_t b = 0; b <= buckets; ++b) {
    while (at < digests_.size() && static_cast<std::int64_t>(digests_[at][0]) * buckets >> 32 < b) ++at;
    out.set(b, static_cast<std::int32_t>(at));
  }
  return out;
}

Vector<std::uint32_t> DigestTable::bits() const {
  const std::int64_t bits = bits_for(distinct());
  Vector<std::uint32_t> out(bits / 32);
  auto* const words = out.mutable_data();
  for (const DigestWords& digest : digests_) {
    const std::uint32_t bit = digest[0] & static_cast<std::uint32_t>(bits - 1);
    words[bit / 32] |= std::uint32_t{1} << (bit % 32);
  }
  return out;
}

std::int64_t DigestTable::own_bytes() const {
  return static_cast<std::int64_t>(digests_.capacity() * sizeof(DigestWords)) + distinct();
}

std::int64_t DigestTable::bytes() const {
  return own_bytes() + distinct() * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         bits_for(distinct()) / 8 +
         (buckets_for(distinct()) + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
}

}  // namespace anabranch::apps
