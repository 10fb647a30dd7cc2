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
  constexpr std::int64_t piece = std::int64_t{1} << 20;
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

DevicePieces::Piece DevicePieces::make(std::int64_t bytes) {
  Piece piece{context_.reserve("staging for the GPU", padded(bytes)), {}};
  piece.block = cuda::PinnedBlock(device_, bytes);
  return piece;
}

void DeviceStaging::begin(const std::shared_ptr<cuda::Device>& device, std::int64_t bytes) {
  used_ = 0;
  if (bytes <= block_.bytes()) return;
  release();
  const std::int64_t grown = padded(bytes + bytes / 8);
  if (auto roomy = context_.budget.try_reserve("staging for the GPU", grown)) {
    reservation_ = std::move(*roomy);
  } else {
    reservation_ = context_.reserve("staging for the GPU", padded(bytes));
  }
  block_ = cuda::PinnedBlock(device, reservation_.bytes());
}

void DeviceStaging::release() {
  block_ = cuda::PinnedBlock();
  reservation_.release();
}

std::byte* DeviceStaging::take(std::int64_t bytes) {
  std::byte* at = block_.data() + used_;
  used_ += padded(bytes);
  return at;
}

}  // namespace anabranch::runtime
