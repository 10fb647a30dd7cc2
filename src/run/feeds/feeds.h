#pragma once

#include "run/feeds/feeding_stage.h"

/// The sources that other stages feed: filter_seq, take_while_seq, drop_seq, append_seq, flat_map_seq, windows, map_accum_seq. Each runs the
/// stages before it chunk by chunk, and gives those of their items that are its own.
namespace anabranch::runtime {

/// Opens such sources, which may put their items in those places. `bounded`: of what is made of them only so many items are
/// taken. All that is referred to lives as long as what is opened.
OpenFed feeds(RunContext& context, RunBackend& backend, GlobalValues& global, const RunBody& run_body,
              const PlacesOfItems& places = {}, bool bounded = false);

}  // namespace anabranch::runtime
