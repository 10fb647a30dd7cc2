#include "fuse/components.h"

#include <algorithm>
#include <map>

#include "fuse/component_groups.h"
#include "fuse/taken.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// The function of an array that may be taken apart, or null.
const Node* function_of(const Node& array) {
  if (array.op() == Op::map) return Map(array).function().get();
  if (array.op() == Op::generate) return Generate(array).function().get();
  return nullptr;
}

/// Where the array stands among the operands that has the elements of this one at other positions, or -1.
int source_of(const Node& array) {
  switch (array.op().as<ArrayOp>()) {
    case Op::backpermute:
      return position_of(Op::backpermute, "array");
    case Op::reshape:
      return position_of(Op::reshape, "array");
    case Op::part:
      return position_of(Op::part, "array");
    case Op::compute:
      return position_of(Op::compute, "array");
    case Op::select:
      return position_of(Op::select, "array");
    case Op::use:
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::fold:
    case Op::scan:
    case Op::scan_state:
    case Op::consume:
    case Op::project_array:
    case Op::awhile:
    case Op::acond:
    case Op::sort:
    case Op::group:
    case Op::last_at:
    case Op::accumulate:
    case Op::repeat:
    case Op::trace:
      break;
  }
  return -1;
}

/// Does it take them from one stored array?
bool stores_its_source(const Node& array) { return array.op() == Op::compute || array.op() == Op::select; }

/// The functions whose results an operation hands on: of items, or the sides of a branch.
std::vector<Ref> handing_functions(const Node& maker) {
  if (maker.op() == Op::map_seq) return {MapSeq(maker).function()};
  if (maker.op() == Op::produce) return {Produce(maker).function()};
  if (maker.op() == Op::acond) return {Acond(maker).then(), Acond(maker).otherwise()};
  return {};
}

/// Would only a copy of it be narrow? It is stored, whole, where each item's is a result.
bool is_stored_whole(const Node& result) {
  const Op maker = maker_of(result).op();
  return info(maker).storage == Storage::stored && maker != Op::compute;
}

/// One of the arrays that an operation hands on, which may be one component of the items of a sequence.
struct Handed {
  const Node* maker = nullptr;
  std::size_t which = 0;
};
Handed handed_by(const Ref& sequence, int which = 0) {
  Ref from = sequence;
  for (; from->op() == Op::project_seq; from = ProjectSeq(from).sequence()) which += ProjectSeq(from).first();
  return {from.get(), static_cast<std::size_t>(which)};
}
/// Null: it is none of these.
Handed handed(const Node& array) {
  if (array.op() == Op::consume) {
    if (is_write(array) || runs_bodies(Consume(array).sink()->op())) return {};
    return handed_by(SinkTerm(Consume(array).sink()).sequence());
  }
  if (array.op() == Op::project_array)
    return {ProjectArray(array).arrays().get(), static_cast<std::size_t>(ProjectArray(array).which())};
  return {};
}

/// The components of this array's elements that the mask has, as one element.
Ref masked(const Ref& element, const Mask& mask) {
  std::vector<Ref> kept;
  for (std::size_t c = 0; c < mask.size(); ++c)
    if (mask[c]) kept.push_back(component(element, static_cast<int>(c)));
  return kept.size() == 1 ? kept[0] : tuple(std::move(kept), element->place());
}

/// An array of them.
Ref masked_array(const Ref& array, const Mask& mask) {
  const Ref element = parameter(Type::element(array->type().scalars), array->place());
  return map(lambda({element}, {masked(element, mask)}, array->place()), {array}, array->place(),
             Symbol::of_static(array->label()));
}

/// Who takes which components of the elements of arrays, and which components are apart. Readers are looked at before what
/// they read.
class Finder {
 public:
  Finder(std::span<const Ref> roots, int cheap) : cheap_(cheap) {
    for (const Ref& root : roots) take_whole(root);
    const auto order = topological(roots);
    for (auto it = order.rbegin(); it != order.rend(); ++it) visit(**it);
  }

  /// Of a map or generate that is taken apart, the components of each of its arrays.
  NodeMap<std::vector<Mask>> apart;
  /// Of what has its elements from elsewhere: what is taken of it, where that is not all.
  NodeMap<Mask> narrow;
  /// Per result that an operation hands on: what is taken of it, where that is not all; else empty.
  NodeMap<std::vector<Mask>> handed_on;

 private:
  void take_whole(const Ref& node) {
    if (node->type().is_sequence())
      handed_whole_.insert(handed_by(node).maker);
    else if (node->op() == Op::lambda)
      take_results(*node);
    else if (node->type().is_array())
      readers_[node.get()].whole = true;
    else if (node->op().is_a<ScalarOp>())
      take({&node, 1}, {all_of(node->type())});
  }
  void take_results(const Node& function) {
    for (const Ref& result : function.results()) take_whole(result);
  }

  /// One reader: what terms take, of which these components are asked for, and, if they are a map's, the map.
  void take(std::span<const Ref> terms, const std::vector<Mask>& masks, const Node* reader = nullptr) {
    const Taken taken = taken_by(terms, masks);
    NodeMap<Mask> of_arrays;
    const auto take_of = [&](const Node* array, const Mask& mask) {
      Mask& known = of_arrays[array];
      known.resize(mask.size());
      add(known, mask);
    };
    for (const auto& [array, places] : taken.arrays)
      for (const Mask& mask : places) {
        take_of(array, mask);
        readers_[array].in_one.push_back(mask);
      }
    for (std::size_t i = 0; reader && i < Map(*reader).arrays().size(); ++i)
      if (const auto found = taken.parameters.find(Map(*reader).function()->parameters()[i].get());
          found != taken.parameters.end())
        take_of(Map(*reader).arrays()[i].get(), found->second);
    for (const auto& [array, mask] : of_arrays) readers_[array].masks.push_back(mask);
  }

  void visit(const Node& node) {
    if (!handing_functions(node).empty()) visit_handing(node);
    if (node.op().is_a<SourceOp>() || node.op().is_a<SequenceOp>() || runs_bodies(node.op()))
      visit_operands(node);
    if (!node.op().is_a<ArrayOp>()) return;
    if (function_of(node))
      visit_function(node);
    else if (source_of(node) >= 0)
      visit_moved(node);
    else if (is_write(node))
      visit_written(SinkTerm(Consume(node).sink()).sequence());
    else if (const Handed result = handed(node); result.maker)
      handed_[result.maker][result.which].add(readers_[&node]);
    visit_operands(node);
  }

  /// All of what an operation reads, but for what is visited otherwise.
  void visit_operands(const Node& node) {
    if (node.op() == Op::project_seq) return;
    const int source = node.op().is_a<ArrayOp>() ? source_of(node) : -1;
    const bool own = function_of(node) || !handing_functions(node).empty();
    each_operand(node, [&](const Operand& how, const Ref& operand) {
      const bool is_source = source >= 0 && operand == node.child(static_cast<std::size_t>(source));
      const bool is_own = own && (how.role == Role::function || how.role == Role::array);
      if (!is_source && !is_own && how.role != Role::sink && how.role != Role::arrays) take_whole(operand);
    });
  }

  void visit_function(const Node& array) {
    const Readers readers = readers_[&array];
    if (!readers.whole && readers.masks.empty()) return;  // nobody takes more than its shape
    const Node* const reader = array.op() == Op::map ? &array : nullptr;
    const std::span<const Ref> result(&function_of(array)->result(), 1);
    const std::vector<Ref> of_element = components(result[0]);
    std::vector<Mask> groups{all_of(array.type())};
    if (!readers.whole && of_element.size() > 1) groups = groups_of(of_element, readers, cheap_);
    for (const Mask& group : groups) take(result, {group}, reader);
    if (groups.size() > 1 || !all(groups[0])) apart[&array] = std::move(groups);
  }

  void visit_moved(const Node& array) {
    const Readers readers = readers_[&array];
    Readers& of_source = readers_[array.child(static_cast<std::size_t>(source_of(array))).get()];
    if (readers.whole) return of_source.add({.whole = true});
    const Mask mask = readers.taken(array.type());
    if (!any(mask)) return;
    of_source.add(stores_its_source(array) ? Readers{.masks = {mask}, .in_one = {mask}} : readers);
    if (!all(mask)) narrow[&array] = mask;
  }

  /// All of what goes to a sink.
  void visit_written(const Ref& sequence) {
    for (std::size_t i = 0; i < sequence->type().arrays.size(); ++i) {
      const Handed item = handed_by(sequence, static_cast<int>(i));
      handed_[item.maker][item.which].add({.whole = true});
    }
  }

  void visit_handing(const Node& maker) {
    const std::vector<Ref> functions = handing_functions(maker);
    for (std::size_t r = 0; r < functions[0]->results().size(); ++r) {
      const Type& type = functions[0]->results()[r]->type();
      const Readers readers = handed_[&maker][r];
      const Mask mask = readers.taken(type);
      const bool copies = maker.op() != Op::acond && is_stored_whole(*functions[0]->results()[r]);
      const bool is_whole = handed_whole_.contains(&maker) || readers.whole || copies || !any(mask);
      std::vector<Mask>& on = handed_on[&maker];
      on.push_back(is_whole || all(mask) ? Mask{} : mask);
      for (const Ref& function : functions)
        readers_[function->results()[r].get()].add(is_whole ? Readers{.whole = true}
                                                            : Readers{.masks = {mask}, .in_one = {mask}});
    }
  }

  int cheap_;
  NodeMap<Readers> readers_;
  NodeMap<std::map<std::size_t, Readers>> handed_;
  NodeSet handed_whole_;
};

/// Components that have an array of their own.
struct Group {
  Mask mask;
  Ref array;
};
using Groups = std::vector<Group>;

class Splitter {
 public:
  Splitter(std::span<const Ref> roots, int cheap)
      : roots_(roots.begin(), roots.end()), found_(roots, cheap) {}

  std::vector<Ref> run() {
    Rewriter rewriter([this](const Ref& original, const Ref& rebuilt) { return rule(original, rebuilt); });
    std::vector<Ref> rewritten;
    for (const Ref& root : roots_) rewritten.push_back(rewriter(root));
    return rewritten;
  }

 private:
  Ref rule(const Ref& original, const Ref& rebuilt) {
    const Node& node = *original;
    if (is_read(node.op())) return of_groups(node, rebuilt);
    if (const auto on = found_.handed_on.find(&node); on != found_.handed_on.end())
      return handing_on(original, rebuilt, on->second);
    if (!node.op().is_a<ArrayOp>()) return rebuilt;
    if (const Handed result = handed(node); result.maker) return widened(node, result, rebuilt);
    if (source_of(node) >= 0) move_groups(node, rebuilt);
    const Ref array = node.op() == Op::map ? with_groups(Map(node).arrays(), rebuilt) : rebuilt;
    if (const auto found = found_.apart.find(&node); found != found_.apart.end())
      for (const Mask& mask : found->second) groups_[&node].push_back({mask, of_components(*array, mask)});
    return array;
  }

  /// The array of these components of its elements only.
  static Ref of_components(const Node& array, const Mask& mask) {
    const Node& function = *function_of(array);
    std::vector<Ref> parameters;
    for (const Ref& p : function.parameters()) parameters.push_back(parameter(p->type(), p->place()));
    const Ref result = substitute(masked(function.result(), mask), function.parameters(), parameters);
    const Ref own = lambda(std::move(parameters), {result}, function.place(), function.payload().label);
    const Symbol label = array.payload().label;
    if (array.op() == Op::generate) return generate(Generate(array).shape(), own, array.place(), label);
    return map(own, {Map(array).arrays().begin(), Map(array).arrays().end()}, array.place(), label);
  }

  /// What has its elements from an array that is apart is apart as that one is.
  void move_groups(const Node& original, const Ref& rebuilt) {
    const auto at = static_cast<std::size_t>(source_of(original));
    const auto of = [&](const Ref& source) {
      std::vector<Ref> children{rebuilt->children().begin(), rebuilt->children().end()};
      children[at] = source;
      return rebuild(rebuilt, std::move(children));
    };
    if (const auto source = groups_.find(original.child(at).get()); source != groups_.end()) {
      Groups moved;
      for (const Group& group : source->second) moved.push_back({group.mask, of(group.array)});
      groups_[&original] = std::move(moved);
      return;
    }
    const auto found = found_.narrow.find(&original);
    if (found == found_.narrow.end()) return;
    const Mask& mask = found->second;
    const Ref& source = rebuilt->child(at);
    const bool inside = stores_its_source(original);
    if (original.op() == Op::select && !source->closed()) return;  // it would be copied for each item
    groups_[&original].push_back(
        {mask, inside ? of(masked_array(source, mask)) : masked_array(rebuilt, mask)});
  }

  /// The operation, whose functions give only what is taken.
  Ref handing_on(const Ref& original, const Ref& maker, const std::vector<Mask>& masks) {
    if (std::all_of(masks.begin(), masks.end(), [](const Mask& mask) { return mask.empty(); })) return maker;
    std::vector<Ref> children{maker->children().begin(), maker->children().end()};
    for (std::size_t c = 0; c < children.size(); ++c) {
      if (children[c]->op() != Op::lambda) continue;
      std::vector<Ref> function{children[c]->children().begin(), children[c]->children().end()};
      const std::size_t first = function.size() - masks.size();
      for (std::size_t r = 0; r < masks.size(); ++r)
        if (!masks[r].empty())
          function[first + r] = narrowed(*original->child(c)->results()[r], function[first + r], masks[r]);
      children[c] = rebuild(children[c], std::move(function));
    }
    return rebuild(maker, std::move(children));
  }

  Ref narrowed(const Node& original, const Ref& rebuilt, const Mask& mask) {
    if (const auto found = groups_.find(&original); found != groups_.end())
      for (const Group& group : found->second)
        if (group.mask == mask) return group.array;
    return masked_array(rebuilt, mask);
  }

  /// What has been handed on. Who takes all of it would get what it was, but nobody does.
  Ref widened(const Node& original, const Handed& result, const Ref& rebuilt) {
    const auto on = found_.handed_on.find(result.maker);
    if (on == found_.handed_on.end() || on->second[result.which].empty()) return rebuilt;
    groups_[&original].push_back({on->second[result.which], rebuilt});
    const Ref element = parameter(Type::element(rebuilt->type().scalars), rebuilt->place());
    const Ref whole = put_together(original, [&](const Group&) -> const Ref& { return element; });
    return map(lambda({element}, {whole}, rebuilt->place()), {rebuilt}, rebuilt->place(),
               Symbol::of_static(rebuilt->label()));
  }

  /// A read of what is apart reads its arrays at that position.
  Ref of_groups(const Node& original, const Ref& rebuilt) {
    if (!groups_.contains(Read(original).array().get())) return rebuilt;
    return put_together(*Read(original).array(), [&](const Group& group) {
      return rebuild(rebuilt, {group.array, Read(rebuilt).at()});
    });
  }

  /// A map that reads the arrays of what was taken apart in its place.
  Ref with_groups(std::span<const Ref> originals, const Ref& rebuilt) {
    const auto is_apart = [&](const Ref& array) { return groups_.contains(array.get()); };
    if (std::none_of(originals.begin(), originals.end(), is_apart)) return rebuilt;
    const Map old(rebuilt);
    const Node& function = *old.function();
    std::vector<std::vector<Reading>> readings;
    std::vector<Ref> values;
    const auto read = [&](const Ref& array) {
      readings.back().push_back({array, parameter(Type::element(array->type().scalars), array->place())});
      return readings.back().back().element;
    };
    for (std::size_t i = 0; i < originals.size(); ++i) {
      readings.emplace_back();
      values.push_back(
          is_apart(originals[i])
              ? put_together(*originals[i], [&](const Group& group) { return read(group.array); })
              : read(old.arrays()[i]));
    }
    std::vector<Ref> results;
    for (const Ref& result : function.results())
      results.push_back(substitute(result, function.parameters(), values));
    std::vector<Ref> arrays, parameters;
    for (const std::vector<Reading>& of_one : readings)
      for (const Reading& reading : taken_of(of_one, results)) {
        arrays.push_back(reading.array);
        parameters.push_back(reading.element);
      }
    if (arrays.size() == 1 && results[0] == parameters[0]) return arrays[0];
    const Ref own =
        lambda(std::move(parameters), std::move(results), function.place(), function.payload().label);
    return map(own, std::move(arrays), rebuilt->place(), rebuilt->payload().label);
  }

  /// What a map reads of an array, as a parameter of its function.
  struct Reading {
    Ref array, element;
  };
  /// Those whose elements the function takes; the first, for its shape, where there is none.
  static std::vector<Reading> taken_of(const std::vector<Reading>& readings, std::span<const Ref> results) {
    std::vector<Reading> taken;
    for (const Reading& reading : readings)
      if (std::any_of(results.begin(), results.end(),
                      [&](const Ref& result) { return mentions(*result, {&reading.element, 1}); }))
        taken.push_back(reading);
    if (taken.empty()) taken.push_back(readings[0]);
    return taken;
  }

  /// An element as it was, whose components come from the groups; zeros stand for those that nobody takes.
  template <class F>
  Ref put_together(const Node& array, F&& element_of) {
    const Scalars& scalars = array.type().scalars;
    std::vector<Ref> parts(scalars.size());
    for (const Group& group : groups_.at(&array)) {
      const Ref& element = element_of(group);
      int next = 0;
      for (std::size_t c = 0; c < parts.size(); ++c)
        if (group.mask[c]) parts[c] = component(element, next++);
    }
    for (std::size_t c = 0; c < parts.size(); ++c)
      if (!parts[c]) parts[c] = constant(scalars[c], 0);
    return tuple(std::move(parts));
  }

  std::vector<Ref> roots_;
  Finder found_;
  NodeMap<Groups> groups_;
};

}  // namespace

std::vector<Ref> components(std::span<const Ref> roots, const Options& options) {
  if (!options.components) return {roots.begin(), roots.end()};
  return Splitter(roots, options.cheap).run();
}

}  // namespace anabranch::fuse
