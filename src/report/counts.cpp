#include "report/counts.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::report {

namespace {
std::size_t at(int number) { return static_cast<std::size_t>(number); }
}  // namespace

std::int64_t Counts::width_of(const ir::Scalars& scalars) {
  std::int64_t width = 0;
  for (const ScalarType s : scalars) width += static_cast<std::int64_t>(size_of(s));
  return width;
}

std::string Counts::text(const Factors& factors) {
  return factors.empty() ? "once" : fmt::format("{}", fmt::join(factors, " x "));
}

std::string Counts::scalar_text(const ir::Ref& expression) {
  // With its own names of temporaries: those of the program, and of other expressions, mean nothing here.
  ir::Printer printer;
  const auto enter = [](const ir::Node& node) { return !node.type().is_array(); };
  for (const ir::Node* node : ir::topological({&expression, 1}, enter)) {
    const bool of_shape = node->op() == ir::Op::project && ir::Project(*node).value()->op() == ir::Op::shape;
    if (node->type().is_array())
      printer.set_name(*node, printer_.name(*node));
    else if (node->op() == ir::Op::shape)
      printer.set_name(*node, fmt::format("shape({})", printer.name(*ir::ShapeOf(*node).array())));
    else if (of_shape)
      printer.set_name(
          *node, fmt::format("{}.{}", printer.name(*ir::Project(*node).value()), ir::Project(*node).first()));
  }
  std::string lets;
  std::string text = printer.scalar(expression, lets, "");
  // What is bound to names is too long to be told in passing.
  return lets.empty() ? text : unknown;
}

std::string Counts::extent_text(const plan::Group& group, const plan::PlanExtent& extent) {
  using Kind = plan::PlanExtent::Kind;
  switch (extent.kind) {
    case Kind::constant:
      return fmt::format("{}", extent.value);
    case Kind::uniform:
      return scalar_text(group.uniforms[at(extent.index)]);
    case Kind::per_item:
      return "an extent of the item";
    case Kind::item_extent:
      return fmt::format("extent {} of the item", extent.dimension);
  }
  return "?";
}

std::string Counts::name_of(const plan::Group& group, int number) {
  const plan::Descriptor& d = group.descriptors[at(number)];
  for (const plan::PlanArray& array : group.arrays) {
    const bool of_item = array.origin == plan::PlanArray::Origin::item && array.index == d.item;
    if (d.item >= 0 ? of_item : array.form == ir::Form::segmented && array.descriptor == number)
      return printer_.name(*array.node);
  }
  return d.place.known() ? fmt::format("{} ({})", d.what, to_string(d.place)) : d.what;
}

Counts::Factors Counts::of(const plan::Group& group, const plan::PlanLayout& layout) {
  if (layout.form == ir::Form::segmented) return {"elements of " + name_of(group, layout.descriptor)};
  Factors factors;
  if (layout.form == ir::Form::regular && !group.domains.empty() &&
      !group.domains[at(layout.domain)].first_only)
    factors.emplace_back("items");
  for (const plan::PlanExtent& e : layout.extents)
    if (e.kind != plan::PlanExtent::Kind::constant || e.value != 1) factors.push_back(extent_text(group, e));
  return factors;
}

Counts::Factors Counts::elements_of(const plan::Group& group, const plan::KernelStep& step) {
  const kernel::Row* row = kernel::row_of(step.kernel);
  Factors positions = of(group, step.positions);
  if (!row) return positions;
  if (row->work_offsets >= 0)
    return {"elements of " + name_of(group, step.buffers[at(row->work_offsets)].index)};
  const kernel::KernelExtent& length = row->length;
  std::string of_row = "the length of a row";
  if (length.kind == kernel::KernelExtent::Kind::constant) of_row = fmt::format("{}", length.value);
  if (length.kind == kernel::KernelExtent::Kind::uniform)
    of_row = scalar_text(group.uniforms[at(step.scalars[at(length.slot)])]);
  positions.push_back(std::move(of_row));
  return positions;
}

bool Counts::is_lesser(Factors some, Factors other) {
  for (auto factor = some.begin(); factor != some.end();) {
    const auto same = std::find(other.begin(), other.end(), *factor);
    if (same == other.end()) {
      ++factor;
      continue;
    }
    other.erase(same);
    factor = some.erase(factor);
  }
  // -1: not known.
  const auto product_of = [](const Factors& factors) {
    double product = 1;
    for (const std::string& factor : factors) {
      if (factor.find_first_not_of("0123456789") != std::string::npos) return -1.0;
      product *= std::strtod(factor.c_str(), nullptr);
    }
    return product;
  };
  if (some.empty()) return true;
  return product_of(some) >= 0 && product_of(some) <= product_of(other);
}

}  // namespace anabranch::report
