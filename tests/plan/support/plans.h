#pragma once

#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fuse/arrays.h"
#include "lift/lift.h"
#include "plan/build.h"
#include "plan/in_place.h"
#include "support/pass_programs.h"

/// Programs taken through all passes, and their plans as text.
namespace anabranch::testing {

/// A plan and the program whose nodes it names.
struct Planned {
  ir::Staged staged;
  plan::Plan plan;
};

inline std::vector<const kernel::Kernel*> kernels_of(const plan::Group& group) {
  std::vector<const kernel::Kernel*> kernels;
  for (const plan::Step& step : group.steps)
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) kernels.push_back(&kernel->kernel);
  return kernels;
}

inline Planned planned(const TestProgram& program, const fuse::Options& options = {}) {
  Planned result{
      fuse::arrays(lift::lift(program.staged(true, options), {.sequences = sequences_with(options)}),
                   options),
      {}};
  result.plan = plan::build(result.staged);
  plan::verify_in_place(result.plan);
  for (const auto* kernel : kernels_of(result.plan.global)) kernel::verify(*kernel);
  for (const auto& stage : result.plan.stages)
    for (const auto* kernel : kernels_of(stage.group)) kernel::verify(*kernel);
  return result;
}

/// What ANABRANCH_DUMP=plan prints, without the lines of this file.
inline std::string text_of(const plan::Plan& plan) {
  return std::regex_replace(plan::to_string(plan), std::regex("@[a-z_]+\\.(cpp|h):[0-9]+"), "");
}

/// The steps of a group in their order: "kernel sum -> c1, scan d0, require".
inline std::string steps_of(const plan::Group& group) {
  std::string text;
  for (const plan::Step& step : group.steps) {
    text += text.empty() ? "" : ", ";
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
      text += "kernel " + kernel->kernel.name.substr(0, kernel->kernel.name.find('@')) + " -> " +
              fmt::format("{}", fmt::join(kernel->outputs, ", "));
    else if (const auto* scan = std::get_if<plan::OffsetsStep>(&step))
      text += "scan d" + std::to_string(scan->descriptor);
    else
      text += "require";
  }
  return text;
}

}  // namespace anabranch::testing
