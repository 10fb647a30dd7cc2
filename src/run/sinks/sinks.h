#pragma once

#include "ir/op.h"
#include "run/sinks/sink.h"

/// The sinks of the language: one row for each of its operations, exhaustively.
namespace anabranch::runtime {

/// Whether a sink asks for the extents of each item; else only for the number of elements.
bool needs_extents(ir::SinkOp sink);

/// The library's sink. Throws BudgetExceeded and ResourceError where there is no memory for what it is certain
/// to hold.
std::unique_ptr<Sink> make_sink(ir::SinkOp sink, const SinkWork& work);

}  // namespace anabranch::runtime
