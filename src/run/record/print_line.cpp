#include "run/record/print_line.h"

#include <cstdio>
#include <mutex>

#include <fmt/format.h>

namespace anabranch::runtime {

void print_line(const RunOptions& options, std::string_view line) {
  // A program that `print` runs may print, too.
  static std::recursive_mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (options.print)
    options.print(line);
  else
    fmt::print(stderr, "{}\n", line);
}

}  // namespace anabranch::runtime
