#include "run/chunks/chunk_group.h"

namespace anabranch::runtime {

void ChunkGroup::run_steps() {
  took_equal_items_ = false;
  const std::vector<plan::Step>& steps = stage_.group.steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::visit([&](const auto& step) { run_step(step, s); }, steps[s]);
    give_back_after(s);
  }
}

std::vector<std::int64_t> ChunkGroup::scalars_of(const plan::KernelStep& step,
                                                 const plan::EqualItems* equal) {
  std::vector<std::int64_t> scalars;
  for (const int uniform : step.scalars)
    scalars.push_back(uniform == plan::first_item ? shape_.first_item
                                                  : shape_.uniforms[static_cast<std::size_t>(uniform)]);
  if (equal)
    for (const plan::PlanExtent& extent : equal->extents)
      scalars.push_back(*common(extent, step.positions.domain));
  return scalars;
}

}  // namespace anabranch::runtime
