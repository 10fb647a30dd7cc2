#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The GPU through the CUDA runtime, for the peers. It shares the device's primary context with the library.
namespace anabranch::bench {

std::string device_name();  ///< throws where there is none
void device_wait();         ///< for everything that was enqueued on the device

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
  void upload(const void* from, std::size_t bytes) const;
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

void copy_on_device(void* to, const void* from, std::size_t bytes);
void copy_to_device(void* to, const void* from, std::size_t bytes);

/// CUB's DeviceSegmentedReduce over products values[k] * x[columns[k]]: a block of threads a row.
class CubSpmv {
 public:
  CubSpmv(std::int64_t rows, const std::int32_t* offsets, const std::int32_t* columns, const double* values,
          const double* x, double* y);
  void operator()();

 private:
  std::int64_t rows_;
  const std::int32_t *offsets_, *columns_;
  const double *values_, *x_;
  double* y_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

}  // namespace anabranch::bench
