#include "run/backends/device_staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace anabranch::runtime {

namespace {

void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if defined(__SSE2__)
  constexpr std::int64_t line = 64, lane = 16;
  if (reinterpret_cast<std::uintptr_t>(to) % lane == 0) {
    for (; bytes >= line; bytes -= line, to += line, from += line) {
      __m128i lanes[line / lane];
      for (std::int64_t k = 0; k < line / lane; ++k)
        lanes[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k * lane));
      for (std::int64_t k = 0; k < line / lane; ++k)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k * lane), lanes[k]);
    }
    _mm_sfence();
  }
#endif
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

void fill_staging(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes) {
  constexpr std::int64_t piece = staging_piece / 16;  // for as many threads
  const std::int64_t pieces = (bytes + piece - 1) / piece;
  const auto one = [&](std::int64_t i) {
    const std::int64_t begin = i * piece;
    copy_past_caches(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                     std::min(piece, bytes - begin));
  };
  if (pieces == 1)
    one(0);
  else
    executor.parallel_for(pieces, one);
}

std::byte* DevicePieces::room(std::int64_t bytes) {
  if (small_used_ + padded(bytes) <= small_bytes) {
    if (small_.block.bytes() == 0) small_ = make(small_bytes);
    return small_.block.data() + std::exchange(small_used_, small_used_ + padded(bytes));
  }
  // In classes, so that a stream of chunks of about the same size finds its memory again: locking takes longer than copying.
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  const std::int64_t step = std::max(small_bytes, power / 4);
  return pieces_.emplace_back(make((bytes + step - 1) / step * step)).block.data();
}

const void* DevicePieces::keep(const void* from, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  std::byte* const to = room(bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return to;
}

void DevicePieces::release() {
  pieces_.clear();
  small_used_ = 0;
}

StagingMemory DevicePieces::make(std::int64_t bytes) {
  return StagingMemory::make(context_, device_, padded(bytes), padded(bytes));
}

StagingMemory StagingMemory::make(RunContext& context, const std::shared_ptr<cuda::Device>& device,
                                  std::int64_t usual, std::int64_t least) {
  constexpr const char* name = "staging for the GPU";
  StagingMemory out;
  if (auto roomy = context.budget.try_reserve(name, usual))
    out.reservation = std::move(*roomy);
  else
    out.reservation = context.reserve(name, least);
  out.block = cuda::PinnedBlock(device, out.reservation.bytes());
  return out;
}

namespace {

/// The next chunk may be somewhat larger.
std::int64_t with_slack(std::int64_t bytes) { return padded(bytes + bytes / 8); }

}  // namespace

void UploadStaging::begin(std::int64_t bytes) {
  piece_ = 0;
  used_ = 0;
  const std::int64_t roomy = with_slack(bytes);
  try {
    while (bytes_ < bytes) {
      pieces_.push_back(StagingMemory::make(context_, device_, std::min(staging_piece, roomy - bytes_),
                                            std::min(staging_piece, bytes - bytes_)));
      bytes_ += pieces_.back().block.bytes();
    }
  } catch (...) {
    release();  // fewer items are tried then, which need less
    throw;
  }
}

void UploadStaging::upload(DeviceStream& stream, cuda::Address to, const void* from, std::int64_t bytes) {
  const auto* rest = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const cuda::PinnedBlock& piece = pieces_[piece_].block;
    const std::int64_t part = std::min(bytes, piece.bytes() - used_);
    std::byte* const staged = piece.data() + used_;
    fill_staging(context_.executor, staged, rest, part);
    stream.upload(to, staged, part);
    to += static_cast<cuda::Address>(part);
    rest += part;
    bytes -= part;
    used_ += padded(part);
    if (used_ < piece.bytes()) continue;
    ++piece_;
    used_ = 0;
  }
}

void UploadStaging::release() {
  pieces_.clear();
  bytes_ = 0;
}

void DownloadStaging::begin(std::int64_t bytes) {
  used_ = 0;
  if (bytes <= memory_.block.bytes()) return;
  release();
  memory_ = StagingMemory::make(context_, device_, with_slack(bytes), padded(bytes));
}

std::byte* DownloadStaging::take(std::int64_t bytes) {
  std::byte* at = memory_.block.data() + used_;
  used_ += padded(bytes);
  return at;
}

}  // namespace anabranch::runtime
