#pragma once

#include <memory>

#include <anabranch/io/npy.h>

#include "io/base/file.h"

namespace anabranch::io::detail {

/// `open_npy_rows` over a file that is already open, or in memory.
std::shared_ptr<SourceBase> open_npy_rows(std::shared_ptr<const ReadFile> file, int rank,
                                          const NpyElement& element, const NpyRowsOptions& options);

}  // namespace anabranch::io::detail
