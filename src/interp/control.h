#pragma once

#include <vector>

#include "interp/machine.h"

/// Loops and branches over arrays.
namespace anabranch::interp {

/// What an awhile or an acond gives. What it needs (Machine::demand_needs_of) must exist.
std::vector<HostArray> run_control(Machine& machine, Evaluator::Number control);

}  // namespace anabranch::interp
