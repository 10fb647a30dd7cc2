#include "fuse/arrays.h"

#include <algorithm>

#include <fmt/format.h>

#include "fuse/folds.h"
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
  bool root = false;
};

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
    // Arrays of which only the shape is asked for are given all the same.
    for (const auto& [array, facts] : staged_.facts)
      if (is_given(*array)) decide(*array);
    if (options_.fusion)
      folds(
          staged_, order_, [&](const Node& node) { return cost_.at(&node); },
          [&](const Node& node) { return uses_[&node].for_extents; }, options_);
  }

 private:
  void collect() {
    std::vector<Ref> roots;
    for (const Ref& r : staged_.results) root(r, roots);
    for (const ExtentCheck& check : staged_.extent_checks) extent_expression(check.extent, roots);
    for (const Stage& stage : staged_.stages) {
      for (const StageSource& base : stage.sources) {
        if (base.node->op() == Op::rows) root(Ref(base.node->child(0)), roots);
        if (base.node->op() == Op::produce) {
          roots.push_back(Ref(base.node->child(0)));
          extent_expression(Ref(base.node->child(0)), roots);
        }
      }
      for (const ExtentCheck& check : stage.extent_checks) extent_expression(check.extent, roots);
      for (const Ref& r : stage.results) {
        root(r, roots);
        if (avoided(*r)) uses_[r.get()].by_chunk = true;
      }
    }
    // Extents may read arrays that nothing else mentions any more.
    for (std::size_t i = 0; i < roots.size(); ++i) {
      for (const Node* node : topological({&roots[i], 1}, enter())) {
        if (!node->type().is_array() || !seen_.insert(node).second) continue;
        for (const Ref& e : staged_.facts.at(node).extents) extent_expression(e, roots);
      }
    }
    for (const Node* node : topological(roots, enter())) {
      if (node->type().is_array()) {
        order_.push_back(node);
        array_reads(*node);
      } else if (node->op() == Op::index || node->op() == Op::linear_index) {
        Uses& uses = uses_[node->child(0).get()];
        ++uses.reads;
        if (node->child(0)->type().rank > 0)
          uses.at_computed = true;
        else
          uses.repeated = true;
      }
    }
    for (const Stage& stage : staged_.stages) mark_captured(stage);
  }

  static std::function<bool(const Node&)> enter() {
    return [](const Node& node) { return node.op() != Op::consume && node.op() != Op::shape; };
  }

  void root(const Ref& array, std::vector<Ref>& roots) {
    uses_[array.get()].root = true;
    roots.push_back(array);
  }

  void extent_expression(const Ref& extent, std::vector<Ref>& roots) {
    for (const Node* node : topological({&extent, 1}, enter())) {
      if (!node->type().is_array()) continue;
      uses_[node].for_extents = true;
      roots.push_back(Ref(node));
    }
  }

  void array_reads(const Node& array) {
    const auto read = [&](const Ref& source) -> Uses& {
      Uses& uses = uses_[source.get()];
      ++uses.reads;
      return uses;
    };
    switch (array.op()) {
      case Op::map:
        for (const Ref& source : distinct(array.children().subspan(1))) read(source);
        return;
      case Op::fold:
        read(array.child(1));
        return;
      case Op::backpermute: {
        Uses& uses = read(array.child(2));
        if (!array.payload().in_bounds) uses.at_computed = true;
        if (!array.payload().injective) uses.repeated = true;
        return;
      }
      case Op::reshape:
        read(array.child(1)).by_position = true;
        return;
      case Op::use:
      case Op::unit:
      case Op::generate:
      case Op::parameter:
      case Op::consume:
        return;
      case Op::constant:
      case Op::primitive:
      case Op::tuple:
      case Op::project:
      case Op::cond:
      case Op::while_loop:
      case Op::index:
      case Op::linear_index:
      case Op::shape:
      case Op::lambda:
      case Op::stream_in:
      case Op::produce:
      case Op::rows:
      case Op::map_seq:
      case Op::project_seq:
      case Op::elements:
      case Op::tabulate:
        break;
    }
    throw InternalError("array fusion: not an array computation");
  }

  bool avoided(const Node& array) const { return staged_.facts.at(&array).form == Form::avoided; }

  /// Avoided arrays that an item's computation reads, directly or inside its functions.
  void mark_captured(const Stage& stage) {
    std::vector<Ref> functions;
    for (const Node* node : topological(stage.results, enter())) {
      if (!node->type().is_array() || avoided(*node)) continue;
      for (const Ref& child : node->children()) {
        if (!child->type().is_array())
          functions.push_back(child);
        else if (avoided(*child))
          uses_[child.get()].by_chunk = true;
      }
    }
    const auto scalar = [](const Node& node) { return !node.type().is_array() && node.op() != Op::shape; };
    for (const Node* node : topological(functions, scalar))
      if (node->type().is_array() && avoided(*node)) uses_[node].by_chunk = true;
  }

  /// Additions-equivalents of scalar code; reads of delayed arrays count what these cost.
  int scalar_cost(const Ref& expression) const {
    std::int64_t cost = 0;
    for (const Node* node :
         topological({&expression, 1}, [](const Node& n) { return !n.type().is_array(); })) {
      if (node->op() == Op::primitive) cost += info(node->payload().primitive).cost;
      if (node->op() == Op::while_loop) cost += 64;
      if (node->op() == Op::cond) cost += 1;
      if (node->op() == Op::index || node->op() == Op::linear_index) cost += 1 + read_cost(*node->child(0));
    }
    return static_cast<int>(std::min<std::int64_t>(cost, 1 << 20));
  }
  int read_cost(const Node& array) const {
    if (staged_.is_manifest(&array)) return 1;
    const auto it = cost_.find(&array);
    return it == cost_.end() ? 1 : it->second;
  }

  int element_cost(const Node& array) const {
    std::int64_t cost = 1;
    for (const Ref& child : distinct(array.children())) {
      if (child->op() == Op::lambda)
        cost += scalar_cost(child->result());
      else if (child->type().is_array())
        cost += read_cost(*child);
    }
    if (array.op() == Op::unit) cost += scalar_cost(array.child(0));
    return static_cast<int>(std::min<std::int64_t>(cost, 1 << 20));
  }

  void decide(const Node& array) {
    const Uses uses = uses_[&array];
    const int cost = element_cost(array);
    cost_[&array] = cost;
    const bool cheap = cost - 1 <= options_.cheap;
    const auto store = [&](std::string why) { staged_.manifest.emplace(&array, std::move(why)); };
    if (array.op() == Op::use) return store("given by the host");
    if (array.op() == Op::parameter) return store(array.closed() ? "given" : "read from the source");
    if (array.op() == Op::consume) return store("result of a stream");
    if (array.op() == Op::fold) return store("a reduction");
    if (uses.root) return store("a result");
    if (uses.for_extents) return store("its values decide a shape");
    if (uses.at_computed) return store("read at computed positions");
    if (!options_.fusion) return store("fusion is off");
    if (cost > options_.kernel_cap)
      return store(fmt::format("cut: more than {} operations", options_.kernel_cap));
    if (uses.by_position && !reads_linearly(staged_, array))
      return store("reshaped, and not readable by position");
    if (cheap) return;
    if (uses.by_chunk) return store("does not depend on the item: computed once per run");
    if (uses.repeated) return store("its elements are read repeatedly");
    if (uses.reads > 1) return store(fmt::format("read in {} places", uses.reads));
  }

  Staged& staged_;
  Options options_;
  NodeMap<Uses> uses_;
  NodeMap<int> cost_;
  NodeSet seen_;
  std::vector<const Node*> order_;
};

}  // namespace

bool reads_linearly(const Staged& staged, const Node& array) {
  // Along a chain of maps over equal shapes; each is looked at once, so this is linear in the chain.
  std::vector<const Node*> open{&array};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (is_given(*node) || staged.is_manifest(node) || node->type().rank <= 1) continue;
    if (node->op() == Op::reshape) {
      open.push_back(node->child(1).get());
      continue;
    }
    if (node->op() != Op::map) return false;
    const auto& mine = staged.facts.at(node).extents;
    for (const Ref& source : distinct(node->children().subspan(1))) {
      if (staged.facts.at(source.get()).extents != mine) return false;
      open.push_back(source.get());
    }
  }
  return true;
}

Staged arrays(Staged staged, const Options& options) {
  Fuser(staged, options).run();
  return staged;
}

}  // namespace anabranch::fuse
