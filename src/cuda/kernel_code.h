#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device.h"

namespace anabranch::cuda {

/// The code of one kernel on one device: each entry is compiled and loaded by itself, when it is first asked
/// for. Thread-safe. The kernel must outlive it.
class KernelCode {
 public:
  KernelCode(std::shared_ptr<Device> device, const kernel::Kernel& kernel);

  bool in_order() const { return in_order_; }
  /// Throws what Device::load does; the next call tries again.
  Function function(int entry);
  /// Blocks of 256 threads of an entry that a multiprocessor runs at a time; 0: not known, as long as it is not loaded.
  int blocks_at_a_time(int entry);
  /// Is any of them not loaded yet?
  bool lacks(const std::vector<int>& entries);
  /// Compiles those that are not loaded yet, in parallel.
  void prepare(const std::vector<int>& entries);

 private:
  bool is_loaded(int entry);

  std::shared_ptr<Device> device_;
  const kernel::Kernel& kernel_;
  bool in_order_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const LoadedUnit>> loaded_;  ///< per entry; null: not yet
};

}  // namespace anabranch::cuda
