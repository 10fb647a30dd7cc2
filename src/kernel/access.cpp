#include "kernel/access.h"

#include <algorithm>

#include "ir/views.h"
#include "kernel/pointwise.h"
#include "kernel/regions.h"

namespace anabranch::kernel {

namespace {

/// Positions along a dimension that has so few are computed together, and so many in all two such dimensions may have.
constexpr std::int64_t most_together = 8, most_innermost_together = 16, most_of_block = 4096;
/// Bodies that cost more, for all these positions, are computed one by one.
constexpr std::int64_t most_together_cost = 6400;
/// Dimensions of fewer elements are not worth that; of these vectors of any width are filled, if not by the last ones.
constexpr std::int64_t least_along = 16;

bool mentions(const ir::Node& node, const ir::Ref& parameter) {
  const auto& free = node.free();
  return std::find(free.begin(), free.end(), parameter.get()) != free.end();
}

/// Rows whose length is known, and of which a few are computed together because they read something in common.
std::optional<Lanes::Together> rows_together(const Kernel& kernel) {
  const std::size_t rank = kernel.domain.extents.size();
  const KernelExtent &rows = kernel.domain.extents[rank - 2], &length = kernel.domain.extents[rank - 1];
  const auto is_constant = [](const KernelExtent& e) { return e.kind == KernelExtent::Kind::constant; };
  if (!is_constant(rows) || rows.value < 2 || rows.value > most_together || !is_constant(length) ||
      length.value % least_along != 0 || length.value > most_of_block / rows.value)
    return {};
  const auto nodes = reachable(kernel.body);
  const bool share = std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
    return is_read(node->op()) && mentions(*node, kernel.index[rank - 1]) &&
           !mentions(*node, kernel.index[rank - 2]);
  });
  if (!share) return {};
  return Lanes::Together{rank - 2, rows.value, rows.value * length.value};
}

/// An innermost dimension that is so short, if what is read lies along the one before it.
std::optional<Lanes::Together> columns_together(const Kernel& kernel) {
  const std::size_t rank = kernel.domain.extents.size();
  const KernelExtent &length = kernel.domain.extents[rank - 2], &columns = kernel.domain.extents[rank - 1];
  const auto is_constant = [](const KernelExtent& e) { return e.kind == KernelExtent::Kind::constant; };
  if (!is_constant(columns) || columns.value < 2 || columns.value > most_innermost_together ||
      (is_constant(length) && length.value < least_along))
    return {};
  const Accesses accesses(kernel, Lanes{.kind = Lanes::Kind::innermost, .dimension = rank - 2});
  bool moves = false;
  for (const ir::Node* read : accesses.reads()) {
    const AccessPattern pattern = pattern_of(accesses.of(*read));
    if (pattern != AccessPattern::broadcast && pattern != AccessPattern::contiguous) return {};
    moves = moves || pattern == AccessPattern::contiguous;
  }
  if (!moves) return {};
  const bool one_block = is_constant(length) && length.value <= most_of_block / columns.value;
  return Lanes::Together{rank - 1, columns.value,
                         columns.value * (one_block ? length.value : least_along * 4)};
}

/// Of a map along its innermost dimension.
Lanes innermost_lanes(const Kernel& kernel) {
  const std::size_t rank = kernel.domain.extents.size();
  Lanes out{.kind = Lanes::Kind::innermost, .dimension = rank - 1};
  if (rank < 2 || kernel.domain.form == Form::segmented || !kernel.checks.empty()) return out;
  const auto costs_at_most = [&](const Lanes::Together& together, std::int64_t most) {
    return Regions(kernel.body)[0].cost * together.extent <= most;
  };
  if (const auto columns = columns_together(kernel)) {
    if (!costs_at_most(*columns, most_together_cost)) return out;
    out.together = columns;
    out.dimension = rank - 2;
  } else if (!reads_across(kernel)) {
    const auto rows = rows_together(kernel);
    if (rows && costs_at_most(*rows, most_together_cost / 2)) out.together = rows;
  }
  return out;
}

}  // namespace

Lanes lanes_of(const Kernel& kernel) {
  using Kind = Lanes::Kind;
  const auto along = [&](Kind kind) -> Lanes {
    const std::size_t rank = kernel.domain.extents.size();
    return {.kind = kind, .dimension = rank == 0 ? 0 : rank - 1};
  };
  const auto rows = [&]() -> Lanes {
    if (!kernel.domain.extents.empty()) return along(Kind::innermost);
    return {kernel.domain.over_items ? Kind::items : Kind::alone};
  };
  const auto map = [&](const Map&) -> Lanes {
    if (is_flat(kernel)) return {Kind::positions};
    return kernel.domain.extents.empty() ? rows() : innermost_lanes(kernel);
  };
  const auto reduce = [&](const Reduce&) -> Lanes {
    return along(reduces_across(kernel) ? Kind::innermost : Kind::row);
  };
  const auto scan = [&](const Scan& form) -> Lanes {
    if (scans_across(kernel)) return along(Kind::innermost);
    return {Kind::row, form.kind.from_right ? -1 : 1};
  };
  return std::visit(overloaded{map, reduce, scan, [&](const Recurrence&) { return rows(); }}, kernel.form);
}

std::optional<Interior> interior_of(const Kernel& kernel, const Regions& regions) {
  const Lanes all = lanes_of(kernel);
  const Lanes::Kind lanes = all.kind;
  const Row* row = row_of(kernel);
  const auto* reduce = std::get_if<Reduce>(&kernel.form);
  const bool map = std::holds_alternative<Map>(kernel.form);
  ir::Ref inner;
  if (map && lanes == Lanes::Kind::innermost && all.dimension + 1 == kernel.index.size() &&
      !reads_across(kernel))
    inner = kernel.index.back();
  const bool in_order = reduce && reduce->order != ir::fold_order::OperatorClass::commutative;
  if (row && lanes == Lanes::Kind::row && !in_order) inner = row->index;
  if (!inner) return {};
  const auto same_in_row = [&](const ir::Node& node) {
    return std::all_of(node.free().begin(), node.free().end(), [&](const ir::Node* free) {
      const auto is = [&](const auto& bound) { return bound.parameter.get() == free; };
      return std::any_of(kernel.arrays.begin(), kernel.arrays.end(), is) ||
             std::any_of(kernel.scalars.begin(), kernel.scalars.end(), is) ||
             (free != inner.get() && std::any_of(kernel.index.begin(), kernel.index.end(),
                                                 [&](const ir::Ref& i) { return i.get() == free; }));
    });
  };
  Interior interior(same_in_row, regions, kernel.body, *inner);
  if (!interior.helps()) return {};
  return interior;
}

Accesses::Accesses(const Kernel& kernel, Assumed assumed)
    : Accesses(kernel, lanes_of(kernel), std::move(assumed)) {}

Accesses::Accesses(const Kernel& kernel, const Lanes& lanes, Assumed assumed)
    : kernel_(kernel), assumed_(std::move(assumed)) {
  flat_ = lanes.kind == Lanes::Kind::positions;
  bind_parameters(lanes);
  std::vector<ir::Ref> roots = kernel.body;
  for (const auto* body : other_bodies(kernel)) roots.insert(roots.end(), body->begin(), body->end());
  const std::vector<const ir::Node*> nodes = reachable(roots);
  // What a loop begins with may be made of what another one gives.
  do look_at(nodes);
  while (settle_loops(nodes));
  for (const ir::Node* node : nodes)
    if (is_read(node->op())) order_.push_back(node);
}

void Accesses::bind_parameters(const Lanes& lanes) {
  using Kind = Lanes::Kind;
  if (lanes.kind == Kind::items) item_ = Motion::steady(1);
  for (const KernelArray& array : kernel_.arrays) views_[array.parameter.get()] = view(array);
  for (const KernelScalar& scalar : kernel_.scalars) values_[scalar.parameter.get()] = {extent(scalar.value)};
  for (const ir::Ref& index : kernel_.index)
    values_[index.get()] = {lanes.kind == Kind::positions ? Motion{} : Motion::same()};
  if (lanes.kind == Kind::innermost) values_[kernel_.index[lanes.dimension].get()] = {Motion::steady(1)};
  if (const Row* row = row_of(kernel_))
    values_[row->index.get()] = {lanes.kind == Kind::row ? Motion::steady(lanes.step) : Motion::same()};
}

Motion Accesses::extent(const KernelExtent& extent) const {
  if (extent.kind == KernelExtent::Kind::constant) return Motion::same(extent.value);
  if (extent.kind == KernelExtent::Kind::number) return sum(Motion::same(), item_);
  return extent.same_for_all() || item_.is_same() ? Motion::same() : Motion{};
}

Accesses::View Accesses::view(const Layout& layout) const {
  View view;
  for (const KernelExtent& e : layout.extents) view.extents.push_back(extent(e));
  switch (layout.form) {
    case Form::avoided:
      view.base = Motion::same(0);
      break;
    case Form::regular: {
      Motion size = Motion::same(1);
      for (const Motion& e : view.extents) size = product(size, e);
      view.base = product(item_, size);
      break;
    }
    case Form::segmented:
      view.base = item_.is_same() ? Motion::same() : Motion{};
      break;
  }
  return view;
}

bool Accesses::varies(const ir::Node& node) const {
  return std::any_of(node.free().begin(), node.free().end(), [&](const ir::Node* free) {
    if (free->type().is_array()) return !views_.at(free).base.is_same();
    const auto known = values_.find(free);
    return known == values_.end() || std::any_of(known->second.begin(), known->second.end(),
                                                 [](const Motion& m) { return !m.is_same(); });
  });
}

void Accesses::look_at(const std::vector<const ir::Node*>& nodes) {
  for (const ir::Node* node : nodes)
    if (node->op() != ir::Op::parameter) values_[node] = of_node(*node);
}

/// What is known of the states of loops now that what they begin with is. True if that is news.
bool Accesses::settle_loops(const std::vector<const ir::Node*>& nodes) {
  bool news = false;
  for (const ir::Node* node : nodes) {
    if (node->op() != ir::Op::while_loop) continue;
    const ir::WhileLoop loop(*node);
    std::vector<bool> same;
    for (const Motion& m : known(*loop.initial())) same.push_back(m.is_same());
    const auto differs = [&](const ir::Node& term) { return varies(term); };
    if (varies(*node) || std::find(same.begin(), same.end(), false) != same.end())
      same = in_step(*node, std::move(same), differs);
    Motions state;
    for (const bool is_same : same) state.push_back(is_same ? Motion::same() : Motion{});
    for (const ir::Ref& function : {loop.predicate(), loop.body()}) {
      Motions& known = values_[function->parameters()[0].get()];
      if (known == state) continue;
      known = state;
      news = true;
    }
  }
  return news;
}

std::vector<Motion> Accesses::index(const ir::Node& read) const { return known(*ir::Read(read).at()); }

Motion Accesses::position(const ir::Node& read) const {
  if (flat_ && is_pointwise(kernel_, read)) return Motion::steady(1);
  const View& view = views_.at(ir::Read(read).array().get());
  const Motions index = this->index(read);
  Motion linear = Motion::same(0);
  if (read.op() == ir::Op::linear_index)
    linear = index[0];
  else
    for (std::size_t d = 0; d < index.size(); ++d)
      linear = d == 0 ? index[0] : sum(product(linear, view.extents[d]), index[d]);
  return sum(view.base, linear);
}

/// Nothing of the states of loops that have not been looked at.
Accesses::Motions Accesses::known(const ir::Node& node) const {
  const auto found = values_.find(&node);
  return found == values_.end() ? Motions(static_cast<std::size_t>(node.type().components())) : found->second;
}

/// Of terms other than parameters.
Accesses::Motions Accesses::of_node(const ir::Node& node) {
  const auto components = static_cast<std::size_t>(node.type().components());
  const auto all_same = [](const Motions& motions) {
    return std::all_of(motions.begin(), motions.end(), [](const Motion& m) { return m.is_same(); });
  };
  switch (node.op().as<ir::ScalarOp>()) {
    case ir::Op::constant: {
      const ScalarType type = node.type().scalars[0];
      const bool is_known = type == ScalarType::int64 || type == ScalarType::boolean;
      return {is_known ? Motion::same(static_cast<std::int64_t>(node.payload().bits)) : Motion::same()};
    }
    case ir::Op::primitive: {
      Motions operands;
      for (const ir::Ref& child : node.children()) operands.push_back(known(*child)[0]);
      if (const auto found = assumed_.find(&node); found != assumed_.end())
        return {ir::info(node.payload().primitive).boolean_result
                    ? Motion::same(found->second)
                    : operands[static_cast<std::size_t>(found->second)]};
      return {of_primitive(node.payload().primitive, ir::PrimitiveTerm(node).operand_type(), operands)};
    }
    case ir::Op::tuple: {
      Motions all;
      for (const ir::Ref& child : node.children())
        for (const Motion& m : known(*child)) all.push_back(m);
      return all;
    }
    case ir::Op::project: {
      const Motions all = known(*ir::Project(node).value());
      const auto first = all.begin() + node.payload().first;
      return {first, first + node.payload().count};
    }
    case ir::Op::cond: {
      const ir::Cond cond(node);
      const Motions x = known(*cond.then()), y = known(*cond.otherwise());
      const Motion condition = known(*cond.condition())[0];
      if (condition.constant) return *condition.constant != 0 ? x : y;
      Motions out(components);
      for (std::size_t c = 0; c < components; ++c)
        if (condition.is_same() && x[c].is_same() && y[c].is_same()) out[c] = Motion::same();
      return out;
    }
    case ir::Op::while_loop: {
      const bool one = all_same(known(*ir::WhileLoop(node).initial())) && !varies(node);
      return Motions(components, one ? Motion::same() : Motion{});
    }
    case ir::Op::index:
    case ir::Op::linear_index: {
      const Motion at = reads_[&node] = position(node);
      return Motions(components, at.is_same() ? Motion::same() : Motion{});
    }
    case ir::Op::shape:
      break;
  }
  throw InternalError(std::string("kernel body: ") + name_of(node.op()) + " is not a scalar operation");
}

}  // namespace anabranch::kernel
