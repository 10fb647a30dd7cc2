#pragma once

#include <memory>
#include <span>
#include <vector>

#include <anabranch/run.h>

#include "compile.h"
#include "interp/interpret.h"

/// Runs on the interpreter, which executes the program and not its plan.
namespace anabranch {

using HostArray = std::shared_ptr<detail::ArrayData>;

/// Begins the passes over the sources that these computations read. The interpreter itself knows only the
/// passes of its own run, not which other runs read the same sources.
std::vector<SourcePass> begin_passes(std::span<const ir::Ref> roots);

/// What the interpreter calls: after each item, which counts as a chunk, and with each line that is printed.
interp::Callbacks callbacks_of(const RunOptions& options);

/// `into`: memory that the caller gives for the results, one array for each, or none.
std::vector<HostArray> run_interpreter(const Compiled& program, const std::vector<HostArray>& arguments,
                                       interp::Callbacks callbacks, const std::stop_token& stop,
                                       const std::vector<HostArray>& into);

}  // namespace anabranch
