#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/file.h"

/// The directory of a zip file (PKWARE APPNOTE 6.3), as far as NumPy's .npz needs it: stored and DEFLATE
/// members, sizes beyond 4 GiB (zip64), one disk, no encryption.
namespace anabranch::io::detail {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::int64_t compressed = 0;
  std::int64_t size = 0;    ///< after decompression
  std::int64_t header = 0;  ///< where the member's own header begins in the file
  std::int64_t offset = 0;  ///< of the member's first data byte
};

/// All members. DataError unless every member lies inside the file before the directory, apart from the
/// others, under a name of its own, and could have its declared size: later code can rely on all sizes.
/// DataError, too, where the file could be read in two ways: a member's own header that disagrees with the
/// directory, several end records, entries beyond their declared number.
std::vector<ZipEntry> read_zip_directory(const ReadFile& file);

}  // namespace anabranch::io::detail
