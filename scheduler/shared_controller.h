// A controller that some threads ask and others tell.
//
// Either takes it a microsecond or two, of each chunk. So it has a lock of its own: whoever shares it needs not hold one
// that all threads wait for.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "scheduler/controller.h"
#include "scheduler/lock_soon.h"

namespace anabranch::scheduler {

/// Thread-safe. It calls nothing back while it holds its lock, so that one is the last to be taken.
class SharedController final : public Controller {
 public:
  explicit SharedController(std::unique_ptr<Controller> controller) : controller_(std::move(controller)) {}

  Decision next(const ChunkSize& so_far) override {
    const Lock lock = locked();
    return controller_->next(so_far);
  }
  void observe(const Observation& observation) override {
    const Lock lock = locked();
    controller_->observe(observation);
  }
  void too_big(const ChunkSize& tried) override {
    const Lock lock = locked();
    controller_->too_big(tried);
  }
  std::shared_ptr<const Learned> learned() const override {
    const Lock lock = locked();
    return controller_->learned();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  Lock locked() const {
    lock_soon(mutex_);
    return {mutex_, std::adopt_lock};
  }

  alignas(64) mutable std::mutex mutex_;
  const std::unique_ptr<Controller> controller_;
};

}  // namespace anabranch::scheduler
