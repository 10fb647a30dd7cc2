#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// What a file of the kernel cache holds: the whole key and the image, with sizes and a checksum. The
/// checksum detects damage, not malice: private_folder.h ensures that nobody else writes here.
namespace anabranch::cache {

/// 128 bits of the text, as 32 hexadecimal digits.
std::string fingerprint(std::string_view text);

/// The file name of a key, from its fingerprint. Keys with the same one overwrite each other's entries.
std::string entry_name(std::string_view key);
/// The length of an entry's name, if the text begins with one; else 0.
std::size_t entry_name_at(std::string_view text);

std::string encode_entry(std::string_view key, std::string_view image);

/// The image, if these are the whole, undamaged bytes of an entry for this very key.
std::optional<std::string> decode_entry(std::string bytes, std::string_view key);

}  // namespace anabranch::cache
