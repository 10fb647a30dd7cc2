#include "fuse/components.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "ir/cost.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// Scalar components of an element, first to last.
using Mask = std::vector<bool>;

/// The function of an array that may be taken apart, or null.
const Node* function_of(const Node& array) {
  if (array.op() == Op::map) return Map(array).function().get();
  if (array.op() == Op::generate) return Generate(array).function().get();
  return nullptr;
}

/// Is it an array whose function puts tuples together?
bool makes_tuples(const Node& node) {
  const Node* function = function_of(node);
  return function && function->result()->op() == Op::tuple && function->result()->children().size() > 1;
}

bool covers(const Mask& mask, int first, int count) {
  return std::any_of(mask.begin() + first, mask.begin() + first + count, [](bool taken) { return taken; });
}

/// A tuple's parts that have an array of their own.
struct Group {
  std::vector<std::size_t> parts;
  Ref array;  ///< once it has been rewritten
};

/// An array that is taken apart.
struct Apart {
  std::vector<int> first;     ///< component of each part, and the number of all
  std::vector<Group> groups;  ///< at least one: it has the shape
};

/// Groups of those parts that are needed; `readers` says of each part which readers take it. In one are parts that share
/// work which is not cheap. So are those that one reader alone takes, as it reads what they are computed from once,
/// and what is not cheap of those that several readers take, all of them the same.
std::vector<Group> groups_of(const Node& tuple, const std::vector<Mask>& readers, int cheap) {
  const std::size_t parts = tuple.children().size();
  std::vector<std::size_t> leader(parts);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&](std::size_t part) {
    while (leader[part] != part) part = leader[part] = leader[leader[part]];
    return part;
  };
  // Each term belongs to the first part that is computed from it. What others take of it counts as a tree.
  NodeMap<std::size_t> owner;
  NodeMap<Cost> as_tree;
  std::map<Mask, std::size_t> first_of;
  const auto count = [&](std::size_t part) {
    return std::count(readers[part].begin(), readers[part].end(), true);
  };
  const auto element = [](const Node& node) { return !node.type().is_array(); };
  for (std::size_t part = 0; part < parts; ++part) {
    if (count(part) == 0) continue;
    const auto is_new = [&](const Node& node) { return element(node) && !owner.contains(&node); };
    std::map<std::size_t, Cost> shared;
    for (const Node* node : topological({&tuple.child(part), 1}, is_new)) {
      if (!element(*node)) continue;
      if (const auto known = owner.find(node); known != owner.end()) {
        shared[find(known->second)] += as_tree[node];
        continue;
      }
      Cost cost = node->op() == Op::while_loop ? unknown_rounds : own_cost(*node);
      for (const Ref& child : node->children())
        if (element(*child)) cost += as_tree[child.get()];
      as_tree[node] = cost;
      owner[node] = part;
    }
    for (const auto& [other, cost] : shared)
      if (additions(cost) > cheap) leader[find(part)] = find(other);
    if (count(part) > 1 && additions(as_tree.at(tuple.child(part).get())) <= cheap) continue;
    const auto [first, fresh] = first_of.try_emplace(readers[part], part);
    if (!fresh) leader[find(part)] = find(first->second);
  }
  std::vector<Group> groups;
  std::map<std::size_t, std::size_t> number;
  for (std::size_t part = 0; part < parts; ++part) {
    if (count(part) == 0) continue;
    const auto [at, fresh] = number.try_emplace(find(part), groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].parts.push_back(part);
  }
  if (groups.empty()) groups.push_back({{0}, {}});
  return groups;
}

class Splitter {
 public:
  Splitter(std::span<const Ref> roots, int cheap) : roots_(roots.begin(), roots.end()), cheap_(cheap) {}

  std::vector<Ref> run() {
    find();
    if (apart_.empty()) return roots_;
    Rewriter rewriter([this](const Ref& original, const Ref& rebuilt) { return rule(*original, rebuilt); });
    std::vector<Ref> rewritten;
    for (const Ref& root : roots_) rewritten.push_back(rewriter(root));
    return rewritten;
  }

 private:
  /// What single readers take.
  struct Readers {
    bool whole = false;  ///< someone takes all
    std::vector<Mask> masks;
  };

  void find() {
    const auto order = topological(roots_);
    NodeMap<Readers> readers;
    for (const Node* node : order)
      if (node->type().is_array() && makes_tuples(*node)) readers[node];
    if (readers.empty()) return;
    for (const Ref& root : roots_) take_whole(readers, *root);
    for (const Node* node : order) {
      if (node->op() == Op::map) {
        const Map map(*node);
        NodeMap<Mask> masks;  // of an array that it reads twice, one
        for (std::size_t i = 0; i < map.arrays().size(); ++i) {
          if (!readers.contains(map.arrays()[i].get())) continue;
          const Mask more = taken(*map.function(), map.function()->parameters()[i]);
          Mask& mask = masks[map.arrays()[i].get()];
          mask.resize(more.size());
          std::transform(mask.begin(), mask.end(), more.begin(), mask.begin(), std::logical_or<>());
        }
        for (const auto& [array, mask] : masks) readers[array].masks.push_back(mask);
      } else if (node->op() != Op::shape) {
        for (const Ref& child : node->children()) take_whole(readers, *child);
      }
    }
    for (const auto& [array, how] : readers)
      if (!how.whole) consider(*array, how.masks);
  }

  static void take_whole(NodeMap<Readers>& readers, const Node& node) {
    if (const auto found = readers.find(&node); found != readers.end()) found.value().whole = true;
  }

  /// The components of one parameter that a function takes.
  static Mask taken(const Node& function, const Ref& parameter) {
    Mask mask(static_cast<std::size_t>(parameter->type().components()), false);
    const auto all = [&] { mask.assign(mask.size(), true); };
    const std::span<const Ref> only(&parameter, 1);
    for (const Ref& result : function.results())
      if (result == parameter) all();
    const auto enter = [&](const Node& node) { return mentions(node, only); };
    for (const Node* node : topological(function.results(), enter)) {
      if (!enter(*node) ||
          std::find(node->children().begin(), node->children().end(), parameter) == node->children().end())
        continue;
      if (node->op() != Op::project) {
        all();
        break;
      }
      const Project part(*node);
      std::fill_n(mask.begin() + part.first(), part.count(), true);
    }
    return mask;
  }

  void consider(const Node& array, const std::vector<Mask>& masks) {
    if (masks.empty()) return;
    const Node& tuple = *function_of(array)->result();
    Apart apart;
    std::vector<Mask> readers;
    int first = 0;
    for (const Ref& part : tuple.children()) {
      apart.first.push_back(first);
      const int width = part->type().components();
      Mask& takers = readers.emplace_back();
      for (const Mask& mask : masks) takers.push_back(covers(mask, first, width));
      first += width;
    }
    apart.first.push_back(first);
    apart.groups = groups_of(tuple, readers, cheap_);
    if (apart.groups.size() == 1 && apart.groups[0].parts.size() == readers.size()) return;
    apart_.emplace(&array, std::move(apart));
  }

  Ref rule(const Node& original, Ref rebuilt) {
    if (original.op() == Op::map) rebuilt = with_groups(Map(original).arrays(), rebuilt);
    if (const auto found = apart_.find(&original); found != apart_.end())
      for (Group& group : found.value().groups) group.array = of_parts(*rebuilt, group.parts);
    return rebuilt;
  }

  /// The array of these parts of its tuples only.
  static Ref of_parts(const Node& array, const std::vector<std::size_t>& parts) {
    const Node& function = *function_of(array);
    std::vector<Ref> parameters;
    for (const Ref& p : function.parameters()) parameters.push_back(parameter(p->type(), p->place()));
    std::vector<Ref> kept;
    for (const std::size_t part : parts) kept.push_back(function.result()->child(part));
    const Ref whole = kept.size() == 1 ? kept[0] : tuple(std::move(kept), function.result()->place());
    const Ref result = substitute(whole, function.parameters(), parameters);
    const Ref own = lambda(std::move(parameters), {result}, function.place(), function.payload().label);
    const Symbol label = array.payload().label;
    if (array.op() == Op::generate) return generate(Generate(array).shape(), own, array.place(), label);
    return map(own, {Map(array).arrays().begin(), Map(array).arrays().end()}, array.place(), label);
  }

  /// A map that reads the arrays of groups in the place of what was taken apart.
  Ref with_groups(std::span<const Ref> originals, const Ref& rebuilt) {
    const auto is_apart = [&](const Ref& array) { return apart_.contains(array.get()); };
    if (std::none_of(originals.begin(), originals.end(), is_apart)) return rebuilt;
    const Map old(rebuilt);
    const Node& function = *old.function();
    std::vector<Ref> arrays, parameters, values;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const Ref& before = function.parameters()[i];
      const auto found = apart_.find(originals[i].get());
      if (found == apart_.end()) {
        arrays.push_back(old.arrays()[i]);
        parameters.push_back(parameter(before->type(), before->place()));
        values.push_back(parameters.back());
      } else {
        values.push_back(
            put_together(found->second, taken(function, before), before->type(), arrays, parameters));
      }
    }
    std::vector<Ref> results;
    for (const Ref& result : function.results())
      results.push_back(substitute(result, function.parameters(), values));
    const Ref own =
        lambda(std::move(parameters), std::move(results), function.place(), function.payload().label);
    return map(own, std::move(arrays), rebuilt->place(), rebuilt->payload().label);
  }

  /// A tuple as it was, whose components come from the groups that are read; zeros stand for the others, which nobody
  /// takes.
  static Ref put_together(const Apart& apart, const Mask& mask, const Type& type, std::vector<Ref>& arrays,
                          std::vector<Ref>& parameters) {
    std::vector<Ref> parts(apart.first.size() - 1);
    const auto width = [&](std::size_t part) { return apart.first[part + 1] - apart.first[part]; };
    bool any = false;
    const auto read = [&](const Group& group) {
      arrays.push_back(group.array);
      const Ref element = parameter(Type::element(group.array->type().scalars), group.array->place());
      parameters.push_back(element);
      int at = 0;
      for (const std::size_t part : group.parts) {
        parts[part] = project(element, at, width(part), element->place());
        at += width(part);
      }
      any = true;
    };
    for (const Group& group : apart.groups)
      if (std::any_of(group.parts.begin(), group.parts.end(),
                      [&](std::size_t part) { return covers(mask, apart.first[part], width(part)); }))
        read(group);
    if (!any) read(apart.groups[0]);  // its shape
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (parts[part]) continue;
      std::vector<Ref> zeros;
      for (int c = apart.first[part]; c < apart.first[part + 1]; ++c)
        zeros.push_back(constant(type.scalars[static_cast<std::size_t>(c)], 0));
      parts[part] = zeros.size() == 1 ? zeros[0] : tuple(std::move(zeros));
    }
    return tuple(std::move(parts));
  }

  std::vector<Ref> roots_;
  int cheap_;
  NodeMap<Apart> apart_;
};

}  // namespace

std::vector<Ref> components(std::span<const Ref> roots, const Options& options) {
  if (!options.components) return {roots.begin(), roots.end()};
  return Splitter(roots, options.cheap).run();
}

}  // namespace anabranch::fuse
