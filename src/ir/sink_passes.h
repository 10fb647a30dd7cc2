#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/sink.h>

namespace anabranch::ir {

/// The sinks that a run writes to. What they were given appears when all of them are complete, or not at all.
class SinkPasses {
 public:
  /// Begins one, which lives as long as this. ProgramError naming the place if the run writes to that sink already.
  SinkPass& begin(const std::shared_ptr<SinkBase>& sink, const SinkStart& start, const Place& place);
  /// There are no more items: all that may fail but putting them in place is done.
  void finish();
  /// The run has nothing more to do that could fail. Finishes what has not been finished. All are in place then, or, where one
  /// throws, none. `with`: puts what is written about the run in place, or throws and has not.
  void commit(const std::function<void()>& with = {});

 private:
  struct Begun {
    std::shared_ptr<SinkBase> sink;
    std::unique_ptr<SinkPass> pass;
  };
  std::vector<Begun> begun_;
  std::size_t finished_ = 0;  ///< the first so many
};

}  // namespace anabranch::ir
