#pragma once

#include <map>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "run/sources.h"
#include "scheduler/budget.h"

/// The streams that a pass reads: a stage, and the stages that feed it. One that is read in several places, at paces of
/// their own, is read once: what one place has read is kept for the others until they come there.
namespace anabranch::runtime {

class Streams {
 public:
  /// `stage`: of the plan, the one that is run. What is kept counts against the budget.
  Streams(const plan::Plan& plan, int stage, scheduler::Budget& budget);

  /// The stream of a stream_in node for one of the places that read it, which `reader` names in messages. As long as it lives
  /// the stream serves no other run.
  std::shared_ptr<SourceBase> open(const ir::Node& stream, const Place& reader);

 private:
  void count(const plan::Plan& plan, int stage);

  scheduler::Budget& budget_;
  std::map<const SourceBase*, int> places_;  ///< that read it
  /// Of streams with several places: what has been opened for them and not been taken.
  std::map<const SourceBase*, std::vector<std::shared_ptr<SourceBase>>> opened_;
};

}  // namespace anabranch::runtime
