#include "ir/sink_passes.h"

#include <algorithm>

#include <fmt/format.h>

namespace anabranch::ir {

SinkPass& SinkPasses::begin(const std::shared_ptr<SinkBase>& sink, const SinkStart& start,
                            const Place& place) {
  if (std::any_of(begun_.begin(), begun_.end(), [&](const Begun& other) { return other.sink == sink; }))
    throw ProgramError(fmt::format("write ({}): the program writes to the sink {} twice; make one for each",
                                   to_string(place), sink->info().name));
  begun_.push_back({sink, sink->begin(start)});
  return *begun_.back().pass;
}

void SinkPasses::commit() {
  for (const Begun& each : begun_) each.pass->finish();
  for (const Begun& each : begun_) each.pass->commit();
}

}  // namespace anabranch::ir
