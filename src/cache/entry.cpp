#include "cache/entry.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstring>

namespace anabranch::cache {
namespace {

/// Changed with the layout of entries, so that files of another layout are not taken for entries.
constexpr char mark[8] = {'A', 'N', 'A', 'K', 'E', 'R', 'N', '1'};

constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr std::size_t fingerprint_digits = 2 * sizeof(XXH128_canonical_t);
constexpr std::string_view extension = ".kernel";

struct EntryHeader {
  char mark[8];
  std::uint64_t key_bytes, image_bytes;
  XXH128_hash_t checksum;  ///< of the file with zeros here
};
static_assert(sizeof(EntryHeader) == 40, "every byte of an entry is covered by a check");

XXH128_hash_t checksum_of(EntryHeader header, std::string_view contents) {
  header.checksum = {};
  return XXH3_128bits_withSeed(contents.data(), contents.size(), XXH3_64bits(&header, sizeof header));
}

}  // namespace

std::string fingerprint(std::string_view text) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(text.data(), text.size()));
  std::string out;
  for (const unsigned char byte : bytes.digest) {
    out += hexadecimal[byte >> 4];
    out += hexadecimal[byte & 15];
  }
  return out;
}

std::string entry_name(std::string_view key) { return fingerprint(key) + std::string(extension); }

std::size_t entry_name_at(std::string_view text) {
  const std::string_view digits = text.substr(0, fingerprint_digits), rest = text.substr(digits.size());
  if (digits.size() < fingerprint_digits || digits.find_first_not_of(hexadecimal) != std::string_view::npos)
    return 0;
  return rest.starts_with(extension) ? digits.size() + extension.size() : 0;
}

std::string encode_entry(std::string_view key, std::string_view image) {
  EntryHeader header{};
  std::memcpy(header.mark, mark, sizeof mark);
  header.key_bytes = key.size();
  header.image_bytes = image.size();
  std::string out(sizeof header, '\0');
  out.append(key).append(image);
  header.checksum = checksum_of(header, std::string_view(out).substr(sizeof header));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

std::optional<std::string> decode_entry(std::string bytes, std::string_view key) {
  EntryHeader header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.mark, mark, sizeof mark) != 0) return std::nullopt;
  const std::string_view contents = std::string_view(bytes).substr(sizeof header);
  if (header.key_bytes != key.size() || !contents.starts_with(key)) return std::nullopt;
  if (header.image_bytes != contents.size() - key.size()) return std::nullopt;
  if (!XXH128_isEqual(header.checksum, checksum_of(header, contents))) return std::nullopt;
  bytes.erase(0, sizeof header + key.size());
  return bytes;
}

}  // namespace anabranch::cache
