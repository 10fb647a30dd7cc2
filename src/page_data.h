#pragma once

#include <string>

#include <anabranch/run.h>

#include "compile.h"

namespace anabranch {

/// What the page about a run shows (page/page.h), as one JSON object: the run, the program and what was made of it, the
/// machine, the options.
std::string page_data(const Compiled& program, const RunOptions& options, const RunReport& report);

}  // namespace anabranch
