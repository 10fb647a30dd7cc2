#include "fuse/arrays.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fuse/epilogues.h"
#include "fuse/folds.h"
#include "fuse/maps.h"
#include "fuse/needs.h"
#include "ir/cost.h"
#include "ir/print.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// How the rest of the program reads one array.
struct Uses {
  int reads = 0;             ///< places that read elements
  bool at_computed = false;  ///< at positions known at run time only
  bool repeated = false;     ///< an element may be read often (replicate)
  bool by_position = false;  ///< by row-major position (reshape)
  bool by_chunk = false;     ///< from inside a stage, though it does not depend on the item
  bool for_extents = false;  ///< its elements decide a shape: needed before kernels can be sized
  bool by_extents = false;  ///< an extent is computed from its elements, not from those of what is made of it
  bool moved = false;       ///< at another position than the reader's own
  bool root = false;
  bool by_items = false;  ///< by a stream, whose items are its rows
  bool whole = false;     ///< by a loop, a branch, a sequence inside
  bool stored = false;    ///< by a routine of the library
};

/// The cost of an element besides its operands and functions.
constexpr Cost own_element{1, 0};

/// An array that is read twice at the same position is read once.
std::vector<Ref> distinct(std::span<const Ref> arrays) {
  std::vector<Ref> found;
  for (const Ref& array : arrays)
    if (std::find(found.begin(), found.end(), array) == found.end()) found.push_back(array);
  return found;
}

class Fuser {
 public:
  Fuser(Staged& staged, const Options& options) : staged_(staged), options_(options) {}

  void run() {
    collect();
    for (const Node* array : order_) decide(*array);
    // Given arrays of which only the shape is used are not in `order_`.
    for (const auto& [array, facts] : staged_.facts)
      if (is_given(*array)) decide(*array);
    if (!options_.fusion) return;
    const auto cost = [&](const Node& node) { return additions(cost_.at(&node)); };
    const auto for_extents = [&](const Node& node) { return uses_[&node].for_extents; };
    const Needs needs(staged_);
    folds(staged_, order_, needs, cost, for_extents, options_);
    const Reads reads{reads_, [&](const Node& node) { return is_needed(node); }};
    epilogues(staged_, order_, reads, needs, cost, for_extents, options_);
    maps(staged_, order_, needs, cost, for_extents, options_);
    compute_where_read();
    leave_where_they_lie();
  }

 private:
  void collect() {
    std::vector<Ref> roots;
    for (const Ref& r : staged_.results) root(r, roots);
    for (const ExtentCheck& check : staged_.extent_checks) extent_expression(check.extent, roots);
    for (const Stage& stage : staged_.stages) {
      for (const StageSource& source : stage.sources)
        for (const Ref& input : inputs_of(source)) {
          if (!input->type().is_array()) {
            number_of_items(input, roots);
            continue;
          }
          (is_fed(source.node->op()) ? uses_[input.get()].whole : uses_[input.get()].by_items) = true;
          roots.push_back(input);
        }
      for (const Stage::Sink& sink : stage.sinks)
        for (const Ref& input : sink.inputs) {
          uses_[input.get()].whole = true;
          roots.push_back(input);
        }
      for (const ItemBound& bound : stage.bounds) number_of_items(bound.count, roots);
      for (const ExtentCheck& check : stage.extent_checks) extent_expression(check.extent, roots);
      for (const Ref& reshape : stage.required)
        for (const Ref& extent : extents_compared(staged_, *reshape)) extent_expression(extent, roots);
      for (const Nested& nested : stage.nested)
        for (const Ref& input : nested.body.captured) {
          roots.push_back(input);
          uses_[input.get()].whole = true;
        }
      for (const Ref& r : stage.results) {
        root(r, roots);
        if (avoided(*r)) uses_[r.get()].by_chunk = true;
      }
    }
    for (const Control& control : staged_.controls) collect(control, roots);
    add_what_extents_read(roots);
    for (const Node* node : topological(roots, reads_elements)) {
      if (node->type().is_array()) order_.push_back(node);
      reads_of(*node);
    }
    for (const Stage& stage : staged_.stages) mark_captured(stage);
  }

  void collect(const Control& control, std::vector<Ref>& roots) {
    for (const Ref& input : inputs_of(control)) {
      roots.push_back(input);
      if (input->type().is_array())
        uses_[input.get()].whole = true;
      else
        extent_expression(input, roots);
    }
  }

  /// Extents may read arrays that nothing else mentions any more, and these have extents, too.
  void add_what_extents_read(std::vector<Ref>& roots) {
    NodeSet seen;
    const auto enter = [&](const Node& node) { return reads_elements(node) && !seen.contains(&node); };
    for (std::size_t known = 0; known < roots.size();) {
      const std::vector<Ref> fresh(roots.begin() + static_cast<std::ptrdiff_t>(known), roots.end());
      known = roots.size();
      for (const Node* node : topological(fresh, enter)) {
        if (!seen.insert(node).second || !node->type().is_array()) continue;
        for (const Ref& e : staged_.facts.at(node).extents) extent_expression(e, roots);
      }
    }
  }

  void root(const Ref& array, std::vector<Ref>& roots) {
    uses_[array.get()].root = true;
    roots.push_back(array);
  }

  void number_of_items(const Ref& number, std::vector<Ref>& roots) {
    roots.push_back(number);
    extent_expression(number, roots);
  }

  /// Extents share most of what they are computed from: each node is looked at once.
  void extent_expression(const Ref& extent, std::vector<Ref>& roots) {
    const auto enter = [&](const Node& node) { return reads_elements(node) && !in_extents_.contains(&node); };
    for (const Node* node : topological({&extent, 1}, enter)) {
      if (!in_extents_.insert(node).second) continue;
      if (is_read(node->op())) uses_[Read(*node).array().get()].by_extents = true;
      if (!node->type().is_array()) continue;
      uses_[node].for_extents = true;
      roots.push_back(Ref(node));
    }
  }

  /// What is read twice at one position is read once; of which a map only takes the shape, not at all.
  void reads_of(const Node& reader) {
    std::vector<const Node*> seen;
    each_operand(reader, [&](const Operand& how, const Ref& source) {
      if (how.role != Role::array || std::find(seen.begin(), seen.end(), source.get()) != seen.end()) return;
      seen.push_back(source.get());
      if (!takes(reader, *source)) return;
      reads_.emplace_back(source.get(), &reader);
      read(reader, how.access, uses_[source.get()], source->type().rank);
    });
  }

  static void read(const Node& reader, Access access, Uses& uses, int rank) {
    switch (access) {
      case Access::own_element:
      case Access::own_row:
        ++uses.reads;
        return;
      case Access::by_position:
        ++uses.reads;
        uses.by_position = uses.moved = true;
        return;
      case Access::mapped:
        ++uses.reads;
        uses.moved = true;
        if (!reader.payload().in_bounds) uses.at_computed = true;
        if (!reader.payload().injective) uses.repeated = true;
        return;
      case Access::computed:
        ++uses.reads;
        uses.moved = true;
        if (rank > 0 && !(reader.op() == Op::index && Read(reader).in_bounds()))
          uses.at_computed = true;
        else if (rank == 0 || !Read(reader).injective())
          uses.repeated = true;
        return;
      case Access::stored:
        ++uses.reads;
        uses.stored = true;
        return;
      case Access::shape_only:
      case Access::whole:  // by a loop: see `collect`
        return;
      case Access::value:
      case Access::if_taken:
      case Access::applied:
      case Access::repeated:
      case Access::taken:
      case Access::per_item:
        break;
    }
    throw InternalError(fmt::format("array fusion: how does {} read an array?", name_of(reader.op())));
  }

  /// Of the program, or of the body of a loop or branch; else it is an item's.
  bool is_argument(const Node& parameter) const { return is_among(staged_.parameters, &parameter); }

  bool avoided(const Node& array) const { return staged_.facts.at(&array).form == Form::avoided; }

  /// Avoided arrays that an item's computation reads, directly or inside its functions.
  void mark_captured(const Stage& stage) {
    std::vector<Ref> functions;
    for (const Node* node : topological(stage.results, reads_elements)) {
      if (!node->type().is_array() || !reads_elements(*node) || avoided(*node)) continue;
      for (const Ref& child : node->children()) {
        if (!child->type().is_array())
          functions.push_back(child);
        else if (avoided(*child) && takes(*node, *child))
          uses_[child.get()].by_chunk = true;
      }
    }
    const auto scalar = [](const Node& node) { return !node.type().is_array() && reads_elements(node); };
    for (const Node* node : topological(functions, scalar))
      if (node->type().is_array() && avoided(*node)) uses_[node].by_chunk = true;
  }

  /// The cost of reading an element, or of computing it where the array is not stored. What has one element is read
  /// outside of all loops, as are the extents that a source declares.
  Cost read_cost(const Node& array) const {
    const auto it = staged_.is_manifest(&array) ? cost_.end() : cost_.find(&array);
    if (it != cost_.end()) return it->second;
    return array.type().rank == 0 ? Cost{} : element_read(array.type());
  }

  Cost element_cost(const Node& array) const {
    Cost cost = own_element;
    if (is_given(array)) return cost;
    std::vector<Ref> scalars;
    for (const Ref& child : distinct(array.children())) {
      if (child->op() == Op::lambda)
        scalars.push_back(child->result());
      else if (child->type().is_array() && takes(array, *child))
        cost += read_cost(*child);
    }
    if (array.op() == Op::unit) scalars.push_back(Unit(array).value());
    cost += evaluation_cost(scalars, [this](const Node& read) { return read_cost(read); });
    return cost;
  }

  void decide(const Node& array) {
    const Uses uses = uses_[&array];
    cost_[&array] = element_cost(array);
    const std::int64_t cost = additions(cost_[&array]);
    const bool cheap = cost - additions(own_element) <= options_.cheap;
    const auto store = [&](std::string why) { staged_.manifest.emplace(&array, std::move(why)); };
    if (array.op() == Op::parameter)
      return store(is_argument(array) ? "an argument" : "read from the source");
    if (is_view(staged_, array)) return store("a view of " + title(*PartOf(array).array()));
    const OpInfo& made = info(maker_of(array).op());
    if (made.storage != Storage::delayed) return store(made.why);
    if (uses.root) return store("a result");
    if (uses.by_items) return store("read by a stream, row by row");
    if (uses.whole) return store("given to a program inside");
    if (uses.stored) return store("rearranged");
    if (uses.by_extents) return store("its values decide a shape");
    if (uses.at_computed) return store("read at computed positions");
    if (!options_.fusion) return store("fusion is off");
    // Its elements lie there.
    if (array.op() == Op::reshape && staged_.is_manifest(Reshape(array).array().get())) return;
    if (cost > options_.kernel_cap)
      return store(fmt::format("cut: more than {} operations", options_.kernel_cap));
    if (uses.by_position && !reads_linearly(staged_, array))
      return store("reshaped, and not readable by position");
    if (cheap) return;
    if (uses.by_chunk) return store("does not depend on the item: computed once per run");
    if (uses.repeated) return store("its elements are read repeatedly");
    if (uses.reads <= 1) return;
    store(fmt::format("read in {} places", uses.reads));
    if (!uses.moved) read_in_place_.push_back(&array);
  }

  /// By others than the kernels that read it.
  bool is_needed(const Node& array) {
    const Uses& uses = uses_[&array];
    return uses.root || uses.by_items || uses.whole || uses.stored || uses.for_extents || uses.by_extents ||
           uses.by_chunk;
  }

  /// What is stored only because several read it, all of them in one kernel in the end and at the kernel's own position,
  /// is computed there, once.
  void compute_where_read() {
    if (read_in_place_.empty()) return;
    NodeMap<std::vector<const Node*>> readers;
    for (const auto& [array, reader] : reads_) readers[array].push_back(reader);
    NodeMap<const void*>
        kernel;  // that computes an array, or the only one that reads it; null: there are several
    NodeMap<const void*> set_of;
    NodeSet in_place(read_in_place_.begin(), read_in_place_.end());
    for (const std::vector<Ref>& set : staged_.together)
      for (std::size_t i = 0; i < set.size(); ++i)
        if (i < own_of_kernel(set))
          set_of[set[i].get()] = &set;
        else
          in_place.erase(set[i].get());  // an epilogue has its kernel, and may not compute all that this does
    NodeSet released;
    std::map<const void*, std::int64_t> size;  // of a kernel, in operations, as far as it is known
    for (const auto& [array, set] : set_of) size[set] += additions(cost_.at(array));
    const auto cut = fmt::format("cut: more than {} operations", options_.kernel_cap);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {  // readers before what they read
      const Node* array = *it;
      const auto set = set_of.find(array);
      const bool stays = staged_.is_manifest(array) && !in_place.contains(array);
      const void* alone = set != set_of.end() ? set->second : stays ? array : nullptr;
      if (!alone && !uses_[array].moved) {
        const std::vector<const Node*>& all = readers[array];
        for (const Node* reader : all) {
          const auto known = kernel.find(reader);  // a scan gives several arrays, and is none of them
          const void* by = known != kernel.end() ? known->second : reader;
          alone = reader == all[0] || by == alone ? by : nullptr;
          if (!alone) break;
        }
        if (alone && in_place.contains(array)) {
          const std::int64_t own = additions(cost_.at(array));
          if (size[alone] + own <= options_.kernel_cap) {
            size[alone] += own;
            staged_.manifest.erase(array);
            released.insert(array);
          } else {
            staged_.manifest[array] = cut;
            alone = nullptr;
          }
        }
      }
      if (!alone && staged_.is_manifest(array)) alone = array;
      if (alone == array) size[array] += additions(cost_.at(array));
      kernel[array] = alone;
    }
    for (auto& [array, others] : staged_.beside)
      std::erase_if(others, [&](const Beside& one) { return released.contains(one.other.get()); });
  }

  /// No kernel computes the components of a stored array, but of the one that stores it: others may be made of them there.
  void leave_where_they_lie() {
    NodeSet epilogues;
    for (const std::vector<Ref>& set : staged_.together)
      for (std::size_t i = own_of_kernel(set); i < set.size(); ++i) epilogues.insert(set[i].get());
    const auto lies_in = [&](const Node& array) {
      return epilogues.contains(&array) ? std::nullopt : components_of(staged_, array);
    };
    for (auto& [array, why] : staged_.manifest)
      if (const auto of = lies_in(*array)) {
        why += "; it lies in " + title(*of->array);
        staged_.beside.erase(array);
      }
    for (std::vector<Ref>& set : staged_.together) {
      const auto lies = [&](const Ref& array) { return lies_in(*array).has_value(); };
      if (std::erase_if(set, lies) == 0 || set.empty()) continue;
      for (const Ref& array : set)
        std::erase_if(staged_.beside[array.get()], [](const Beside& one) { return one.why.empty(); });
      for (std::size_t i = 1; i < set.size(); ++i) staged_.beside[set[i].get()].push_back({set[0], ""});
    }
    std::erase_if(staged_.together, [](const std::vector<Ref>& set) { return set.size() < 2; });
  }

  Staged& staged_;
  Options options_;
  NodeMap<Uses> uses_;
  std::vector<std::pair<const Node*, const Node*>> reads_;  ///< array, reader
  NodeMap<Cost> cost_;                                      ///< of an element
  std::vector<const Node*> read_in_place_;  ///< stored because several read them, all at their own position
  NodeSet in_extents_;                      ///< nodes that decide a shape
  std::vector<const Node*> order_;
};

/// Does the element at a row-major position follow from those of the operands at that position?
bool is_positional(const Staged& staged, const Node& array) {
  bool reads = false;
  bool positional = true;
  each_operand(array, [&](const Operand& how, const Ref& source) {
    if (how.role != Role::array) return;
    reads = true;
    const bool same_shape = staged.facts_of(source).extents == staged.facts.at(&array).extents;
    positional &= how.access == Access::by_position || (how.access == Access::own_element && same_shape);
  });
  return reads && positional;
}

}  // namespace

bool takes(const Node& reader, const Node& source) {
  if (reader.op() != Op::map) return true;
  const Map map(reader);
  const std::span<const Ref> parameters = map.function()->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (map.arrays()[i].get() == &source && mentions(*map.function()->result(), parameters.subspan(i, 1)))
      return true;
  return false;
}

bool reads_linearly(const Staged& staged, const Node& array) {
  // For example along a chain of maps over equal shapes; each array is visited once.
  NodeSet seen;
  std::vector<const Node*> open{&array};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (is_given(*node) || staged.is_manifest(node) || node->type().rank <= 1) continue;
    if (!is_positional(staged, *node)) return false;
    for (const Ref& source : node->children())
      if (source->type().is_array() && seen.insert(source.get()).second) open.push_back(source.get());
  }
  return true;
}

Staged arrays(Staged staged, const Options& options) {
  Fuser(staged, options).run();
  for (Control& control : staged.controls)
    each_body(control,
              [&](const char*, Body& body) { body.program = arrays(std::move(body.program), options); });
  for (Stage& stage : staged.stages)
    for (Nested& nested : stage.nested) nested.body.program = arrays(std::move(nested.body.program), options);
  return staged;
}

}  // namespace anabranch::fuse
