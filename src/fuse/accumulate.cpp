#include "fuse/accumulate.h"

#include <algorithm>

#include "fuse/passed_states.h"
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

std::vector<Ref> components_of(std::span<const Ref> elements) {
  std::vector<Ref> parts;
  for (const Ref& element : elements)
    for (Ref& part : components(element)) parts.push_back(std::move(part));
  return parts;
}

/// The components of an element; those of a conditional are conditionals.
std::vector<Ref> split(const Ref& element) {
  NodeMap<std::vector<Ref>> known;
  const auto is_joint = [](const Node& node) {
    return node.op() == Op::cond && node.type().components() > 1;
  };
  for (const Node* node : topological({&element, 1}, is_joint)) {
    std::vector<Ref>& parts = known[node];
    if (!is_joint(*node)) {
      parts = components(Ref(node));
      continue;
    }
    const Cond branches(*node);
    const auto& then = known.at(branches.then().get());
    const auto& otherwise = known.at(branches.otherwise().get());
    for (std::size_t c = 0; c < then.size(); ++c)
      parts.push_back(cond(branches.condition(), then[c], otherwise[c], node->place()));
  }
  return known.at(element.get());
}

/// An element from the components at `part`, which moves behind them.
Ref taken(std::span<const Ref>& part, std::size_t count) {
  const std::span<const Ref> own = part.first(count);
  part = part.subspan(count);
  return as_one({own.begin(), own.end()});
}

Scalars scalars_of(std::span<const Ref> terms) {
  Scalars all;
  for (const Ref& term : terms)
    all.insert(all.end(), term->type().scalars.begin(), term->type().scalars.end());
  return all;
}

/// A function of single elements as one of all items of a chunk.
class OfChunk {
 public:
  /// `results`: its results as elements, of the parameters of the step.
  OfChunk(const Ref& function, std::size_t states, StateStep step, std::vector<Ref> results)
      : place_(function->place()), step_(std::move(step)), results_(std::move(results)), states_(states) {
    const auto& parameters = function->parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      own_.push_back(parameter(Type::array(p < states ? 0 : 1, parameters[p]->type().scalars), place_));
      if (p < states) start_.push_back(index(own_.back(), tuple({}), place_, true));
    }
    const auto& given = function->results();
    is_the_state_ =
        given.size() == 2 * states && std::equal(given.begin(), given.begin() + std::ssize(given) / 2,
                                                 given.begin() + std::ssize(given) / 2);
  }

  Ref lambda_of_chunk() {
    const std::vector<Ref> start = components_of(start_);
    if (!may_be_given_at_once() || !give_at_once(start)) give_one_by_one(start);
    return lambda(own_, given_, place_);
  }

 private:
  std::span<const Ref> items() const { return std::span(own_).subspan(states_); }
  std::size_t components(std::size_t result) const { return results_[result]->type().scalars.size(); }

  void give_end(std::span<const Ref> end) {
    for (std::size_t s = 0; s < states_; ++s) given_.push_back(unit(taken(end, components(s)), place_));
  }

  /// Loops whose rounds differ are better one by one than in vectors.
  bool may_be_given_at_once() const {
    const std::vector<const Node*> nodes =
        topological(results_, [](const Node& n) { return !n.type().is_array(); });
    return std::none_of(nodes.begin(), nodes.end(), [](const Node* n) { return n->op() == Op::while_loop; });
  }

  bool give_at_once(const std::vector<Ref>& start) {
    StateStep step = step_;
    std::vector<Ref> vectors(items().begin(), items().end());
    std::vector<Ref> results(results_.begin() + static_cast<std::ptrdiff_t>(states_), results_.end());
    store_shared_terms(step, vectors, results, place_);
    const std::optional<PassedStates> passed = passed_states(step, vectors, start, is_the_state_, place_);
    if (!passed) return false;
    give_end(passed->end);
    std::span<const Ref> after = passed->after;
    for (std::size_t r = states_; r < results_.size(); ++r) {
      if (passed->after.empty()) {
        given_.push_back(over_items(step, vectors, passed->before, results[r - states_], place_));
        continue;
      }
      const std::vector<Ref> parts(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(components(r)));
      after = after.subspan(parts.size());
      given_.push_back(zipped(parts));
    }
    return true;
  }

  /// Vectors of elements as one.
  Ref zipped(const std::vector<Ref>& vectors) const {
    if (vectors.size() == 1) return vectors[0];
    std::vector<Ref> elements;
    for (const Ref& vector : vectors)
      elements.push_back(parameter(Type::element(vector->type().scalars), place_));
    const Ref all = as_one(components_of(elements));
    return map(lambda(std::move(elements), {all}, place_), vectors, place_);
  }

  /// By a scan_state, whose states are those of the function and, behind them, what the item becomes.
  void give_one_by_one(std::vector<Ref> start) {
    const std::vector<Ref> all_results = components_of(results_);
    for (std::size_t c = start.size(); c < all_results.size(); ++c)
      start.push_back(constant(all_results[c]->type().scalars[0], 0));
    const Ref before = parameter(Type::element(scalars_of(all_results)), place_);
    const Ref item = parameter(Type::element(scalars_of(step_.item)), place_);
    std::vector<Ref> own = step_.state, values;
    for (std::size_t c = 0; c < own.size(); ++c) values.push_back(component(before, static_cast<int>(c)));
    const std::vector<Ref> parts = components_of({&item, 1});
    std::span<const Ref> rest = parts;
    for (const Ref& of_item : step_.item) {
      own.push_back(of_item);
      values.push_back(taken(rest, of_item->type().scalars.size()));
    }
    const Ref step = lambda({before, item}, {substitute(as_one(all_results), own, values)}, place_);
    const std::vector<Ref> vectors(items().begin(), items().end());
    const Ref all = scan_state(step, zipped(vectors), as_one(start), place_, "map_accum_seq");
    const Ref n = extent(all, 0);
    const Ref last = index(all, primitive(Primitive::subtract, {n, int64(1)}, place_), place_, true);
    const Ref end = cond(primitive(Primitive::less, {int64(0), n}, place_), last, as_one(start), place_);
    give_end(components_of({&end, 1}));
    for (std::size_t r = states_; r < results_.size(); ++r) {
      const Ref x = parameter(Type::element(all->type().scalars), place_);
      const std::vector<Ref> of_x = components_of({&x, 1});
      std::span<const Ref> part = of_x;
      for (std::size_t before_it = 0; before_it < r; ++before_it) part = part.subspan(components(before_it));
      given_.push_back(map(lambda({x}, {taken(part, components(r))}, place_), {all}, place_));
    }
  }

  const Place place_;
  const StateStep step_;
  const std::vector<Ref> results_;
  std::size_t states_;
  std::vector<Ref> own_, start_;  ///< parameters; the elements of the states
  std::vector<Ref> given_;
  bool is_the_state_ = false;  ///< do items become the state?
};

}  // namespace

std::optional<Ref> accumulated_by_chunk(const Ref& function, std::size_t states) {
  const auto is_single = [](const Ref& array) { return array->type().rank == 0; };
  const auto& parameters = function->parameters();
  const auto& results = function->results();
  if (!std::all_of(parameters.begin(), parameters.end(), is_single) ||
      !std::all_of(results.begin(), results.end(), is_single))
    return std::nullopt;
  StateStep step;
  std::vector<Ref> values;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Scalars& scalars = parameters[p]->type().scalars;
    if (p >= states) {
      values.push_back(step.item.emplace_back(parameter(Type::element(scalars), function->place())));
      continue;
    }
    std::vector<Ref> parts;
    for (const ScalarType scalar : scalars)
      parts.push_back(parameter(Type::element({scalar}), function->place()));
    step.state.insert(step.state.end(), parts.begin(), parts.end());
    values.push_back(as_one(std::move(parts)));
  }
  std::optional<std::vector<Ref>> elements = ScalarForm(function, values).of(results);
  if (!elements) return std::nullopt;
  for (const Ref& next : std::span(*elements).first(states))
    for (Ref& part : split(next)) step.next.push_back(std::move(part));
  return OfChunk(function, states, std::move(step), std::move(*elements)).lambda_of_chunk();
}

}  // namespace anabranch::fuse
