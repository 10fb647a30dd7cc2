#pragma once

#include <mutex>
#include <string_view>

#include <anabranch/run_options.h>

namespace anabranch::runtime {

/// Prints the lines of a run, one at a time, where its options say, else on standard error. What is called there may run
/// programs that print: each run has one of its own.
class LinePrinter {
 public:
  void print(const RunOptions& options, std::string_view line);

 private:
  std::mutex one_at_a_time_;
};

}  // namespace anabranch::runtime
