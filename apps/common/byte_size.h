#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Sizes in bytes, as people write them.
namespace anabranch::apps {

/// "4096", "64KiB", "256M", "1.5G": K, M, G, T (with or without iB) are powers of 1024, kB, MB, GB, TB powers
/// of 1000; letters of either case. Throws UsageError unless it is a whole number of bytes, rounded down,
/// from 1 on.
std::int64_t parse_byte_size(std::string_view text);

/// "321.6 MB", "17 bytes": powers of 1000, as disks and files are counted.
std::string decimal_bytes(std::int64_t bytes);
/// "64.0 MiB": powers of 1024, as memory is counted.
std::string binary_bytes(std::int64_t bytes);

}  // namespace anabranch::apps
