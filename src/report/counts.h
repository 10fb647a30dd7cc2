#pragma once

#include <string>
#include <vector>

#include "ir/print.h"
#include "plan/plan.h"

namespace anabranch::report {

/// How many elements there are of what, in words: "items x 3", "elements of a1", "shape(a2)", "once".
class Counts {
 public:
  /// Names are those of the printer.
  explicit Counts(ir::Printer& printer) : printer_(printer) {}

  /// Bytes of an element.
  static std::int64_t width_of(const ir::Scalars& scalars);

  /// A product; of nothing: "once".
  using Factors = std::vector<std::string>;
  static std::string text(const Factors& factors);

  static constexpr const char* unknown = "a number known at run time";

  /// Elements of an array, or positions of a kernel.
  Factors of(const plan::Group& group, const plan::PlanLayout& layout);
  /// Elements that a kernel computes.
  Factors elements_of(const plan::Group& group, const plan::KernelStep& step);
  std::string extent_text(const plan::Group& group, const plan::PlanExtent& extent);
  /// An expression in names of arrays alone.
  std::string scalar_text(const ir::Ref& expression);
  /// What the segmented arrays of that descriptor are called.
  std::string name_of(const plan::Group& group, int descriptor);

  /// Is the first product known to be no larger?
  static bool is_lesser(Factors some, Factors other);

 private:
  ir::Printer& printer_;
};

}  // namespace anabranch::report
