#pragma once

#include <memory>

#include <anabranch/io/audio.h>

#include "io/base/file.h"

namespace anabranch::io::detail {

/// `open_audio` over a file that is already open, or in memory.
std::shared_ptr<SourceBase> open_audio(std::shared_ptr<const ReadFile> file, std::int64_t frames, bool mono,
                                       const AudioOptions& options);

}  // namespace anabranch::io::detail
