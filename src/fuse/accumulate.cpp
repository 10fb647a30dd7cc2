#include "fuse/accumulate.h"

#include <algorithm>

#include "ir/operator_class.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// A function of single elements, whatever it is written with, as a scalar function.
class ScalarForm {
 public:
  /// `values`: for its parameters, as elements.
  ScalarForm(const Ref& function, std::span<const Ref> values)
      : own_(function->parameters().begin(), function->parameters().end()) {
    for (std::size_t p = 0; p < own_.size(); ++p) elements_[own_[p].get()] = values[p];
  }

  /// The elements of its results; none where one is not of that kind.
  std::optional<std::vector<Ref>> of(std::span<const Ref> results) {
    for (const Node* node : topological(results)) {
      if (!mentions(*node, own_)) continue;
      if (!(node->type().is_array() ? add_array(*node) : add_term(*node))) return std::nullopt;
    }
    std::vector<Ref> out;
    for (const Ref& result : results) out.push_back(element(result));
    return out;
  }

 private:
  bool add_array(const Node& array) {
    if (elements_.contains(&array)) return true;
    if (array.type().rank != 0) return false;
    if (array.op() == Op::unit) {
      elements_[&array] = image(Unit(array).value());
      return true;
    }
    if (array.op() != Op::map) return false;
    std::vector<Ref> arguments;
    for (const Ref& operand : Map(array).arrays()) arguments.push_back(element(operand));
    elements_[&array] = ir::apply(image(Map(array).function()), arguments)[0];
    return true;
  }

  /// A term, or a scalar function.
  bool add_term(const Node& node) {
    if (node.type().is_sequence() || node.type().is_several()) return false;
    if (node.op() == Op::lambda && !node.parameters().empty() && node.parameters()[0]->type().is_array())
      return false;
    if (is_read(node.op()) && mentions(*Read(node).array(), own_)) {
      images_[&node] = elements_.at(Read(node).array().get());
      return true;
    }
    std::vector<Ref> children;
    for (const Ref& child : node.children()) {
      if (child->type().is_array() && mentions(*child, own_)) return false;
      children.push_back(image(child));
    }
    images_[&node] = rebuild(Ref(&node), std::move(children));
    return true;
  }

  Ref image(const Ref& node) const {
    const auto known = images_.find(node.get());
    return known == images_.end() ? node : known->second;
  }
  Ref element(const Ref& array) const {
    const auto known = elements_.find(array.get());
    return known == elements_.end() ? index(array, tuple({}), array->place(), true) : known->second;
  }

  std::vector<Ref> own_;
  NodeMap<Ref> elements_;  ///< of arrays
  NodeMap<Ref> images_;    ///< of terms and scalar functions
};

/// Components [first, first + count) of an element, as one.
Ref components_from(const Ref& element, int first, int count) {
  std::vector<Ref> parts;
  for (int c = 0; c < count; ++c) parts.push_back(component(element, first + c));
  return parts.size() == 1 ? parts[0] : tuple(std::move(parts));
}

Ref joined(const std::vector<Ref>& elements) {
  std::vector<Ref> parts;
  for (const Ref& element : elements)
    for (int c = 0; c < element->type().components(); ++c) parts.push_back(component(element, c));
  return parts.size() == 1 ? parts[0] : tuple(std::move(parts));
}

/// Elements of these types, one after the other, of an element that has all of them.
std::vector<Ref> taken_apart(const Ref& element, const std::vector<Type>& types) {
  std::vector<Ref> parts;
  int first = 0;
  for (const Type& type : types) {
    const int count = static_cast<int>(type.scalars.size());
    parts.push_back(components_from(element, first, count));
    first += count;
  }
  return parts;
}

std::vector<Type> element_types(std::span<const Ref> arrays) {
  std::vector<Type> types;
  for (const Ref& array : arrays) types.push_back(Type::element(array->type().scalars));
  return types;
}

/// Does a function of the state and the item give the same bits in whatever order items are joined, and is what becomes of an
/// item the state? Then all items of a chunk are a scan, which several threads share.
bool is_exactly_associative(const Ref& function, std::size_t states, const Ref& step) {
  const auto& results = function->results();
  if (results.size() != 2 * states || !std::equal(results.begin(), results.begin() + std::ssize(results) / 2,
                                                  results.begin() + std::ssize(results) / 2))
    return false;
  const Scalars& scalars = step->parameters()[0]->type().scalars;
  const bool exact = std::none_of(scalars.begin(), scalars.end(),
                                  [](ScalarType s) { return scalar_info(s).kind == ScalarKind::floating; });
  return exact && scalars == step->parameters()[1]->type().scalars &&
         fold_order_class(*step) == fold_order::OperatorClass::commutative;
}

Scalars scalars_of(const std::vector<Type>& types) {
  Scalars all;
  for (const Type& type : types) all.insert(all.end(), type.scalars.begin(), type.scalars.end());
  return all;
}

}  // namespace

std::optional<Ref> accumulated_by_chunk(const Ref& function, std::size_t states) {
  const auto is_single = [](const Ref& array) { return array->type().rank == 0; };
  const auto& parameters = function->parameters();
  const auto& results = function->results();
  if (!std::all_of(parameters.begin(), parameters.end(), is_single) ||
      !std::all_of(results.begin(), results.end(), is_single))
    return std::nullopt;
  const Place place = function->place();
  const std::vector<Type> of_state = element_types(parameters.first(states));
  const std::vector<Type> of_item = element_types(parameters.subspan(states));
  const std::vector<Type> of_results = element_types(results);
  const Ref item = parameter(Type::element(scalars_of(of_item)), place);
  /// From an element that begins with the state, and an item, to these results, as one element.
  const auto step_from = [&](const std::vector<Type>& of_before,
                             std::span<const Ref> wanted) -> std::optional<Ref> {
    const Ref before = parameter(Type::element(scalars_of(of_before)), place);
    std::vector<Ref> values = taken_apart(before, of_before);
    values.resize(states);
    for (Ref& part : taken_apart(item, of_item)) values.push_back(std::move(part));
    const std::optional<std::vector<Ref>> next = ScalarForm(function, values).of(wanted);
    return next ? std::optional(lambda({before, item}, {joined(*next)}, place)) : std::nullopt;
  };

  std::vector<Ref> own, vectors, elements, start;
  for (const Type& type : of_state) {
    own.push_back(parameter(Type::array(0, type.scalars), place));
    start.push_back(index(own.back(), tuple({}), place, true));
  }
  for (const Type& type : of_item) {
    vectors.push_back(parameter(Type::array(1, type.scalars), place));
    elements.push_back(parameter(type, place));
  }
  const Ref items =
      vectors.size() == 1 ? vectors[0] : map(lambda(elements, {joined(elements)}, place), vectors, place);

  Ref all, end;                 // elements for each item; that behind the last
  std::vector<Type> in_all;     // parts of these
  std::size_t first_given = 0;  // of them, what items become
  const std::optional<Ref> scanned = step_from(of_state, results.first(states));
  if (scanned && is_exactly_associative(function, states, *scanned)) {
    const Ref both = scan(*scanned, items, joined(start), {Prefixes::inclusive}, 0, place, "scan_seq");
    all = project_array(both, 0, place);
    end = index(project_array(both, 1, place), tuple({}), place, true);
    in_all = of_state;
  } else {
    // The states are those of the function and, behind them, what the item becomes.
    const std::optional<Ref> step = step_from(of_results, results);
    if (!step) return std::nullopt;
    for (std::size_t r = states; r < of_results.size(); ++r)
      for (const ScalarType scalar : of_results[r].scalars) start.push_back(constant(scalar, 0));
    all = scan_state(*step, items, joined(start), place, "map_accum_seq");
    const Ref n = extent(all, 0);
    const Ref last = index(all, primitive(Primitive::subtract, {n, int64(1)}, place), place, true);
    end = cond(primitive(Primitive::less, {int64(0), n}, place), last, joined(start), place);
    in_all = of_results;
    first_given = states;
  }

  std::vector<Ref> given;
  const std::vector<Ref> ends = taken_apart(end, in_all);
  for (std::size_t s = 0; s < states; ++s) given.push_back(unit(ends[s], place));
  for (std::size_t r = states; r < of_results.size(); ++r) {
    const Ref x = parameter(Type::element(all->type().scalars), place);
    given.push_back(
        map(lambda({x}, {taken_apart(x, in_all)[first_given + r - states]}, place), {all}, place));
  }
  std::vector<Ref> taken = own;
  taken.insert(taken.end(), vectors.begin(), vectors.end());
  return lambda(std::move(taken), std::move(given), place);
}

}  // namespace anabranch::fuse
