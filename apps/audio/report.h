#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/audio/feature_file.h"
#include "apps/audio/request.h"
#include "apps/audio/tables.h"
#include "apps/common/repeated_run.h"

/// What `anabranch audio` says of its work: docs/audio.md.
namespace anabranch::apps {

struct AudioReport {
  AudioRequest request;
  std::int64_t files = 0, windows = 0;
  double audio_seconds = 0;         ///< how long all files play
  std::vector<std::int64_t> rates;  ///< samples a second, each once
  BandCounts bands;                 ///< the most of a file
  std::vector<NotFinite> not_finite;
  std::int64_t memory = 0;  ///< the bound
  double open_seconds = 0;  ///< looking at all inputs
  double total_seconds = 0;
  RepeatedRun runs;                    ///< over all files
  std::vector<std::string> unchecked;  ///< files that were read and carry no checksum
};

/// One JSON object with a newline.
std::string to_json(const AudioReport& report);
/// A few readable lines.
std::string to_text(const AudioReport& report);

}  // namespace anabranch::apps
