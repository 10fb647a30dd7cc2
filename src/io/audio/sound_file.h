#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/io/audio.h>

#include "io/audio/sound_library.h"
#include "io/base/file.h"

/// An audio file that is open for reading.
namespace anabranch::io::detail {

class SoundFile {
 public:
  /// Throws DataError where it is no audio file, or ends before its data do, as far as that is known beforehand.
  explicit SoundFile(std::shared_ptr<const ReadFile> file);
  ~SoundFile();
  SoundFile(const SoundFile&) = delete;
  SoundFile& operator=(const SoundFile&) = delete;

  const std::string& name() const { return file_->name(); }
  const AudioHeader& header() const { return header_; }
  /// The number of the next frame.
  std::int64_t frame() const { return frame_; }
  /// The next frames, interleaved; how many there were. Fewer than asked for at the end only. Throws DataError.
  std::int64_t read(float* into, std::int64_t frames);
  /// Back to the first one.
  void rewind();

 private:
  struct Callbacks;

  [[noreturn]] void fail(const std::string& why) const;
  /// Throws what a callback has met.
  void rethrow();
  std::int64_t read_integers(float* into, std::int64_t frames);

  std::shared_ptr<const ReadFile> file_;
  std::int64_t bytes_ = 0;  ///< of the file, that belong to the sound
  std::int64_t at_ = 0;     ///< in them
  std::exception_ptr failed_;
  SNDFILE* sound_ = nullptr;
  AudioHeader header_;
  bool is_flac_ = false;
  std::vector<std::int16_t> integers_;  ///< as they are in the file, some at a time; empty: it has others
  std::int64_t frame_ = 0;
  bool at_first_ = true;  ///< the library has not been asked to go on from there
};

}  // namespace anabranch::io::detail
