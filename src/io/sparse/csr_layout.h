#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <anabranch/io/matrix.h>

#include "io/base/stored_elements.h"

/// A CSR matrix lying in a file (an .npz, or the spool file a Matrix Market file was sorted into): what the
/// streaming reader needs, once the headers are checked.
namespace anabranch::io::detail {

struct CsrLayout {
  std::string name;
  CsrHeader header;
  StoredArray indptr, indices, values;
};

// Beyond these, sizes in bytes could overflow 64 bits; no file is that large.
inline constexpr std::int64_t most_rows = std::int64_t{1} << 56;
inline constexpr std::int64_t most_entries = std::int64_t{1} << 56;

/// Checks the members of an .npz written by scipy.sparse.save_npz and their sizes against each other. Only
/// headers, the shape, and the ends of indptr are read.
CsrLayout open_npz(std::shared_ptr<const ReadFile> file);

/// `open_csr` over a file that is already open, or in memory.
std::shared_ptr<SourceBase> open_csr(const std::shared_ptr<const ReadFile>& file, ScalarType index,
                                     ScalarType value, const OpenOptions& options);

}  // namespace anabranch::io::detail
