#pragma once

#include "ir/staged.h"
#include "plan/plan.h"

/// From a lifted and fused program to a plan: every manifest array gets a kernel whose body has all delayed
/// producers inlined; extents become constants, uniforms, size kernels or source descriptors; array reads are
/// bound to slots.
namespace anabranch::plan {

struct Options {
  bool in_place = true;  ///< false: every array has memory of its own
};

Plan build(const ir::Staged& staged, const Options& options = {});

}  // namespace anabranch::plan
