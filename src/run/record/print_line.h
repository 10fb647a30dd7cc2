#pragma once

#include <functional>
#include <string_view>

#include <anabranch/run_options.h>

namespace anabranch::runtime {

/// Prints a line where the run's options say, else on standard error. Lines do not mix: one at a time in the process.
void print_line(const RunOptions& options, std::string_view line);

}  // namespace anabranch::runtime
