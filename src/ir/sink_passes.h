#pragma once

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
  /// The run has nothing more to do that could fail. All are in place then, or, where one throws, none.
  void commit();

 private:
  struct Begun {
    std::shared_ptr<SinkBase> sink;
    std::unique_ptr<SinkPass> pass;
  };
  std::vector<Begun> begun_;
};

}  // namespace anabranch::ir
