#include "run/record/print_line.h"

#include <cstdio>

#include <fmt/format.h>

namespace anabranch::runtime {

void LinePrinter::print(const RunOptions& options, std::string_view line) {
  const std::lock_guard lock(one_at_a_time_);
  if (options.print)
    options.print(line);
  else
    fmt::print(stderr, "{}\n", line);
}

}  // namespace anabranch::runtime
