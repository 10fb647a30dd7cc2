#pragma once

#include <memory>
#include <string>

#include "io/base/file.h"
#include "io/base/stored_elements.h"
#include "io/npy/npy_format.h"

/// An .npy file that is open for reading.
namespace anabranch::io::detail {

struct NpyFile {
  std::shared_ptr<const ReadFile> file;
  NpyFormat format;
  ScalarType type = ScalarType::float64;  ///< of its numbers

  const std::string& name() const { return file->name(); }
  /// Its elements in the order of the file.
  StoredArray elements() const;
};

/// Reads and checks the header. Throws DataError.
NpyFile open_npy(std::shared_ptr<const ReadFile> file);

/// Throws DataError unless the file holds such elements, or ones that are to be converted into them.
void check_element(const NpyFile& npy, const NpyElement& element, bool convert);
/// Throws DataError unless the array has that rank.
void check_rank(const NpyFile& npy, int rank);

}  // namespace anabranch::io::detail
