#include "report/counts.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace anabranch::report {

namespace {
std::size_t at(int number) { return static_cast<std::size_t>(number); }
}  // namespace

std::string Counts::uniform_text(const plan::Group& group, int number) {
  std::string lets;
  std::string text = printer_.scalar(group.uniforms[at(number)], lets, "");
  // What is bound to names is too long to be told in passing.
  return lets.empty() ? text : "a number known at run time";
}

std::string Counts::extent_text(const plan::Group& group, const plan::PlanExtent& extent) {
  using Kind = plan::PlanExtent::Kind;
  switch (extent.kind) {
    case Kind::constant:
      return fmt::format("{}", extent.value);
    case Kind::uniform:
      return uniform_text(group, extent.index);
    case Kind::per_item:
      return "an extent of the item";
    case Kind::item_extent:
      return fmt::format("extent {} of the item", extent.dimension);
  }
  return "?";
}

std::string Counts::under(const plan::Group& group, int number) {
  const plan::Descriptor& d = group.descriptors[at(number)];
  if (d.item >= 0)
    for (const plan::PlanArray& array : group.arrays)
      if (array.origin == plan::PlanArray::Origin::item && array.index == d.item)
        return "elements of " + printer_.name(*array.node);
  return fmt::format("elements of {}", d.what);
}

std::string Counts::of(const plan::Group& group, const plan::PlanLayout& layout) {
  if (layout.form == ir::Form::segmented) return under(group, layout.descriptor);
  std::vector<std::string> factors;
  if (layout.form == ir::Form::regular && !group.domains.empty()) factors.emplace_back("items");
  for (const plan::PlanExtent& e : layout.extents)
    if (e.kind != plan::PlanExtent::Kind::constant || e.value != 1) factors.push_back(extent_text(group, e));
  return factors.empty() ? "once" : fmt::format("{}", fmt::join(factors, " x "));
}

std::string Counts::elements_of(const plan::Group& group, const plan::KernelStep& step) {
  const kernel::Row* row = kernel::row_of(step.kernel);
  std::string positions = of(group, step.positions);
  if (!row) return positions;
  if (row->work_offsets >= 0) return under(group, step.buffers[at(row->work_offsets)].index);
  const kernel::KernelExtent& length = row->length;
  std::string of_row = "the length of a row";
  if (length.kind == kernel::KernelExtent::Kind::constant) of_row = fmt::format("{}", length.value);
  if (length.kind == kernel::KernelExtent::Kind::uniform)
    of_row = uniform_text(group, step.scalars[at(length.slot)]);
  return positions == "once" ? of_row : positions + " x " + of_row;
}

}  // namespace anabranch::report
