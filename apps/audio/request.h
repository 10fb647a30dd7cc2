#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <anabranch/io.h>

#include "apps/audio/program.h"
#include "apps/audio/segments.h"
#include "apps/audio/signal_source.h"
#include "apps/common/run_options_cli.h"

/// What `anabranch audio` is asked for.
namespace anabranch::apps {

struct AudioRequest {
  std::vector<std::string> inputs;
  std::string out;
  std::vector<Feature> wanted;
  FeatureOptions options;  ///< but for the window's weights
  std::string window = "hann";
  std::int64_t win_length = 0;  ///< samples under the window, in the middle of a frame
  PadMode pad_mode = PadMode::constant;
  std::string segments;  ///< a file; empty: windows of equal length
  SegmentUnit segment_unit = SegmentUnit::samples;
  std::int64_t n_mels = 128, n_mfcc = 20;
  double fmin = 0;
  std::optional<double> fmax;  ///< nothing: half of the rate
  bool explain = false;
  RunChoice run;

  bool wants(Feature feature) const;
  bool wants_spectrum() const;
  /// Of spectra of windows of equal length: segments are weighted as they come.
  bool wants_window_weights() const { return wants_spectrum() && segments.empty(); }
  /// At either end of a signal.
  std::int64_t padding() const { return options.center && segments.empty() ? options.frame_length / 2 : 0; }
};

/// As librosa calls it.
const char* name_of(Feature feature);
/// Of all features.
std::vector<std::string> feature_names();
/// "rms,mfcc" or "all". UsageError on what is no feature, or is named twice.
std::vector<Feature> features_named(const std::string& list);

/// A file to take features of.
struct AudioInput {
  std::string path;
  /// What its arrays in an .npz file are called by where there are several inputs, else empty: the path from the deepest folder that all of them are in, without
  /// the extension.
  std::string name;
  io::AudioHeader header;
  std::int64_t samples = 0, windows = 0;
};
/// Looks at all files. UsageError where two arrays would have one name, or the mel bands begin above a file's frequencies; DataError
/// where no windows can be made of a file.
std::vector<AudioInput> inputs_of(const AudioRequest& request);

}  // namespace anabranch::apps
