#include "sound_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "little_endian.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t most_channels = 1024;  // as libsndfile has it

/// Of a RIFF file (WAV) that is cut off libsndfile reads what is there. The sizes of its chunks tell.
void check_chunks(const ReadFile& file) {
  unsigned char start[12];
  if (file.size() < std::ssize(start)) return;
  file.read(0, start, std::ssize(start));
  if (std::memcmp(start, "RIFF", 4) != 0 || std::memcmp(start + 8, "WAVE", 4) != 0) return;
  for (std::int64_t at = 12; at + 8 <= file.size();) {
    unsigned char chunk[8];
    file.read(at, chunk, std::ssize(chunk));
    const std::int64_t bytes = load<std::uint32_t>(chunk + 4), left = file.size() - at - 8;
    const bool data = std::memcmp(chunk, "data", 4) == 0;
    if (data && bytes == UINT32_MAX) return;  // who wrote it into a pipe did not know its length
    if (bytes > left)
      throw DataError(fmt::format(
          "{}: the chunk '{}' at byte {} has {} bytes, but the file ends {} bytes behind its beginning",
          file.name(), data ? "data" : "of another kind", at, bytes, left));
    if (data) return;
    at += 8 + bytes + bytes % 2;
  }
  throw DataError(file.name() + ": there is no chunk 'data': the file is cut off");
}

}  // namespace

/// What libsndfile calls. Exceptions do not pass through it.
struct SoundFile::Callbacks {
  static SoundFile& self(void* user) { return *static_cast<SoundFile*>(user); }
  static sf_count_t length(void* user) { return self(user).file_->size(); }
  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    SoundFile& f = self(user);
    const std::int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f.at_ : f.file_->size();
    std::int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
    return f.at_ = to;
  }
  static sf_count_t read(void* into, sf_count_t bytes, void* user) {
    SoundFile& f = self(user);
    const std::int64_t n = std::clamp<std::int64_t>(f.file_->size() - f.at_, 0, bytes);
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
  check_chunks(*file_);
  SF_VIRTUAL_IO calls{Callbacks::length, Callbacks::seek, Callbacks::read, Callbacks::write, Callbacks::tell};
  SF_INFO info{};
  sound_ = library.open_virtual(&calls, SFM_READ, &info, this);
  if (!sound_) {
    rethrow();
    fail(library.strerror(nullptr));
  }
  try {
    rethrow();
    if (info.channels < 1 || info.channels > most_channels || info.samplerate < 1 || info.frames < 0)
      fail(fmt::format("{} channels, {} frames a second, {} frames", info.channels, info.samplerate,
                       info.frames));
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
  const std::int64_t got = library.readf_float(sound_, into, frames);
  rethrow();
  if (library.error(sound_) != SF_ERR_NO_ERROR)
    fail(fmt::format("damaged at frame {} or behind: {}", frame_, library.strerror(sound_)));
  frame_ += got;
  if (got < frames && header_.frames && frame_ < *header_.frames)
    fail(fmt::format("ends at frame {} of {}: it is damaged or cut off", frame_, *header_.frames));
  return got;
}

void SoundFile::rewind() {
  const SoundLibrary& library = sound_library();
  if (frame_ == 0) return;
  const bool sought = library.seek(sound_, 0, SEEK_SET) == 0;
  rethrow();
  if (!sought) fail(fmt::format("cannot go back to the first frame: {}", library.strerror(sound_)));
  frame_ = 0;
}

}  // namespace anabranch::io::detail
