#pragma once

#include <memory>

#include "plan/plan.h"

/// Internal to plan::build.
namespace anabranch::plan {

/// The step's kernel for chunks whose items are all of one shape, or null where it is the same, or items are read in
/// another way than one after the other.
std::shared_ptr<const EqualItems> equal_items(const KernelStep& step, const Group& group);

}  // namespace anabranch::plan
