#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

/// The library's GPU through the driver, whatever version it has: memory, clocks and the stream that all contenders work
/// on. The context is the device's primary one, which the CUDA runtime in the peers uses, too. Everything throws, and says
/// what failed.
namespace anabranch::bench {

std::string device_name();  ///< throws where there is none
void device_wait();         ///< for everything that was enqueued here

/// A stream of the driver, as the runtime knows it too (CUstream, cudaStream_t).
using StreamHandle = void*;
/// What is timed on the GPU goes here: one stream, so that events around it see all of it.
StreamHandle bench_stream();

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  template <class T>
  explicit DeviceBuffer(std::span<const T> from) : DeviceBuffer(from.size_bytes()) {
    upload(from.data(), from.size_bytes());
  }
  template <class T = void>
  T* data() const {
    return static_cast<T*>(at_.get());
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(at_.get()); }
  void upload(const void* from, std::size_t bytes, std::size_t at = 0) const;
  void download(void* to, std::size_t bytes) const;

 private:
  std::shared_ptr<void> at_;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  template <class T>
  T* data() const {
    return static_cast<T*>(at_.get());
  }

 private:
  std::shared_ptr<void> at_;
};

/// Enqueue on the bench's stream.
void copy_on_device(void* to, const void* from, std::size_t bytes);
void copy_to_device(void* to, const void* from, std::size_t bytes);
void copy_from_device(void* to, const void* from, std::size_t bytes);
/// As many bytes up as down, at the same time. The bench's stream goes on when both are done.
void copy_both_ways(void* to_device, const void* from_host, void* to_host, const void* from_device,
                    std::size_t bytes);

/// Seconds on the GPU's clock from before to after what `enqueue` puts on the bench's stream.
double device_seconds(const std::function<void()>& enqueue);

/// The share of a multiprocessor's threads that blocks of so many threads of a function of the driver's (CUfunction) can be,
/// as registers and shared memory allow.
double occupancy(void* function, unsigned threads);

/// What `enqueue` puts on the bench's stream, recorded once and started as a whole: what it takes without the
/// host's part of each launch.
class Graph {
 public:
  explicit Graph(const std::function<void()>& enqueue);
  void operator()() const;

 private:
  std::shared_ptr<void> executable_;
};

}  // namespace anabranch::bench
