#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <anabranch/array.h>
#include <anabranch/source.h>

#include <anabranch/detail/io_erased.h>

/// Audio files of any length as streams of blocks: WAV, FLAC, OGG and what else libsndfile reads. The library is opened
/// when the first file is; IoError where it is not there.
namespace anabranch::io {

/// What an audio file says of itself.
struct AudioHeader {
  std::int64_t channels = 1;
  std::int64_t rate = 0;               ///< frames a second
  std::optional<std::int64_t> frames;  ///< samples of a channel; unknown where the file does not say
  std::string format;                  ///< "WAV (Microsoft), Signed 16 bit PCM"

  friend bool operator==(const AudioHeader&, const AudioHeader&) = default;
};
/// Throws DataError where it is no audio file, IoError.
ANABRANCH_API AudioHeader inspect_audio(const std::string& path);

struct AudioOptions {
  std::int64_t memory = std::int64_t{256} << 20;  ///< the largest chunk that the source gives, in bytes
  std::optional<AudioHeader>
      header{};  ///< from `inspect_audio`: DataError where the file says something else now
};

/// Blocks of `frames` frames, each a matrix [frames, channels]; the last one may have fewer rows. Where it has not, as far
/// as the file says, the stream is regular. Samples are floats: integers of whichever width become numbers from -1 to 1
/// (full scale is 1), what is stored as floats stays as it is, doubles are rounded to the nearest
/// float, which is infinite beyond the range of floats. May be rewound. `windows(stream_in(source), {size, channels}, hop)` are
/// windows of the whole file.
///
/// A file that is damaged or cut off is a DataError that names the frame where that shows; blocks before it may have
/// been handed out by then. Throws DataError, IoError, ResourceError.
inline Source<Matrix<float>> open_audio(const std::string& path, std::int64_t frames,
                                        const AudioOptions& options = {}) {
  return Source<Matrix<float>>(detail::open_audio(path, frames, false, options));
}

/// The same as vectors of samples: of several channels the mean, added from the first on.
inline Source<Vector<float>> open_audio_mono(const std::string& path, std::int64_t frames,
                                             const AudioOptions& options = {}) {
  return Source<Vector<float>>(detail::open_audio(path, frames, true, options));
}

}  // namespace anabranch::io
