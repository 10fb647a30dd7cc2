#include "run/backends/staged_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "run/backends/device_staging.h"
#include "run/context/results.h"

namespace anabranch::runtime {

namespace {

/// Goes through two pieces: the host fills or empties one while the other is being copied.
class StagedCopy {
 public:
  StagedCopy(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream, scheduler::Executor* executor,
             std::int64_t bytes)
      : stream_(stream), executor_(executor), bytes_(bytes), piece_(piece_of(bytes)) {
    while (static_cast<std::int64_t>(pieces_.size()) < std::min<std::int64_t>(count(), 2))
      pieces_.emplace_back(device, piece_);
  }
  /// The pieces are given back after the stream is done with them.
  ~StagedCopy() { stream_.drain(); }
  StagedCopy(const StagedCopy&) = delete;

  void up(cuda::Address to, const std::byte* from) {
    for (std::int64_t i = 0; i < count(); ++i) {
      Piece& p = piece(i);
      if (i >= 2) p.copied.synchronize();
      fill(p.memory.data(), from + i * piece_, size(i));
      stream_.upload(to + static_cast<cuda::Address>(i * piece_), p.memory.data(), size(i));
      stream_.record(p.copied);
    }
    stream_.synchronize();
  }

  void down(std::byte* to, cuda::Address from) {
    const auto start = [&](std::int64_t i) {
      Piece& p = piece(i);
      stream_.download(p.memory.data(), from + static_cast<cuda::Address>(i * piece_), size(i));
      stream_.record(p.copied);
    };
    start(0);
    for (std::int64_t i = 0; i < count(); ++i) {
      if (i + 1 < count()) start(i + 1);
      piece(i).copied.synchronize();
      empty(to + i * piece_, piece(i).memory.data(), size(i));
    }
    stream_.synchronize();
  }

 private:
  struct Piece {
    Piece(const std::shared_ptr<cuda::Device>& device, std::int64_t bytes)
        : memory(device, bytes), copied(device) {}
    cuda::PinnedBlock memory;
    cuda::DeviceEvent copied;
  };
  /// Of a power of two, so that copies of about the same size find the memory again.
  static std::int64_t piece_of(std::int64_t bytes) {
    const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
    return std::min(staging_piece, whole);
  }
  Piece& piece(std::int64_t i) { return pieces_[static_cast<std::size_t>(i % 2)]; }
  std::int64_t count() const { return (bytes_ + piece_ - 1) / piece_; }
  std::int64_t size(std::int64_t i) const { return std::min(piece_, bytes_ - i * piece_); }

  void fill(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (executor_)
      fill_staging(*executor_, to, from, bytes);
    else
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void empty(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (executor_)
      copy_on_all_threads(*executor_, to, from, bytes);
    else
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  DeviceStream& stream_;
  scheduler::Executor* executor_;
  std::int64_t bytes_, piece_;
  std::deque<Piece> pieces_;
};

}  // namespace

void upload_staged(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream,
                   scheduler::Executor* executor, cuda::Address to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  if (!device->is_page_locked(from, bytes))
    return StagedCopy(device, stream, executor, bytes).up(to, static_cast<const std::byte*>(from));
  stream.upload(to, from, bytes);
  stream.synchronize();
}

void download_staged(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream,
                     scheduler::Executor* executor, void* to, cuda::Address from, std::int64_t bytes) {
  if (bytes == 0) return;
  if (!device->is_page_locked(to, bytes))
    return StagedCopy(device, stream, executor, bytes).down(static_cast<std::byte*>(to), from);
  stream.download(to, from, bytes);
  stream.synchronize();
}

}  // namespace anabranch::runtime
