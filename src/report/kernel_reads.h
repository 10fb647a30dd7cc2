#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace anabranch::report {

/// A place in a kernel's bodies that reads an array.
struct KernelRead {
  const ir::Node* node = nullptr;
  std::size_t array = 0;  ///< of kernel.arrays
  kernel::Motion position;
  std::vector<kernel::Motion> index;  ///< its components
  bool inside_borders = false;        ///< `position` is so between the borders of a row
  bool where_needed = false;
  bool in_loop = false;  ///< of an element's computation
  CheckKind check = CheckKind::checked;
  std::string why;
  std::int64_t bytes = 0;  ///< of an element, the components that are used
  std::string shared;      ///< of a broadcast: how often it is read
};
std::vector<KernelRead> reads_of(const kernel::Kernel& kernel);

/// What the lanes of a vector compute, in words.
const char* lanes_text(const kernel::Kernel& kernel);

}  // namespace anabranch::report
