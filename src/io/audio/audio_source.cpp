#include "io/audio/audio_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/audio/sound_file.h"
#include "io/base/buffer_pool.h"
#include "io/base/counted.h"

/// The frames of an audio file in blocks, chunk by chunk.
namespace anabranch::io {

namespace detail {

namespace {

constexpr std::int64_t staged_frames_bytes = 128 << 10;
constexpr std::int64_t decoder_bytes = 1 << 20;  // of libsndfile and what decodes for it, about

/// Of the samples of a frame, added from the first on. The mean is within their range, the sum may not be.
float mean_of(const float* frame, std::int64_t channels) {
  float sum = frame[0];
  for (std::int64_t c = 1; c < channels; ++c) sum += frame[c];
  if (std::isfinite(sum)) return sum / static_cast<float>(channels);
  double wide = 0;
  for (std::int64_t c = 0; c < channels; ++c) wide += frame[c];
  return static_cast<float>(wide / static_cast<double>(channels));
}

/// Of two channels in vectors, as if all sums were finite; where one is not, frame by frame.
void means_of(const float* from, std::int64_t frames, std::int64_t channels, float* into) {
  if (channels == 2) {
    std::uint32_t beyond = 0;
    for (std::int64_t f = 0; f < frames; ++f) {
      const float sum = from[2 * f] + from[2 * f + 1];
      beyond |= std::abs(sum) <= std::numeric_limits<float>::max() ? 0U : 1U;
      into[f] = sum / 2;
    }
    if (beyond == 0) return;
  }
  for (std::int64_t f = 0; f < frames; ++f) into[f] = mean_of(from + f * channels, channels);
}

class AudioSource final : public SourceBase {
 public:
  AudioSource(std::shared_ptr<const ReadFile> file, std::int64_t frames, bool mono,
              const AudioOptions& options)
      : file_(file), sound_(std::move(file)), block_(frames) {
    const AudioHeader& header = sound_.header();
    if (options.header && header != *options.header)
      throw DataError(sound_.name() + ": the file has changed since it was looked at");
    if (frames < 1) throw RunError(fmt::format("open_audio: {}: blocks of {} frames", sound_.name(), frames));
    channels_ = mono ? 1 : header.channels;
    if (mono && header.channels > 1)
      staging_.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(staged_frames_bytes / 4, header.channels)));
    chunk_limit_ = std::max<std::int64_t>(options.memory - resident_bytes(), 0);
    std::int64_t needed = 0;
    if (__builtin_mul_overflow(block_, channels_ * std::int64_t{sizeof(float)}, &block_bytes_) ||
        __builtin_add_overflow(block_bytes_, offset_bytes + resident_bytes(), &needed))
      needed = INT64_MAX;
    if (needed > options.memory)
      throw ResourceError(fmt::format(
          "{}: a block of {} with {} takes {} with the {} that decoding takes: more than the {} bytes "
          "of memory the source may use",
          sound_.name(), counted(block_, "frame"), counted(channels_, "channel"), counted(needed, "byte"),
          resident_bytes(), options.memory));
    ArrayInfo array;
    array.scalars = {ScalarType::float32};
    const bool equal = header.frames && *header.frames % block_ == 0;
    array.extents = {equal ? std::optional(block_) : std::nullopt};
    if (!mono) array.extents.emplace_back(channels_);
    info_.name = sound_.name();
    info_.arrays = {array};
    if (header.frames) {
      info_.items = *header.frames / block_ + (equal ? 0 : 1);
      std::int64_t work = 0;
      if (!__builtin_mul_overflow(*header.frames, channels_, &work)) info_.work = work;
    }
    info_.rewindable = true;
    info_.live = false;
  }

  const SourceInfo& info() const override { return info_; }
  std::int64_t resident_bytes() const override {
    return decoder_bytes + static_cast<std::int64_t>(staging_.size() * sizeof(float));
  }
  void rewind() override {
    sound_.rewind();
    over_ = false;
  }

  void use_memory(const ChunkMemory& memory) override {
    samples_->use_memory(memory);
    offsets_->use_memory(memory);
  }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (over_) return false;
    const std::int64_t least = block_bytes_ + offset_bytes;
    if (least > limit.memory)
      throw ItemTooBig(fmt::format("{}: a block of {} takes {} bytes of memory, and {} are left", info_.name,
                                   counted(block_, "frame"), least, limit.memory),
                       least);
    const std::int64_t bytes = without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}));
    const std::int64_t blocks = std::max<std::int64_t>(
        1, std::min({limit.items, bytes / (block_bytes_ + 8), limit.work / (block_ * channels_),
                     info_.items.value_or(INT64_MAX) - sound_.frame() / block_}));
    auto buffer = samples_->take(blocks * block_bytes_);
    const std::int64_t frames = read(static_cast<float*>(buffer.memory.get()), blocks * block_);
    const auto& of_file = sound_.header().frames;
    over_ = frames < blocks * block_ || (of_file && sound_.frame() == *of_file);
    if (over_) file_->check_unchanged();
    if (frames == 0) return false;
    give(std::move(buffer), frames, chunk);
    return true;
  }

 private:
  static constexpr std::int64_t offset_bytes = 16;  // of a chunk of one block

  std::int64_t read(float* into, std::int64_t frames) {
    if (staging_.empty()) return sound_.read(into, frames);
    const std::int64_t channels = sound_.header().channels;
    const std::int64_t step = std::ssize(staging_) / channels;
    for (std::int64_t done = 0; done < frames;) {
      const std::int64_t asked = std::min(step, frames - done), got = sound_.read(staging_.data(), asked);
      means_of(staging_.data(), got, channels, into + done);
      done += got;
      if (got < asked) return done;
    }
    return frames;
  }

  void give(BufferPool::Buffer buffer, std::int64_t frames, SourceChunk& chunk) {
    chunk = {};
    chunk.items = (frames + block_ - 1) / block_;
    chunk.work = frames * channels_;
    chunk.bytes = buffer.capacity;
    chunk.arrays.resize(1);
    chunk.arrays[0].data.push_back(std::move(buffer.memory));
    if (info_.arrays[0].regular()) return;
    auto offsets = offsets_->take((chunk.items + 1) * 8);
    auto* const begins = static_cast<std::int64_t*>(offsets.memory.get());
    for (std::int64_t i = 0; i <= chunk.items; ++i) begins[i] = std::min(i * block_, frames) * channels_;
    chunk.bytes += offsets.capacity;
    chunk.arrays[0].offsets = std::move(offsets.memory);
  }

  std::shared_ptr<const ReadFile> file_;
  SoundFile sound_;
  std::int64_t block_;         ///< frames
  std::int64_t channels_ = 1;  ///< of an item
  std::int64_t block_bytes_ = 0, chunk_limit_ = 0;
  std::vector<float> staging_;  ///< frames whose channels are put together
  SourceInfo info_;
  bool over_ = false;
  std::shared_ptr<BufferPool> samples_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> offsets_ = std::make_shared<BufferPool>();
};

}  // namespace

std::shared_ptr<SourceBase> open_audio(std::shared_ptr<const ReadFile> file, std::int64_t frames, bool mono,
                                       const AudioOptions& options) {
  return std::make_shared<AudioSource>(std::move(file), frames, mono, options);
}

std::shared_ptr<SourceBase> open_audio(const std::string& path, std::int64_t frames, bool mono,
                                       const AudioOptions& options) {
  return open_audio(File::open(path), frames, mono, options);
}

}  // namespace detail

AudioHeader inspect_audio(const std::string& path) {
  return detail::SoundFile(detail::File::open(path)).header();
}

}  // namespace anabranch::io
