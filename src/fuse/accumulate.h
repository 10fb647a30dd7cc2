#pragma once

#include <optional>

#include "ir/node.h"

namespace anabranch::fuse {

/// The function of a map_accum_seq as one over all items of a chunk, where it is scalar code: all of its arrays have rank 0,
/// and none of them is more than a term of others. It takes the state, of which there are `states` arrays, and the items
/// as vectors, and gives the state behind the last item and vectors of what the items become. Inside there is a scan_state, or,
/// where they give the same bits, scans and shifted vectors (passed_states.h).
std::optional<ir::Ref> accumulated_by_chunk(const ir::Ref& function, std::size_t states);

}  // namespace anabranch::fuse
