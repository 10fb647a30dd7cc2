#pragma once

#include <cstdint>
#include <vector>

#include <anabranch/source.h>

#include "plan/plan.h"
#include "run/context/stage_output.h"

/// Results of a stage as chunks are laid out (source.h).
namespace anabranch::runtime {

/// What the plan knows of a result's extents. `uniforms`: their values.
ArrayInfo info_of(const plan::PlanArray& array, const std::vector<std::int64_t>& uniforms);
/// Offsets and extents of the items of a part, as far as `info` leaves them open.
void set_shapes(ArrayChunk& array, const ArrayInfo& info, std::int64_t items, const PartShape::Result& part);

}  // namespace anabranch::runtime
