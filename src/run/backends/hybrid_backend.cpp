#include "run/backends/hybrid_backend.h"

namespace anabranch::runtime {

namespace {

class HybridStage final : public StageBackend {
 public:
  HybridStage(RunContext& context, const StageWork& work, std::unique_ptr<StageBackend> host,
              std::unique_ptr<StageBackend> device)
      : host_(std::move(host)), device_(std::move(device)) {
    for (int s = 0; s < work.slots; ++s) slots_.push_back(std::make_unique<Slot>(context, work.stage));
  }

  ComputedOn enqueue(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) override {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    slot.results.clear();
    slot.on_host = device_has_no_room_ || !device_->ready() || !begins_on_device(number, chunks, results);
    if (!slot.on_host) return ComputedOn::device;
    return host_->enqueue(number, chunks, slot.results);  // earlier chunks may not be complete
  }

  void complete(int number, StageOutput& results) override {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    if (slot.on_host)
      slot.results.move_to(results);
    else
      device_->complete(number, results);
  }

  bool make_room(int slot) override {
    host_->make_room(slot);
    return device_->make_room(slot);
  }
  bool ready() override { return host_->ready() || device_->ready(); }

 private:
  struct Slot {
    Slot(RunContext& context, const plan::StagePlan& stage) : results(context, stage) {}
    bool on_host = false;
    HeldResults results;  ///< of the host
  };

  /// What does not fit there is cut, as the parts may fit. An item that does not fit is the host's; if it is the first
  /// one, what all items need does not fit either, and the device is not asked again.
  bool begins_on_device(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) {
    try {
      device_->enqueue(number, chunks, results);
      return device_has_begun_ = true;
    } catch (const scheduler::BudgetExceeded&) {
      if (chunks[0].items > 1) throw;
      device_has_no_room_ = !device_has_begun_;
      return false;
    }
  }

  std::unique_ptr<StageBackend> host_, device_;
  std::vector<std::unique_ptr<Slot>> slots_;
  bool device_has_begun_ = false, device_has_no_room_ = false;
};

}  // namespace

void HybridBackend::prepare() {
  host_->prepare();
  device_->prepare();
}

std::unique_ptr<StageBackend> HybridBackend::open_stage(const StageWork& work) {
  return std::make_unique<HybridStage>(context_, work, host_->open_stage(work), device_->open_stage(work));
}

void HybridBackend::conclude(RunReport* report) {
  host_->conclude(report);
  device_->conclude(report);
}

}  // namespace anabranch::runtime
