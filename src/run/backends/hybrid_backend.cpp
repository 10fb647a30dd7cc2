#include "run/backends/hybrid_backend.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "scheduler/clock.h"
#include "scheduler/dealer.h"

namespace anabranch::runtime {

namespace {

/// What the device gives comes after what the host has computed of the same chunk; where the device fails, neither does.
class BehindTheHost final : public StageOutput {
 public:
  BehindTheHost(RunContext& context, const plan::StagePlan& stage, HeldResults& of_host, StageOutput& to)
      : StageOutput(context, stage), of_host_(of_host), to_(to) {}
  std::vector<void*> room(int result, std::int64_t elements) override {
    of_host_.move_to(to_);
    return to_.room(result, elements);
  }
  void commit(PartShape shape) override { to_.commit(std::move(shape)); }
  void append(PartResults&& part) override {
    of_host_.move_to(to_);
    to_.append(std::move(part));
  }

 private:
  HeldResults& of_host_;
  StageOutput& to_;
};

std::vector<SourceChunk> part_of(const std::vector<SourceChunk>& chunks,
                                 const std::vector<std::vector<ArrayInfo>>& infos, std::int64_t begin,
                                 std::int64_t end) {
  if (begin == 0 && end == chunks[0].items) return chunks;
  std::vector<SourceChunk> part;
  for (std::size_t s = 0; s < chunks.size(); ++s) part.push_back(slice(chunks[s], infos[s], begin, end));
  return part;
}

double work_of(const std::vector<SourceChunk>& chunks) {
  std::int64_t work = 0;
  for (const SourceChunk& chunk : chunks) work += chunk.work;
  return static_cast<double>(std::max(work, chunks[0].items));
}

class HybridStage final : public StageBackend {
 public:
  HybridStage(RunContext& context, const StageWork& work, std::unique_ptr<StageBackend> host,
              std::unique_ptr<StageBackend> device)
      : context_(context),
        stage_(work.stage),
        infos_(work.infos),
        host_(std::move(host)),
        device_(std::move(device)) {
    for (int s = 0; s < work.slots; ++s) slots_.push_back(std::make_unique<Slot>(context, work.stage));
  }

  /// The host takes the first items, a piece at a time, until the device has room in its queue for the others.
  ComputedOn enqueue(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) override {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    slot.results.clear();
    slot.on_device = false;
    try {
      return deal(slot, number, chunks, results);
    } catch (...) {
      slot.results.clear();
      throw;
    }
  }

  void complete(int number, StageOutput& results) override {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    if (!slot.on_device) return slot.results.move_to(results);
    const Done done{*this, number};
    BehindTheHost behind(context_, stage_, slot.results, results);
    device_->complete(number, behind);
    slot.results.move_to(results);  // where the device gave its results at once
  }

  bool make_room(int slot) override {
    host_->make_room(slot);
    return device_->make_room(slot);
  }
  bool ready() override { return host_->ready() || device_->ready(); }

 private:
  struct Slot {
    Slot(RunContext& context, const plan::StagePlan& stage) : results(context, stage) {}
    bool on_device = false;  ///< the last items
    HeldResults results;     ///< of the host: of the first ones, or of all
  };
  struct Done {
    HybridStage& stage;
    int slot;
    ~Done() {
      const std::lock_guard lock(stage.mutex_);
      stage.dealer_.done(slot, now_ns());
    }
  };

  /// What the host computes is held: earlier chunks may not be complete.
  ComputedOn deal(Slot& slot, int number, const std::vector<SourceChunk>& chunks, StageOutput& results) {
    const std::int64_t items = chunks[0].items;
    const double work = work_of(chunks);
    bool device_has_room = true;
    for (std::int64_t begin = 0; begin < items;) {
      if (device_has_room && !device_has_no_room_ && device_->ready()) {
        const std::vector<SourceChunk> rest = part_of(chunks, infos_, begin, items);
        BehindTheHost behind(context_, stage_, slot.results, results);
        device_has_room = begins_on_device(number, rest, begin > 0, behind);
        if (device_has_room) {
          slot.on_device = true;
          const std::lock_guard lock(mutex_);
          dealer_.queued(number, work_of(rest), now_ns());
          return ComputedOn::device;
        }
      }
      const std::int64_t end =
          device_has_room && !device_has_no_room_ ? begin + items_of_host(work, items, items - begin) : items;
      compute_on_host(number, part_of(chunks, infos_, begin, end), slot.results);
      begin = end;
    }
    return ComputedOn::host;
  }

  static std::int64_t now_ns() { return scheduler::steady_clock().now_ns(); }

  std::int64_t items_of_host(double work, std::int64_t items, std::int64_t left) {
    const double of_item = work / static_cast<double>(items);
    const std::lock_guard lock(mutex_);
    const double piece = dealer_.host_piece(work, of_item * static_cast<double>(left), now_ns());
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(piece / of_item), 1, left);
  }

  void compute_on_host(int number, const std::vector<SourceChunk>& part, StageOutput& results) {
    const std::int64_t begin = now_ns();
    host_->enqueue(number, part, results);
    const std::lock_guard lock(mutex_);
    dealer_.host_took(work_of(part), static_cast<double>(now_ns() - begin));
  }

  /// What does not fit there is cut, as the parts may fit, unless the host has computed some of it. An item that does not
  /// fit is the host's; if it is the first one, what all items need does not fit either, and the device is not asked again.
  bool begins_on_device(int number, const std::vector<SourceChunk>& chunks, bool host_has_begun,
                        StageOutput& results) {
    try {
      device_->enqueue(number, chunks, results);
      return device_has_begun_ = true;
    } catch (const scheduler::BudgetExceeded&) {
      if (host_has_begun) return false;
      if (chunks[0].items > 1) throw;
      device_has_no_room_ = !device_has_begun_;
      return false;
    }
  }

  RunContext& context_;
  const plan::StagePlan& stage_;
  const std::vector<std::vector<ArrayInfo>>& infos_;
  std::unique_ptr<StageBackend> host_, device_;
  std::vector<std::unique_ptr<Slot>> slots_;
  bool device_has_begun_ = false, device_has_no_room_ = false;
  std::mutex mutex_;  ///< of `dealer_`: chunks are enqueued and completed by different threads
  scheduler::Dealer dealer_;
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
