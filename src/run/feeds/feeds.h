#pragma once

#include "run/feeds/feeding_stage.h"

/// The sources that other stages feed: filter_seq, take_while_seq, drop_seq, append_seq, flat_map_seq, windows, map_accum_seq. Each runs the
/// stages before it chunk by chunk, and gives those of their items that are its own.
namespace anabranch::runtime {

/// Where items of a source are to lie in the end, where they are single elements that are results as they are: for each of
/// their arrays memory, or null; empty: nowhere.
using PlacesOfItems =
    std::function<std::vector<HostArray>(std::size_t source, std::int64_t first, std::int64_t items)>;

/// Opens such sources, which may put items in those places. All that is referred to lives as long as what is opened.
OpenFed feeds(RunContext& context, RunBackend& backend, GlobalValues& global, const RunBody& run_body,
              const PlacesOfItems& places = {});

}  // namespace anabranch::runtime
