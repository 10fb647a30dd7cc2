#pragma once

#include <string>

#include "ir/print.h"
#include "plan/plan.h"

namespace anabranch::report {

/// How many elements there are of what, in words: "items x 3", "elements of a1", "shape(a2)", "once".
class Counts {
 public:
  /// Names are those of the printer.
  explicit Counts(ir::Printer& printer) : printer_(printer) {}

  /// Elements of an array, or positions of a kernel.
  std::string of(const plan::Group& group, const plan::PlanLayout& layout);
  /// Elements that a kernel computes.
  std::string elements_of(const plan::Group& group, const plan::KernelStep& step);
  std::string extent_text(const plan::Group& group, const plan::PlanExtent& extent);

 private:
  std::string under(const plan::Group& group, int descriptor);
  std::string uniform_text(const plan::Group& group, int number);

  ir::Printer& printer_;
};

}  // namespace anabranch::report
