// The default policy: learn t = a + b w for each phase and make chunks just large enough that fixed costs
// stop mattering; never larger than memory or the time between two looks at the stop token allow. Small
// chunks are worth something: more overlap, less memory, data still in cache when the next kernel reads it.
#pragma once

#include "scheduler/controller.h"
#include "scheduler/cost_model.h"

namespace anabranch::scheduler {

class AdaptiveController final : public Controller {
 public:
  explicit AdaptiveController(const ControllerConfig& config,
                              const std::shared_ptr<const Learned>& learned = nullptr);

  Decision next(const ChunkSize& so_far) override;
  void observe(const Observation& observation) override;
  void too_big(const ChunkSize& tried) override;
  /// What sizes cost, once a size has been settled on.
  std::shared_ptr<const Learned> learned() const override;

 private:
  struct Wish {
    double work;
    Reason reason;
  };

  struct Experience;

  void recall(const AdaptiveController& earlier);
  void learn(const Observation& observation);
  void decide();
  /// The size the models ask for, before caps.
  Wish wish();
  Wish explore() const;
  /// The work of a piece that stays in the cache; unbounded where nothing is known of that.
  double cached() const;
  /// The size at which the fixed costs of the bottleneck fall to `share` of the time.
  Wish affordable(double share) const;
  Wish correct_by_measurement(Wish wish) const;
  Wish cap(Wish wish) const;
  void adopt(Wish wish);
  void update_ring();
  double tail(double remaining) const;

  ControllerConfig config_;
  bool overlaps_;
  double overhead_ns_;
  /// Compute with all that runs in line with it, read and write where they run beside it; and the longest of
  /// the three per chunk, which is what a chunk costs the stream.
  CostModel line_, read_, write_, chunk_;
  double work_;
  Reason reason_ = Reason::start;
  int ring_;
  CostModel::Line model_;
  bool device_ = false;        ///< is waited for
  bool is_first_ = true;       ///< no chunk of this run has been seen
  bool seen_once_ = false;     ///< one has been
  bool settled_ = false;       ///< the models know enough to ask for a size
  bool learned_once_ = false;  ///< they did at some time
  double smoothed_wish_ = 0;
  double level_when_settled_ = 0;
  double bytes_per_work_ = 0;   ///< upper envelope
  double arrays_per_work_ = 0;  ///< the same, of arrays between items and results
  double memory_ceiling_;       ///< in work, after a chunk failed
  double one_item_ = 0;         ///< work of the last chunk, if that was one item
  double largest_seen_ = 0;
};

}  // namespace anabranch::scheduler
