#include "apps/audio/signal_source.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "apps/audio/finite.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

/// Offsets of `items` blocks in `samples` samples.
std::shared_ptr<const void> offsets_of_blocks(std::int64_t items, std::int64_t block, std::int64_t samples) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>();
  for (std::int64_t i = 0; i <= items; ++i) offsets->push_back(std::min(i * block, samples));
  return {offsets, offsets->data()};
}

/// `count` where all are finite.
std::int64_t first_not_finite(const float* samples, std::int64_t count) {
  std::uint32_t any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= is_finite(samples[i]) ? 0U : 1U;
  return any == 0 ? count : std::find_if_not(samples, samples + count, is_finite) - samples;
}

}  // namespace

SignalSource::SignalSource(std::int64_t padding, PadMode mode, std::int64_t memory)
    : padding_(padding), mode_(mode), memory_(memory) {
  ArrayInfo array;
  array.scalars = {ScalarType::float32};
  array.extents = {std::nullopt};
  info_.name = "audio";
  info_.arrays = {array};
  info_.rewindable = true;
  info_.live = false;
}

void SignalSource::open(const std::string& path, const io::AudioHeader& header) {
  file_ = io::open_audio_mono(path, block, {.memory = memory_, .header = header}).erased();
  info_.name = path;
  const std::int64_t frames = file_->info().work.value_or(0), ends = padding_ > 0 ? 2 : 0;
  info_.items = file_->info().items.value_or(0) + ends;
  info_.work = frames + ends * padding_;
  part_ = Part::before;
  first_.clear();
  const std::int64_t needed = mode_ == PadMode::constant ? 0 : mode_ == PadMode::edge ? 1 : padding_ + 1;
  SourceChunk chunk;
  while (padding_ > 0 && std::ssize(first_) < needed && file_->next({.items = 1}, chunk)) {
    const auto* samples = static_cast<const float*>(chunk.arrays[0].data[0].get());
    first_.insert(first_.end(), samples, samples + std::min(chunk.work, needed - std::ssize(first_)));
  }
  rewind();
}

void SignalSource::rewind() {
  file_->rewind();
  part_ = padding_ > 0 ? Part::before : Part::signal;
  samples_ = 0;
  last_.clear();
}

std::int64_t SignalSource::resident_bytes() const {
  return (file_ ? file_->resident_bytes() : 0) + 8 * (padding_ + 1);
}

bool SignalSource::next(const Limit& limit, SourceChunk& chunk) {
  switch (part_) {
    case Part::before:
      pad(limit, before(), chunk);
      part_ = Part::signal;
      return true;
    case Part::signal:
      if (signal(limit, chunk)) return true;
      part_ = Part::behind;
      [[fallthrough]];
    case Part::behind:
      if (padding_ > 0) pad(limit, behind(), chunk);
      part_ = Part::end;
      return padding_ > 0;
    case Part::end:
      return false;
  }
  return false;
}

bool SignalSource::signal(const Limit& limit, SourceChunk& chunk) {
  if (!file_->next(limit, chunk)) return false;
  ArrayChunk& array = chunk.arrays[0];
  look(static_cast<const float*>(array.data[0].get()), chunk.work);
  if (!array.offsets) array.offsets = offsets_of_blocks(chunk.items, block, chunk.work);
  return true;
}

void SignalSource::look(const float* samples, std::int64_t count) {
  if (const std::int64_t at = first_not_finite(samples, count); at < count)
    throw DataError(fmt::format("{}: sample {} is {}, no finite number{}", info_.name, samples_ + at,
                                samples[at],
                                std::isinf(samples[at]) ? ", or beyond the range of a float" : ""));
  samples_ += count;
  if (padding_ == 0 || mode_ == PadMode::constant) return;
  const std::int64_t needed = mode_ == PadMode::edge ? 1 : padding_ + 1;
  last_.insert(last_.end(), samples + std::max<std::int64_t>(count - needed, 0), samples + count);
  if (std::ssize(last_) > needed) last_.erase(last_.begin(), last_.end() - needed);
}

void SignalSource::pad(const Limit& limit, const std::vector<float>& samples, SourceChunk& chunk) const {
  const auto bytes = static_cast<std::int64_t>(samples.size() * sizeof(float)) + 16;
  if (bytes > limit.memory)
    throw ItemTooBig(fmt::format("{}: the padding of {} takes {} bytes of memory, and {} are left",
                                 info_.name, counted(std::ssize(samples), "sample"), bytes, limit.memory),
                     bytes);
  const auto owner = std::make_shared<std::vector<float>>(samples);
  chunk = {};
  chunk.items = 1;
  chunk.work = std::ssize(*owner);
  chunk.bytes = bytes;
  chunk.arrays.resize(1);
  chunk.arrays[0].data.emplace_back(owner, owner->data());
  chunk.arrays[0].offsets = offsets_of_blocks(1, chunk.work, chunk.work);
}

std::vector<float> SignalSource::before() const {
  if (mode_ == PadMode::reflect) return {first_.rbegin(), first_.rend() - 1};
  return std::vector<float>(static_cast<std::size_t>(padding_), mode_ == PadMode::edge ? first_.front() : 0);
}

std::vector<float> SignalSource::behind() const {
  if (mode_ == PadMode::reflect) return {last_.rbegin() + 1, last_.rend()};
  return std::vector<float>(static_cast<std::size_t>(padding_), mode_ == PadMode::edge ? last_.back() : 0);
}

}  // namespace anabranch::apps
