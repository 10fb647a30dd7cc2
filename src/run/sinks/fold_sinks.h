#pragma once

#include "run/sinks/sink.h"

namespace anabranch::runtime {

/// `fold_seq`: items are joined in pairs, those of a chunk together, in a tree over their numbers (ir/make.h).
std::unique_ptr<Sink> make_fold_seq(const SinkWork& work);
/// `fold_batch`: items are gathered in batches, which are cut by the items alone (ir/batch.h).
std::unique_ptr<Sink> make_fold_batch(const SinkWork& work);

}  // namespace anabranch::runtime
