#include "report/kernel_reads.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/views.h"
#include "ir/walk.h"
#include "kernel/component_use.h"
#include "kernel/pointwise.h"

namespace anabranch::report {

using ir::Node;
using ir::Ref;

namespace {

/// How often what is the same for neighbours is read.
std::string shared_by(const kernel::Kernel& k, const Node& read) {
  std::vector<Ref> position = k.index;
  if (const kernel::Row* row = kernel::row_of(k)) position.push_back(row->index);
  if (ir::mentions(read, position)) return "once for neighbours";
  const auto mentioned = [&](const auto& bound) { return ir::mentions(read, {&bound.parameter, 1}); };
  const bool of_items = std::any_of(k.arrays.begin(), k.arrays.end(), [&](const auto& array) {
    return array.form != ir::Form::avoided && mentioned(array);
  });
  const bool by_items = std::any_of(k.scalars.begin(), k.scalars.end(), [&](const auto& scalar) {
    return !scalar.value.same_for_all() && mentioned(scalar);
  });
  return of_items || by_items ? "items" : "once";
}

/// Is it one of ragged rows of which many short ones are reduced at a time? (The rule of the code generator for the CPU.)
bool takes_short_rows(const kernel::Kernel& k) {
  const auto* fold = std::get_if<kernel::Reduce>(&k.form);
  return fold && fold->order == ir::fold_order::OperatorClass::commutative && k.domain.over_items &&
         k.domain.extents.empty() && fold->row.length.kind == kernel::KernelExtent::Kind::ragged &&
         kernel::is_flat_fold(k) && !kernel::checks_own_elements(k);
}

class Reads {
 public:
  explicit Reads(const kernel::Kernel& k)
      : kernel_(k),
        regions_(k.body),
        anywhere_(k),
        interior_(kernel::interior_of(k, regions_)),
        inside_(k, interior_ ? interior_->assumed() : kernel::Assumed{}),
        use_(k),
        always_(regions_[0].nodes.begin(), regions_[0].nodes.end()) {
    const std::vector<const Node*> body = kernel::reachable(k.body);
    in_body_.insert(body.begin(), body.end());
    find_loops(0, false);
  }

  std::vector<KernelRead> all() const {
    std::vector<KernelRead> out;
    for (std::size_t a = 0; a < kernel_.arrays.size(); ++a)
      for (const Node* node : anywhere_.reads())
        if (ir::Read(*node).array() == kernel_.arrays[a].parameter) out.push_back(one(*node, a));
    return out;
  }

 private:
  KernelRead one(const Node& node, std::size_t array) const {
    KernelRead read;
    read.node = &node;
    read.array = array;
    read.inside_borders = kernel::pattern_of(inside_.of(node)) != kernel::pattern_of(anywhere_.of(node));
    const kernel::Accesses& accesses = read.inside_borders ? inside_ : anywhere_;
    read.position = accesses.of(node);
    read.index = accesses.index(node);
    // What the form's own bodies read is no part of an element.
    read.where_needed = in_body_.contains(&node) && !always_.contains(&node);
    read.in_loop = in_loop_.contains(&node);
    const ir::Scalars& scalars = kernel_.arrays[array].type.scalars;
    for (std::size_t c = 0; c < scalars.size(); ++c)
      if (use_.of_array(array, c)) read.bytes += static_cast<std::int64_t>(size_of(scalars[c]));
    read.shared = shared_by(kernel_, node);
    check(node, read);
    return read;
  }

  void find_loops(int region, bool in_loop) {
    using Kind = kernel::Region::Kind;
    for (const Node* node : regions_[region].nodes) {
      if (in_loop) in_loop_.insert(node);
      if (node->op() != ir::Op::cond && node->op() != ir::Op::while_loop) continue;
      for (const int side : {0, 1}) {
        const int inner = regions_.inner(region, *node) + side;
        const Kind kind = regions_[inner].kind;
        find_loops(inner, in_loop || kind == Kind::predicate || kind == Kind::loop);
      }
    }
  }

  void check(const Node& node, KernelRead& read) const {
    const bool checked = std::any_of(kernel_.checks.begin(), kernel_.checks.end(),
                                     [&](const kernel::Check& c) { return c.node == &node; });
    if (!checked) {
      const bool own = kernel::row_of(kernel_) ? kernel::at_own_element(kernel_, node)
                                               : kernel::is_pointwise(kernel_, node);
      read.check = own ? CheckKind::own_element : CheckKind::known;
      read.why = own ? "the reader's own position" : "known to be in range";
      return;
    }
    const std::vector<const Node*> position = kernel::reachable({&ir::Read(node).at(), 1});
    const bool by_elements =
        std::any_of(position.begin(), position.end(), [](const Node* n) { return ir::is_read(n->op()); });
    const bool inside = interior_ && interior_->assumed().contains(&node);
    read.check = inside ? CheckKind::at_borders : CheckKind::checked;
    read.why = by_elements ? "elements of another array decide the position"
                           : "the position is computed, and nothing shows that it is in range";
  }

  const kernel::Kernel& kernel_;
  const kernel::Regions regions_;
  const kernel::Accesses anywhere_;
  const std::optional<kernel::Interior> interior_;
  const kernel::Accesses inside_;
  const kernel::ComponentUse use_;
  std::unordered_set<const Node*> always_, in_body_, in_loop_;
};

}  // namespace

std::vector<KernelRead> reads_of(const kernel::Kernel& kernel) { return Reads(kernel).all(); }

const char* lanes_text(const kernel::Kernel& kernel) {
  using Kind = kernel::Lanes::Kind;
  const kernel::Lanes lanes = kernel::lanes_of(kernel);
  switch (lanes.kind) {
    case Kind::alone:
      return "one position";
    case Kind::positions:
      return "neighbouring positions, whatever the shapes";
    case Kind::items:
      return "neighbouring items";
    case Kind::innermost:
      if (lanes.together && lanes.together->dimension > lanes.dimension)
        return "neighbours along the last dimension but one; all positions along the last one together";
      if (lanes.together)
        return "neighbours along the innermost dimension; all positions along the one before it together";
      return kernel::reads_across(kernel) || kernel::reduces_tiles(kernel)
                 ? "neighbours along the innermost dimension, in tiles"
                 : "neighbours along the innermost dimension";
    case Kind::row:
      if (takes_short_rows(kernel)) return "neighbouring elements of a row; of short rows, several at a time";
      return lanes.step > 0 ? "neighbouring elements of a row"
                            : "neighbouring elements of a row, from the right";
  }
  return "?";
}

}  // namespace anabranch::report
