#include "fuse/epilogues.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/op_info.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// A kernel whose results epilogues may take.
struct Rows {
  std::vector<Ref> arrays;     ///< that it gives, first those that epilogues may read
  std::vector<Ref> epilogues;  ///< in an order of dependence
  NodeSet inputs;              ///< stored arrays that it reads in any case
  int stage = -1;
  std::int64_t cost = 0;  ///< of the epilogues
};

/// What an element is computed from.
struct Element {
  const char* apart = nullptr;  ///< why that can be no epilogue; null: it can
  int rows = -1;                ///< the first kernel whose results it reads at its own position; -1: none
  std::vector<const Node*> others{};  ///< stored arrays that it reads besides
};

class Epilogues {
 public:
  Epilogues(Staged& staged, std::span<const Node* const> order, const Reads& reads, const Needs& needs,
            const std::function<std::int64_t(const Node&)>& cost,
            const std::function<bool(const Node&)>& for_extents, const Options& options)
      : staged_(staged),
        order_(order),
        reads_(reads),
        needs_(needs),
        cost_(cost),
        for_extents_(for_extents),
        options_(options) {}

  void run() {
    find_rows();
    if (rows_.empty()) return;
    for (const Node* array : order_) {
      Element element = element_of(*array);
      if (element.rows >= 0 && staged_.is_manifest(array) && !for_extents_(*array)) decide(*array, element);
      known_[array] = std::move(element);
    }
    drop_results();
    enter();
  }

 private:
  // Kernels -------------------------------------------------------------------------------------------------

  void find_rows() {
    NodeMap<int> of_maker;  // a set of folds, or the operation itself
    for (std::size_t s = 0; s < staged_.together.size(); ++s)
      if (staged_.together[s][0]->op() == Op::fold) {
        const int number = add(staged_.together[s]);
        for (const Ref& fold : staged_.together[s]) of_maker[fold.get()] = number;
      }
    for (const Node* array : order_) {
      if (!staged_.is_manifest(array) || for_extents_(*array)) continue;
      const Node& maker = maker_of(*array);
      if (const auto known = of_maker.find(&maker); known != of_maker.end()) {
        if (maker.op() == Op::scan) rows_[static_cast<std::size_t>(known->second)].arrays.emplace_back(array);
        if (may_be_read(*array)) rows_of_[array] = known->second;
        continue;
      }
      if (maker.op() != Op::scan && maker.op() != Op::scan_state &&
          (maker.op() != Op::fold || may_be_unrolled(*array)))
        continue;
      of_maker[&maker] = add({Ref(array)});
      if (may_be_read(*array)) rows_of_[array] = of_maker[&maker];
    }
    for (Rows& rows : rows_) find_inputs(rows);
  }

  int add(std::vector<Ref> arrays) {
    Rows& rows = rows_.emplace_back();
    rows.arrays = std::move(arrays);
    rows.stage = needs_.stage_of(*rows.arrays[0]);
    return static_cast<int>(rows_.size()) - 1;
  }

  /// Of scans the prefixes, of which there are as many as elements.
  static bool may_be_read(const Node& array) {
    if (array.op() != Op::project_array) return true;
    return ProjectArray(array).which() == 0 && Scan(maker_of(array)).kind().prefixes != Prefixes::all;
  }

  /// A fold at few positions may be several of one row to the plan (plan/unrolled_folds.cpp), which have no epilogue.
  bool may_be_unrolled(const Node& fold) const {
    const std::vector<Ref>& extents = staged_.facts.at(&fold).extents;
    return !extents.empty() && extents.back()->op() == Op::constant;
  }

  void find_inputs(Rows& rows) {
    std::vector<Ref> roots;
    for (const Ref& array : rows.arrays)
      for (const Ref& child : maker_of(*array).children()) roots.push_back(child);
    const auto is_there = [&](const Node& node) {
      return node.type().is_array() && (staged_.is_manifest(&node) || is_given(node));
    };
    const auto enter = [&](const Node& node) { return reads_elements(node) && !is_there(node); };
    for (const Node* node : topological(roots, enter))
      if (is_there(*node)) rows.inputs.insert(node);
  }

  // Elements ------------------------------------------------------------------------------------------------

  static void keep_apart(Element& element, const char* why) {
    if (!element.apart) element.apart = why;
  }

  Element element_of(const Node& array) const {
    Element out;
    const bool is_map = array.op() == Op::map || (array.op() == Op::unit && array.type().rank == 0);
    if (!is_map) out.apart = "it is no map";
    each_operand(array, [&](const Operand& how, const Ref& operand) {
      if (how.role == Role::array) {
        if (is_map) read(array, *operand, out);
      } else if (how.role == Role::function || how.role == Role::element) {
        scalar(array, operand, out);
      }
    });
    return out;
  }

  void scalar(const Node& array, const Ref& term, Element& out) const {
    const int stage = needs_.stage_of(array);
    if (array.type().rank > 0 && stage >= 0 &&
        mentions(*term, staged_.stages[static_cast<std::size_t>(stage)].items))
      keep_apart(out, "its function depends on the item");
    const auto enter = [](const Node& node) { return !node.type().is_array() && node.op() != Op::shape; };
    for (const Node* node : topological({&term, 1}, enter)) {
      if (node->op() == Op::while_loop) keep_apart(out, "it has a loop");
      if (node->op() == Op::primitive && can_fail(*node)) keep_apart(out, "it can fail");
      if (!is_read(node->op())) continue;
      const Node& source = *Read(*node).array();
      if (source.type().rank > 0)
        keep_apart(out, "it reads elsewhere than at its own position");
      else if (array.type().rank == 0)
        read(array, source, out);
      else
        other(source, out);
    }
  }

  /// At the position of `array`.
  void read(const Node& array, const Node& source, Element& out) const {
    const Facts &own = staged_.facts.at(&array), &its = staged_.facts.at(&source);
    const bool is_for_all_items = source.type().rank == 0 && its.form != own.form;
    if (is_for_all_items) return other(source, out);
    if (its.extents != own.extents || its.form != own.form)
      return keep_apart(out, "it reads an array of another shape");
    const auto take = [&](int rows) {
      if (out.rows >= 0 && out.rows != rows) keep_apart(out, "it needs the results of several kernels");
      if (out.rows < 0) out.rows = rows;
    };
    if (const auto rows = rows_of_.find(&source); rows != rows_of_.end()) {
      take(rows->second);
    } else if (staged_.is_manifest(&source) || is_given(source)) {
      other(source, out);
    } else if (const auto delayed = known_.find(&source); delayed != known_.end()) {
      const Element& element = delayed->second;
      if (element.apart) keep_apart(out, element.apart);
      if (element.rows >= 0) take(element.rows);
      for (const Node* one : element.others) other(*one, out);
    } else {
      keep_apart(out, "it reads what is no map");
    }
  }

  static void other(const Node& array, Element& out) {
    constexpr std::size_t most = 16;
    if (std::find(out.others.begin(), out.others.end(), &array) != out.others.end()) return;
    if (out.others.size() == most) return keep_apart(out, "it reads more than 16 arrays");
    out.others.push_back(&array);
  }

  // Epilogues -----------------------------------------------------------------------------------------------

  void decide(const Node& array, const Element& element) {
    Rows& rows = rows_[static_cast<std::size_t>(element.rows)];
    const std::string why = refusal(array, element, rows);
    staged_.beside[&array].push_back({rows.arrays[0], why});
    if (!why.empty()) return;
    rows_of_[&array] = element.rows;
    rows.epilogues.emplace_back(&array);
    rows.cost += cost_(array);
  }

  std::string refusal(const Node& array, const Element& element, const Rows& rows) const {
    if (element.apart) return element.apart;
    if (cost_(array) > options_.epilogue_cap)
      return fmt::format("more than {} operations", options_.epilogue_cap);
    if (rows.cost + cost_(array) > options_.kernel_cap)
      return fmt::format("more than {} operations with the others there", options_.kernel_cap);
    if (needs_.stage_of(array) != rows.stage) return "only one of them depends on the item";
    if (rows.stage < 0 && needs_.of(array).parts > parts_of(rows))
      return "it needs what a stream, a loop or a branch gives";
    const auto is_there = [&](const Node* other) {
      if (rows.inputs.contains(other) || other->op() == Op::parameter || other->op() == Op::use) return true;
      return rows.stage >= 0 && staged_.facts.at(other).form == Form::avoided;
    };
    if (!std::all_of(element.others.begin(), element.others.end(), is_there))
      return "it needs what other kernels store";
    return {};
  }

  /// Stages, loops and branches that must have run before the kernel.
  int parts_of(const Rows& rows) const {
    int parts = 0;
    for (const Ref& array : rows.arrays) parts = std::max(parts, needs_.of(*array).parts);
    return parts;
  }

  /// What nobody but epilogues of its kernel reads is not stored.
  void drop_results() {
    for (const auto& [array, reader] : reads_.all) readers_[array].push_back(reader);
    NodeMap<int> only;  // the kernel in whose epilogues the array is read, and nowhere else; -1: elsewhere
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {  // readers before what they read
      const Node* array = *it;
      const auto rows = rows_of_.find(array);
      const bool is_result = rows != rows_of_.end() && info(maker_of(*array).op()).storage == Storage::stored;
      int where = -1;
      if (rows != rows_of_.end() && !is_result) {
        where = rows->second;
        if (!reads_.is_needed(*array) && only_reader(*array, only) == where)
          compute_where_read(*array, where);
      } else if (is_result || !staged_.is_manifest(array)) {
        where = reads_.is_needed(*array) ? -1 : only_reader(*array, only);
        if (is_result && where == rows->second) staged_.manifest.erase(array);
      }
      only[array] = where;
    }
  }

  /// An epilogue, by others of its kernel.
  void compute_where_read(const Node& array, int rows) {
    staged_.manifest.erase(&array);
    staged_.beside.erase(&array);
    std::erase_if(rows_[static_cast<std::size_t>(rows)].epilogues,
                  [&](const Ref& epilogue) { return epilogue.get() == &array; });
  }

  int only_reader(const Node& array, const NodeMap<int>& only) const {
    const auto found = readers_.find(&array);
    if (found == readers_.end()) return -1;
    int where = -1;
    for (const Node* reader : found->second) {
      const auto known = only.find(reader);
      if (known == only.end() || known->second < 0 || (where >= 0 && where != known->second)) return -1;
      where = known->second;
    }
    return where;
  }

  void enter() {
    for (Rows& rows : rows_) {
      if (rows.epilogues.empty()) continue;
      const auto set = std::find(staged_.together.begin(), staged_.together.end(), rows.arrays);
      std::vector<Ref>& all =
          set != staged_.together.end() ? *set : staged_.together.emplace_back(rows.arrays);
      all.insert(all.end(), rows.epilogues.begin(), rows.epilogues.end());
    }
  }

  Staged& staged_;
  std::span<const Node* const> order_;
  const Reads& reads_;
  const Needs& needs_;
  const std::function<std::int64_t(const Node&)>& cost_;
  const std::function<bool(const Node&)>& for_extents_;
  const Options& options_;
  std::vector<Rows> rows_;
  NodeMap<int> rows_of_;    ///< of results that may be read, and of epilogues
  NodeMap<Element> known_;  ///< of all arrays so far
  NodeMap<std::vector<const Node*>> readers_;
};

}  // namespace

void epilogues(Staged& staged, std::span<const Node* const> order, const Reads& reads, const Needs& needs,
               const std::function<std::int64_t(const Node&)>& cost,
               const std::function<bool(const Node&)>& for_extents, const Options& options) {
  Epilogues(staged, order, reads, needs, cost, for_extents, options).run();
}

}  // namespace anabranch::fuse
