#include "kernel/kernel.h"

#include <algorithm>

#include <fmt/format.h>

namespace anabranch::kernel {

using namespace ir;

const Row* row_of(const Kernel& kernel) {
  return std::visit(overloaded{[](const Map&) -> const Row* { return nullptr; },
                               [](const Reduce& reduce) -> const Row* { return &reduce.row; },
                               [](const Scan& scan) -> const Row* { return &scan.row; },
                               [](const Recurrence& form) -> const Row* { return &form.row; }},
                    kernel.form);
}

bool leaves_out_empty_rows(const Kernel& kernel) {
  const auto* const scan = std::get_if<Scan>(&kernel.form);
  return row_of(kernel) && !(scan && scan->kind.prefixes == ir::Prefixes::all) &&
         std::all_of(kernel.outputs.begin(), kernel.outputs.end(),
                     [](const KernelOutput& output) { return output.write == KernelOutput::Write::element; });
}

bool has_short_rows(const Kernel& kernel) {
  const Row* row = row_of(kernel);
  return row && !std::holds_alternative<Recurrence>(kernel.form) &&
         row->length.kind == KernelExtent::Kind::ragged;
}

namespace {
std::vector<ScalarType> types_of(const std::vector<Ref>& components) {
  std::vector<ScalarType> types;
  for (const Ref& component : components) types.push_back(component->type().scalars[0]);
  return types;
}
}  // namespace

std::vector<ScalarType> result_types(const Kernel& kernel) { return types_of(kernel.body); }

std::vector<ScalarType> stored_types(const Kernel& kernel) {
  return types_of(kernel.epilogue.body.empty() ? kernel.body : kernel.epilogue.body);
}

std::vector<const std::vector<Ref>*> other_bodies(const Kernel& kernel) {
  std::vector<const std::vector<Ref>*> bodies;
  std::visit(overloaded{[](const Map&) {},
                        [&](const Reduce& reduce) {
                          for (const Reduction& r : reduce.reductions) bodies.push_back(&r.combine);
                          for (const Reduction& r : reduce.reductions) bodies.push_back(&r.seed);
                        },
                        [&](const Scan& scan) {
                          bodies.push_back(&scan.reduction.combine);
                          bodies.push_back(&scan.reduction.seed);
                        },
                        [&](const Recurrence& form) { bodies.push_back(&form.initial); }},
             kernel.form);
  if (!kernel.epilogue.body.empty()) bodies.push_back(&kernel.epilogue.body);
  return bodies;
}

bool writes_in_place(const Kernel& kernel) {
  return std::any_of(kernel.arrays.begin(), kernel.arrays.end(),
                     [](const KernelArray& array) { return array.overwritten; });
}

bool all_seeded(const Reduce& reduce) {
  return std::none_of(reduce.reductions.begin(), reduce.reductions.end(),
                      [](const Reduction& r) { return r.seed.empty(); });
}

int empty_check(const Kernel& kernel) {
  for (std::size_t i = 0; i < kernel.checks.size(); ++i)
    if (kernel.checks[i].kind == Check::Kind::empty_fold) return static_cast<int>(i);
  throw InternalError(fmt::format("kernel {}: no check for empty rows", kernel.name));
}

}  // namespace anabranch::kernel
