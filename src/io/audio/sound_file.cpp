#include "io/audio/sound_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/audio/sound_length.h"
#include "io/base/counted.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t most_channels = 1024;  // as libsndfile has it
constexpr std::size_t staged_integers = 16 << 10;

/// Behind what is said in our words.
std::string in_its_words(const char* text) {
  std::string words(text);
  while (!words.empty() && (words.back() == '.' || words.back() == '\n')) words.pop_back();
  return " (libsndfile: " + words + ")";
}

/// Why a file could not be opened.
std::string opening_failed(std::int64_t bytes, int error, const char* text) {
  if (bytes == 0) return "the file is empty";
  if (std::strstr(text, "SF_INFO"))  // libsndfile means what it has read of the header
    return "an audio file that is damaged: its header has a sample rate, channels or a length that cannot be";
  switch (error) {
    case SF_ERR_UNRECOGNISED_FORMAT:
      return "no audio file of a known format, which are WAV, FLAC, OGG and others";
    case SF_ERR_MALFORMED_FILE:
      return "an audio file that is damaged or cut off";
    case SF_ERR_UNSUPPORTED_ENCODING:
      return "an audio file of an encoding that is not read";
    default:
      return "an audio file that is damaged, cut off or of an encoding that is not read";
  }
}

/// Integers of 16 bits, in a format that has them one after the other.
bool has_plain_integers(int format) {
  if ((format & SF_FORMAT_SUBMASK) != SF_FORMAT_PCM_16) return false;
  switch (format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_WAV:
    case SF_FORMAT_WAVEX:
    case SF_FORMAT_RF64:
    case SF_FORMAT_W64:
    case SF_FORMAT_AIFF:
    case SF_FORMAT_AU:
    case SF_FORMAT_CAF:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// What libsndfile calls. Exceptions do not pass through it.
struct SoundFile::Callbacks {
  static SoundFile& self(void* user) { return *static_cast<SoundFile*>(user); }
  static sf_count_t length(void* user) { return self(user).bytes_; }
  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    SoundFile& f = self(user);
    const std::int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f.at_ : f.bytes_;
    std::int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
    return f.at_ = to;
  }
  static sf_count_t read(void* into, sf_count_t bytes, void* user) {
    SoundFile& f = self(user);
    const std::int64_t n = std::clamp<std::int64_t>(f.bytes_ - f.at_, 0, bytes);
    try {
      f.file_->read(f.at_, into, n);
    } catch (...) {
      if (!f.failed_) f.failed_ = std::current_exception();
      return 0;
    }
    f.at_ += n;
    return n;
  }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t tell(void* user) { return self(user).at_; }
};

SoundFile::SoundFile(std::shared_ptr<const ReadFile> file) : file_(std::move(file)) {
  const SoundLibrary& library = sound_library();
  bytes_ = bytes_of_sound(*file_);
  SF_VIRTUAL_IO calls{Callbacks::length, Callbacks::seek, Callbacks::read, Callbacks::write, Callbacks::tell};
  SF_INFO info{};
  sound_ = library.open_virtual(&calls, SFM_READ, &info, this);
  if (!sound_) {
    rethrow();
    if (std::strstr(library.strerror(nullptr), "malloc"))
      throw ResourceError(name() + ": libsndfile gets no memory to open it");
    const char* const text = library.strerror(nullptr);
    fail(opening_failed(file_->size(), library.error(nullptr), text) + in_its_words(text));
  }
  try {
    rethrow();
    if (info.channels < 1 || info.channels > most_channels || info.samplerate < 1 || info.frames < 0)
      fail(fmt::format("an audio file that is damaged: it says that it has {}, {} a second, {} in all",
                       counted(info.channels, "channel"), counted(info.samplerate, "frame"),
                       counted(info.frames, "frame")));
    is_flac_ = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
    if (has_plain_integers(info.format)) integers_.resize(staged_integers);
    header_.channels = info.channels;
    header_.rate = info.samplerate;
    if (info.frames < SF_COUNT_MAX) header_.frames = info.frames;
    for (const int part : {SF_FORMAT_TYPEMASK, SF_FORMAT_SUBMASK}) {
      SF_FORMAT_INFO name{};
      name.format = info.format & part;
      if (library.command(nullptr, SFC_GET_FORMAT_INFO, &name, sizeof name) == 0 && name.name)
        header_.format += (header_.format.empty() ? "" : ", ") + std::string(name.name);
    }
  } catch (...) {
    library.close(sound_);
    throw;
  }
}

SoundFile::~SoundFile() { sound_library().close(sound_); }

void SoundFile::fail(const std::string& why) const { throw DataError(name() + ": " + why); }

void SoundFile::rethrow() {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

std::int64_t SoundFile::read(float* into, std::int64_t frames) {
  const SoundLibrary& library = sound_library();
  // Behind the last frame there may be something else, a tag say, which libsndfile would take for frames.
  if (is_flac_ && header_.frames) frames = std::min(frames, *header_.frames - frame_);
  at_first_ = false;
  const std::int64_t got =
      integers_.empty() ? library.readf_float(sound_, into, frames) : read_integers(into, frames);
  rethrow();
  if (library.error(sound_) != SF_ERR_NO_ERROR)
    fail(fmt::format("damaged at frame {} or behind{}", frame_, in_its_words(library.strerror(sound_))));
  frame_ += got;
  if (got < frames && header_.frames && frame_ < *header_.frames)
    fail(fmt::format("ends at frame {} of {}: it is damaged or cut off", frame_, *header_.frames));
  return got;
}

/// As libsndfile makes floats of them, to the bit, but in vectors.
std::int64_t SoundFile::read_integers(float* into, std::int64_t frames) {
  const SoundLibrary& library = sound_library();
  const std::int64_t channels = header_.channels, step = std::ssize(integers_) / channels;
  for (std::int64_t done = 0; done < frames;) {
    const std::int64_t asked = std::min(step, frames - done);
    const std::int64_t got = library.readf_short(sound_, integers_.data(), asked);
    const std::int16_t* const from = integers_.data();
    for (std::int64_t i = 0; i < got * channels; ++i) into[i] = static_cast<float>(from[i]) * 0x1p-15F;
    into += got * channels;
    done += got;
    if (got < asked) return done;
  }
  return frames;
}

void SoundFile::rewind() {
  const SoundLibrary& library = sound_library();
  if (at_first_) return;
  const bool sought = library.seek(sound_, 0, SEEK_SET) == 0;
  rethrow();
  if (!sought) fail("cannot go back to the first frame" + in_its_words(library.strerror(sound_)));
  frame_ = 0;
  at_first_ = true;
}

}  // namespace anabranch::io::detail
