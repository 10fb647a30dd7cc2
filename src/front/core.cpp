#include <anabranch/detail/core.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "front/handle.h"
#include "ir/batch.h"
#include "ir/make.h"
#include "ir/op_info.h"
#include "ir/operator_class.h"
#include "ir/views.h"

// The erased core of the public headers: each function turns handles into nodes and calls the checked
// constructor.
namespace anabranch {

namespace front {
std::vector<ir::Ref> nodes_of(const detail::Handles& handles) {
  std::vector<ir::Ref> nodes;
  nodes.reserve(handles.size());
  for (const detail::Handle& h : handles) nodes.push_back(node_of(h));
  return nodes;
}
}  // namespace front

namespace detail {

// NOLINTBEGIN(performance-unnecessary-value-param): the headers, which call these, give their vectors away.

using front::handle_of;
using front::node_of;
using front::nodes_of;

namespace {
const ir::Node* core(const void* node) { return static_cast<const ir::Node*>(node); }
}  // namespace

Handle::Handle(const Handle& other) noexcept : node_(other.node_) { ir::Ref::retain(core(node_)); }

Handle Handle::adopt(const void* node) noexcept {
  Handle handle;
  handle.node_ = node;
  ir::Ref::retain(core(node));
  return handle;
}

void Handle::release() noexcept {
  ir::Ref::release(core(node_));
  node_ = nullptr;
}

void check_dimension(const char* what, int d, int rank, Place at) {
  if (d >= 0 && d < rank) return;
  throw ProgramError(
      fmt::format("{}: there is no dimension {} in an array of rank {} ({})", what, d, rank, to_string(at)),
      at);
}

void check_permutation(std::span<const int> permutation, Place at) {
  std::vector<bool> seen(permutation.size());
  for (int d : permutation) {
    const bool there = d >= 0 && static_cast<std::size_t>(d) < seen.size();
    if (!there || seen[static_cast<std::size_t>(d)])
      throw ProgramError(fmt::format("transpose: ({}) is no permutation of the dimensions 0..{} ({})",
                                     fmt::join(permutation, ", "), permutation.size() - 1, to_string(at)),
                         at);
    seen[static_cast<std::size_t>(d)] = true;
  }
}

Handle element_parameter(std::span<const ScalarType> scalars, Place at) {
  return handle_of(ir::parameter(ir::Type::element({scalars.begin(), scalars.end()}), at));
}
Handle constant(ScalarType type, std::uint64_t bits, Place at) {
  return handle_of(ir::constant(type, bits, at));
}
Handle primitive(Primitive op, Handles operands, Place at) {
  return handle_of(ir::primitive(op, nodes_of(operands), at));
}
Handle cast(ScalarType to, const Handle& value, Place at) {
  return handle_of(ir::cast(to, node_of(value), at));
}
Handle bitcast(ScalarType to, const Handle& value, Place at) {
  return handle_of(ir::bitcast(to, node_of(value), at));
}
Handle tuple(Handles parts, Place at) { return handle_of(ir::tuple(nodes_of(parts), at)); }
Handle project(const Handle& value, int first, int count, Place at) {
  return handle_of(ir::project(node_of(value), first, count, at));
}
Handle cond(const Handle& c, const Handle& then, const Handle& otherwise, Place at) {
  return handle_of(ir::cond(node_of(c), node_of(then), node_of(otherwise), at));
}
Handle while_loop(const Handle& predicate, const Handle& body, const Handle& initial, Place at) {
  return handle_of(ir::while_loop(node_of(predicate), node_of(body), node_of(initial), at));
}
Handle index(const Handle& array, const Handle& ix, Place at, Symbol label) {
  return handle_of(ir::index(node_of(array), node_of(ix), at, false, label));
}
Handle linear_index(const Handle& array, const Handle& position, Place at) {
  // Passes take the element of an array of rank 0 wherever it is read; this one is read at a position.
  ir::Ref read = node_of(array);
  if (read && read->type().is_array() && read->type().rank == 0)
    read = ir::reshape(ir::tuple({ir::int64(1)}), read, at, "linear");
  return handle_of(ir::linear_index(read, node_of(position), at, false, "linear"));
}
Handle shape(const Handle& array, Place at) { return handle_of(ir::shape(node_of(array), at)); }
Handle lambda(Handles parameters, Handles results, Place at, Symbol label) {
  return handle_of(ir::lambda(nodes_of(parameters), nodes_of(results), at, label));
}

Handle array_parameter(int rank, std::span<const ScalarType> scalars, Place at) {
  return handle_of(ir::parameter(ir::Type::array(rank, {scalars.begin(), scalars.end()}), at));
}
Handle use(std::shared_ptr<ArrayData> array, Place at) { return handle_of(ir::use(std::move(array), at)); }
Handle unit(const Handle& element, Place at) { return handle_of(ir::unit(node_of(element), at)); }
Handle generate(const Handle& shape, const Handle& function, Place at, Symbol label) {
  return handle_of(ir::generate(node_of(shape), node_of(function), at, label));
}
Handle map(const Handle& function, Handles arrays, Place at, Symbol label) {
  return handle_of(ir::map(node_of(function), nodes_of(arrays), at, label));
}

namespace {
/// Dimension d of the result is dimension order[d] of the array.
ir::Ref permuted(const ir::Ref& array, const std::vector<int>& order, const Place& at) {
  const std::size_t rank = order.size();
  std::vector<ir::Ref> extents;
  for (const int d : order) extents.push_back(ir::extent(array, d));
  const ir::Ref ix = ir::parameter(ir::shape(array)->type(), at);
  std::vector<ir::Ref> from(rank);
  for (std::size_t d = 0; d < rank; ++d)
    from[static_cast<std::size_t>(order[d])] = ir::component(ix, static_cast<int>(d));
  return ir::backpermute(ir::tuple(extents, at), ir::lambda({ix}, {ir::tuple(from, at)}, at), array,
                         {.injective = true, .in_bounds = true}, at, "transpose");
}

/// The array with dimension `axis` moved to the innermost place.
ir::Ref innermost(const ir::Ref& array, int axis, const Place& at, const char* what) {
  if (!array || !array->type().is_array()) return array;  // for the constructor to refuse
  const int rank = array->type().rank;
  if (axis == rank - 1) return array;
  check_dimension(what, axis, rank, at);
  std::vector<int> order;
  for (int d = 0; d < rank; ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis);
  return permuted(array, order, at);
}

/// The array with its innermost dimension moved to place `axis`.
ir::Ref from_innermost(const ir::Ref& array, int axis, const Place& at) {
  const int rank = array->type().rank;
  if (axis == rank - 1) return array;
  std::vector<int> order;
  for (int d = 0; d < rank; ++d) order.push_back(d < axis ? d : d == axis ? rank - 1 : d - 1);
  return permuted(array, order, at);
}
}  // namespace

Handle fold(const Handle& function, const Handle& seed, const Handle& array, int axis, Place at,
            Symbol label) {
  const ir::Ref rows = innermost(node_of(array), axis, at, label ? label.c_str() : "fold");
  return handle_of(ir::fold(node_of(function), rows, node_of(seed), at, label));
}
Handles scan(const Handle& function, const Handle& seed, const Handle& array, int axis, ScanKind kind,
             Place at, Symbol label) {
  const ir::Ref rows = node_of(array);
  if (rows && rows->type().is_array())
    check_dimension(label ? label.c_str() : "scan", axis, rows->type().rank, at);
  const ir::Ref both = ir::scan(node_of(function), rows, node_of(seed), kind, axis, at, label);
  Handles results{handle_of(ir::project_array(both, 0, at))};
  if (both->type().arrays.size() > 1) results.push_back(handle_of(ir::project_array(both, 1, at)));
  return results;
}
Handle backpermute(const Handle& shape, const Handle& function, const Handle& array, IndexFacts facts,
                   Place at, Symbol label) {
  return handle_of(ir::backpermute(node_of(shape), node_of(function), node_of(array), facts, at, label));
}
Handle reshape(const Handle& shape, const Handle& array, Place at, Symbol label) {
  return handle_of(ir::reshape(node_of(shape), node_of(array), at, label));
}
Handle part(const Handle& shape, const Handle& array, const Handle& begin, bool consecutive, Place at,
            Symbol label) {
  return handle_of(ir::part(node_of(shape), node_of(array), node_of(begin), at, label, consecutive));
}
Handles sort(const Handle& array, int axis, Place at, Symbol label) {
  const ir::Ref rows = innermost(node_of(array), axis, at, label ? label.c_str() : "sort");
  const ir::Ref both = ir::sort(rows, at, label);
  return {handle_of(from_innermost(ir::project_array(both, 0, at), axis, at)),
          handle_of(from_innermost(ir::project_array(both, 1, at), axis, at))};
}
Handle select(const Handle& shape, const Handle& mask, const Handle& array, Place at, Symbol label) {
  return handle_of(ir::select(node_of(shape), node_of(mask), node_of(array), at, label));
}
Handles group(const Handle& shape, const Handle& places, bool drops, Place at, Symbol label) {
  const ir::Ref both = ir::group(node_of(shape), node_of(places), drops, at, label);
  return {handle_of(ir::project_array(both, 0, at)), handle_of(ir::project_array(both, 1, at))};
}
Handle last_at(const Handle& shape, const Handle& places, bool drops, Place at, Symbol label) {
  return handle_of(ir::last_at(node_of(shape), node_of(places), drops, at, label));
}
Handle accumulate(Primitive join, const Handle& shape, const Handle& places, const Handle& array, bool drops,
                  Place at, Symbol label) {
  return handle_of(ir::accumulate(join, node_of(shape), node_of(places), node_of(array), drops, at, label));
}
std::optional<Primitive> primitive_in_any_order(const Handle& function) {
  return ir::primitive_in_any_order(*node_of(function));
}
Handle repeat(const Handle& shape, const Handle& counts, Place at, Symbol label) {
  return handle_of(ir::repeat(node_of(shape), node_of(counts), at, label));
}
Handle consume(const Handle& terminal, Place at) { return handle_of(ir::consume(node_of(terminal), at)); }

Handle scan_state(const Handle& function, const Handle& seed, const Handle& array, int axis, Place at) {
  const ir::Ref rows = innermost(node_of(array), axis, at, "scan_state");
  return handle_of(from_innermost(ir::scan_state(node_of(function), rows, node_of(seed), at), axis, at));
}
Handle compute(const Handle& array, Place at) {
  const ir::Ref node = node_of(array);
  const ir::Storage storage = ir::info(ir::maker_of(*node).op()).storage;
  const bool is_stored = storage == ir::Storage::stored || storage == ir::Storage::given;
  return is_stored ? array : handle_of(ir::compute(node, at));
}
Handle trace(Symbol text, const Handle& array, Place at) {
  return handle_of(ir::trace(text, node_of(array), at));
}

namespace {
/// Each of the arrays that an operation gives.
Handles each_array(const ir::Ref& arrays, const Place& at) {
  Handles handles;
  for (int i = 0; i < static_cast<int>(arrays->type().arrays.size()); ++i)
    handles.push_back(handle_of(ir::project_array(arrays, i, at)));
  return handles;
}
}  // namespace

Handles awhile(const Handle& predicate, const Handle& body, Handles state, Place at) {
  return each_array(ir::awhile(node_of(predicate), node_of(body), nodes_of(state), at), at);
}
Handles acond(const Handle& condition, const Handle& then, const Handle& otherwise, Place at) {
  return each_array(ir::acond(node_of(condition), node_of(then), node_of(otherwise), at), at);
}

Handle stream_in(std::shared_ptr<SourceBase> source, Place at) {
  return handle_of(ir::stream_in(std::move(source), at));
}
Handle produce(const Handle& count, const Handle& function, Place at, Symbol label) {
  return handle_of(ir::produce(node_of(count), node_of(function), at, label));
}
Handle rows(const Handle& array, Place at) { return handle_of(ir::rows(node_of(array), at)); }
Handle map_seq(const Handle& function, Handles sequences, Place at, Symbol label) {
  return handle_of(ir::map_seq(node_of(function), nodes_of(sequences), at, label));
}
Handle project_seq(const Handle& sequence, int first, int count, Place at) {
  return handle_of(ir::project_seq(node_of(sequence), first, count, at));
}
Handle take_seq(const Handle& count, const Handle& sequence, Place at) {
  return handle_of(ir::take_seq(node_of(count), node_of(sequence), at));
}
Handle filter_seq(const Handle& sequence, Place at) {
  return handle_of(ir::filter_seq(node_of(sequence), at));
}
Handle take_while_seq(const Handle& sequence, Place at) {
  return handle_of(ir::take_while_seq(node_of(sequence), at));
}
Handle drop_seq(const Handle& count, const Handle& sequence, Place at) {
  return handle_of(ir::drop_seq(node_of(count), node_of(sequence), at));
}
Handle flat_map_seq(Handles parameters, const Handle& inner, const Handle& sequence, Place at) {
  return handle_of(ir::flat_map_seq(nodes_of(parameters), node_of(inner), node_of(sequence), at));
}
Handle append_seq(Handles sequences, Place at) { return handle_of(ir::append_seq(nodes_of(sequences), at)); }
Handle windows_seq(const Handle& sequence, const Handle& hop, Handles shape, Place at) {
  return handle_of(ir::windows_seq(node_of(sequence), node_of(hop), nodes_of(shape), at));
}
Handle map_accum_seq(const Handle& sequence, const Handle& function, Handles state, Place at, Symbol label) {
  return handle_of(ir::map_accum_seq(node_of(sequence), node_of(function), nodes_of(state), at, label));
}
Handle fold_seq(const Handle& sequence, const Handle& function, const Handle& seed, Place at) {
  return handle_of(ir::fold_seq(node_of(sequence), node_of(function), node_of(seed), at));
}
BatchParameters batch_parameters(int rank, std::span<const ScalarType> scalars, Place at) {
  const ir::Batch batch({rank, {scalars.begin(), scalars.end()}}, at);
  BatchParameters made;
  for (const ir::Ref& parameter : batch.parameters()) made.parameters.push_back(handle_of(parameter));
  made.sequence = handle_of(batch.sequence());
  return made;
}
Handle fold_batch(const Handle& sequence, const Handle& batch, const Handle& combine, const Handle& seed,
                  Place at) {
  return handle_of(ir::fold_batch(node_of(sequence), node_of(batch), node_of(combine), node_of(seed), at));
}
Handle elements(const Handle& sequence, Place at) { return handle_of(ir::elements(node_of(sequence), at)); }
Handle write(const Handle& sequence, std::shared_ptr<SinkBase> sink, Place at) {
  return handle_of(ir::write(node_of(sequence), std::move(sink), at));
}
Handle tabulate(const Handle& sequence, Place at) { return handle_of(ir::tabulate(node_of(sequence), at)); }

namespace {
const ir::Type& type_of(const Handle& computation) {
  if (!computation) throw ProgramError("an empty handle has no type");
  return core(computation.node())->type();
}
}  // namespace

bool is_element(const Handle& computation) { return type_of(computation).is_element(); }
std::vector<ScalarType> scalars_of(const Handle& computation) { return type_of(computation).scalars; }
std::vector<ArrayOf> arrays_of(const Handle& computation) {
  const ir::Type& type = type_of(computation);
  if (type.is_array()) return {{type.rank, type.scalars}};
  std::vector<ArrayOf> items;
  for (const ir::ArrayType& item : type.arrays) items.push_back({item.rank, item.scalars});
  return items;
}

// NOLINTEND(performance-unnecessary-value-param)

}  // namespace detail
}  // namespace anabranch
