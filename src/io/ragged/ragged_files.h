#pragma once

#include <memory>
#include <string>

#include <anabranch/io/ragged.h>

#include "io/base/file.h"

namespace anabranch::io::detail {

/// `open_ragged` over files that are already open, or in memory.
std::shared_ptr<SourceBase> open_ragged(const std::string& name, std::shared_ptr<const ReadFile> offsets,
                                        std::shared_ptr<const ReadFile> values, const NpyElement& element,
                                        const RaggedOptions& options);

}  // namespace anabranch::io::detail
