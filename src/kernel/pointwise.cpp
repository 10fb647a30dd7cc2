#include "kernel/pointwise.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"
#include "kernel/regions.h"

namespace anabranch::kernel {

namespace {

using Reads = std::function<bool(const ir::Node&)>;

bool is_like_domain(const Kernel& kernel, const KernelArray& array) {
  if (array.form != kernel.domain.form || array.extents != kernel.domain.extents) return false;
  return array.form != Form::segmented ||
         (array.offsets == kernel.domain.offsets && array.offset_type == kernel.domain.offset_type);
}

/// Is the index of a read just these parameters, in this order?
bool has_index(const ir::Node& read, const std::vector<ir::Ref>& parameters) {
  const ir::Ref& index = ir::Read(read).at();
  if (parameters.size() == 1 && index == parameters[0]) return true;
  return index->op() == ir::Op::tuple &&
         std::equal(index->children().begin(), index->children().end(), parameters.begin(), parameters.end());
}

/// Do the bodies, these reads aside, depend on nothing that differs from position to position, or from
/// element to element? `items`: on nothing, either, that differs from item to item.
bool all_else_is_shared(const Kernel& kernel, const std::vector<ir::Ref>& bodies, const Reads& own,
                        bool items = true) {
  std::vector<ir::Ref> places = kernel.index;
  if (const Row* row = row_of(kernel)) places.push_back(row->index);
  for (const ir::Node* node : reachable(bodies, own)) {
    if (own(*node)) continue;
    if (node->op() == ir::Op::parameter) {
      for (const auto& place : places)
        if (place.get() == node) return false;
      for (const auto& scalar : kernel.scalars)
        if (items && scalar.parameter.get() == node && !scalar.value.same_for_all()) return false;
    }
    if (!is_read(node->op())) continue;
    const KernelArray* array = array_of(kernel, *node);
    if (array && array->form != Form::avoided) return false;
  }
  return true;
}

/// Are the rows of a fold over this array what the items' parts of the array are?
bool rows_are_items(const Kernel& kernel, const KernelArray& array) {
  const KernelExtent& length = row_of(kernel)->length;
  return kernel.domain.form == Form::regular && kernel.domain.extents.empty() &&
         array.form == Form::segmented && array.extents.size() == 1 && array.extents[0] == length &&
         length.kind == KernelExtent::Kind::ragged && length.divisor_kind == KernelExtent::Kind::constant &&
         length.divisor == 1 && length.slot == array.offsets && length.offsets == array.offset_type;
}

/// Are they the innermost rows of a dense array?
bool rows_are_dense(const Kernel& kernel, const KernelArray& array) {
  if (array.form != kernel.domain.form || array.form == Form::segmented) return false;
  std::vector<KernelExtent> extents = kernel.domain.extents;
  extents.push_back(row_of(kernel)->length);
  return array.extents == extents &&
         std::all_of(extents.begin(), extents.end(), [](const KernelExtent& e) { return e.same_for_all(); });
}

}  // namespace

const KernelArray* array_of(const Kernel& kernel, const ir::Node& read) {
  for (const auto& array : kernel.arrays)
    if (array.parameter == ir::Read(read).array()) return &array;
  return nullptr;
}

bool is_pointwise(const Kernel& kernel, const ir::Node& node) {
  if (node.op() != ir::Op::index) return false;
  const KernelArray* array = array_of(kernel, node);
  return array && is_like_domain(kernel, *array) && has_index(node, kernel.index);
}

bool is_read_pointwise(const Kernel& kernel, std::size_t number) {
  const KernelArray& array = kernel.arrays[number];
  if (!is_like_domain(kernel, array)) return false;
  const auto nodes = reachable(kernel.body);
  return std::all_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
    return !is_read(node->op()) || ir::Read(*node).array() != array.parameter || is_pointwise(kernel, *node);
  });
}

bool may_overwrite(const Kernel& kernel) {
  return std::holds_alternative<Map>(kernel.form) && kernel.checks.empty();
}

bool is_flat(const Kernel& kernel) {
  if (kernel.domain.extents.empty()) return false;
  return all_else_is_shared(kernel, kernel.body,
                            [&](const ir::Node& node) { return is_pointwise(kernel, node); });
}

bool at_own_element(const Kernel& kernel, const ir::Node& node) {
  if (node.op() != ir::Op::index) return false;
  const KernelArray* array = array_of(kernel, node);
  if (!array || (!rows_are_items(kernel, *array) && !rows_are_dense(kernel, *array))) return false;
  std::vector<ir::Ref> index = kernel.index;
  index.push_back(row_of(kernel)->index);
  return has_index(node, index);
}

bool is_flat_fold(const Kernel& kernel) {
  const Reads own = [&](const ir::Node& node) { return at_own_element(kernel, node); };
  const auto nodes = reachable(kernel.body, own);
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) { return own(*node); }) &&
         all_else_is_shared(kernel, kernel.body, own);
}

bool has_flat_epilogue(const Kernel& kernel) {
  const bool one_for_each_item = kernel.domain.over_items && kernel.domain.extents.empty();
  return all_else_is_shared(
      kernel, kernel.epilogue.body, [&](const ir::Node& node) { return is_pointwise(kernel, node); },
      !one_for_each_item);
}

bool has_epilogue_along_rows(const Kernel& kernel) {
  return all_else_is_shared(kernel, kernel.epilogue.body,
                            [&](const ir::Node& node) { return at_own_element(kernel, node); });
}

bool checks_own_elements(const Kernel& kernel) {
  return std::any_of(kernel.checks.begin(), kernel.checks.end(), [&](const Check& check) {
    return check.node && is_read(check.node->op()) && at_own_element(kernel, *check.node);
  });
}

namespace {
/// Is an array read so that `along` moves the last component of the index, and `across` another one only?
bool reads_turned(const Kernel& kernel, const ir::Ref& along, const ir::Ref& across) {
  const auto moves_with = [](const ir::Ref& component, const ir::Ref& parameter) {
    return ir::mentions(*component, {&parameter, 1});
  };
  for (const ir::Node* node : reachable(kernel.body)) {
    if (node->op() != ir::Op::index || ir::Read(*node).at()->op() != ir::Op::tuple) continue;
    const auto index = ir::Read(*node).at()->children();
    if (index.size() < 2 || !moves_with(index.back(), along) || moves_with(index.back(), across)) continue;
    if (std::any_of(index.begin(), index.end() - 1, [&](const ir::Ref& c) { return moves_with(c, across); }))
      return true;
  }
  return false;
}
}  // namespace

bool reads_across(const Kernel& kernel) {
  const std::size_t rank = kernel.domain.extents.size();
  return std::holds_alternative<Map>(kernel.form) && kernel.domain.form != Form::segmented && rank >= 2 &&
         kernel.checks.empty() && reads_turned(kernel, kernel.index[rank - 2], kernel.index[rank - 1]);
}

bool scans_across(const Kernel& kernel) {
  const auto* scan = std::get_if<Scan>(&kernel.form);
  return scan && scan->axis && kernel.checks.empty();
}

bool reduces_across(const Kernel& kernel) {
  const auto of_a_row = [](const Check& check) { return check.kind == Check::Kind::empty_fold; };
  const Row* row = row_of(kernel);
  constexpr std::size_t most_components = 8;  // their lanes are in the stack frame
  const auto alone = [](const KernelOutput& output) { return output.of == 1; };
  return std::holds_alternative<Reduce>(kernel.form) && kernel.domain.form != Form::segmented &&
         kernel.body.size() <= most_components && !kernel.domain.extents.empty() &&
         row->length.same_for_all() && std::all_of(kernel.outputs.begin(), kernel.outputs.end(), alone) &&
         std::all_of(kernel.checks.begin(), kernel.checks.end(), of_a_row) &&
         reads_turned(kernel, kernel.index.back(), row->index);
}

bool reduces_tiles(const Kernel& kernel) {
  const std::size_t rank = kernel.index.size();
  if (rank < 2 || !reduces_across(kernel)) return false;
  const auto nodes = reachable(kernel.body);
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
    if (node->op() != ir::Op::index) return false;
    const ir::Ref& at = ir::Read(*node).at();
    return ir::mentions(*at, {&kernel.index[rank - 1], 1}) &&
           !ir::mentions(*at, {&kernel.index[rank - 2], 1});
  });
}

}  // namespace anabranch::kernel
