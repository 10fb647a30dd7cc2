#include "lift/lift.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/own_nodes.h"
#include "ir/run_error.h"
#include "ir/simplify.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "lift/extent_bounds.h"
#include "lift/flatten.h"
#include "lift/ranges.h"

namespace anabranch::lift {

using namespace ir;

namespace {

class Lifter {
 public:
  Lifter(Staged& staged, const Options& options) : staged_(staged), options_(options) {}

  void run() {
    for (Stage& stage : staged_.stages) lift_stage(stage);
    for (Control& control : staged_.controls) lift_control(control);
    for (Ref& result : staged_.results) result = rewriter_(result);
  }

 private:
  void lift_stage(Stage& stage) {
    stage_ = &stage;
    items_.clear();
    checked_in_stage_.clear();
    for (StageSource& source : stage.sources) lift_source(stage, source);
    for (ItemBound& bound : stage.bounds) bound.count = rewriter_(bound.count);
    for (Stage::Sink& sink : stage.sinks)
      for (Ref& input : sink.inputs) input = rewriter_(input);
    for (Ref& reshape : stage.required) reshape = rewriter_(reshape);
    std::erase_if(stage.required, [](const Ref& r) { return r->op() != Op::reshape; });  // it changes nothing
    for (Nested& nested : stage.nested) lift_nested(nested);
    for (Ref& result : stage.results) result = rewriter_(result);
    items_.clear();
    checked_in_stage_.clear();
    stage_ = nullptr;
  }

  /// Its program, and what the outer stage knows of what it gives.
  void lift_nested(Nested& nested) {
    const Outer outer{staged_, *stage_, [this](const Ref& array) { return rewriter_(array); },
                      // The simplifier itself would look into arrays, which are known by address.
                      [this](const Ref& term) { return Unit(rewriter_(unit(term))).value(); },
                      [this](const Ref& term) { return uniform(term); }};
    const KnownExtents known = !nested.control                     ? known_extents(nested)
                               : nested.control->op() == Op::acond ? known_of_branch(nested)
                                                                   : known_of_loop(nested);
    std::optional<InBody> body;
    if (nested.control) body.emplace(*nested.control);
    const std::vector<Ref> results = flatten(outer, nested, known);
    nested.body.program = lift(options_.sequences(results, nested.body.program.parameters), options_);
    if (nested.control) return record_control(nested, known);
    const Stage& inner = nested.inner[0];
    for (const Stage::Sink& sink : inner.sinks) {
      Facts facts;
      facts.extents = extents_of_sink(outer, inner, sink, known);
      for (std::size_t d = 0; d < facts.extents.size(); ++d)
        if (!facts.extents[d]) facts.extents[d] = simplify_.step(extent(sink.consume, static_cast<int>(d)));
      check_items(outer, inner, sink.consume);
      // A number of items that differs is compared where the items are counted, if they are.
      for (const Ref& e : facts.extents) {
        if (!is_an_extent(e, false)) stage_->extent_checks.push_back({e, sink.consume});
        checked_in_stage_.insert(e.get());
      }
      describe(facts);
      record(sink.consume, std::move(facts));
      rewriter_.set(sink.consume, sink.consume);
    }
  }

  /// How many items the sources of a sequence inside of the stage give, and how many are taken of them.
  void check_items(const Outer& outer, const Stage& inner, const Ref& consume) {
    const auto check = [&](const Ref& given, const Ref& items) {
      const Ref count = outer.simplified(given);
      if (is_an_extent(count, false)) return;
      stage_->extent_checks.push_back({count, consume, items});
    };
    for (const StageSource& source : inner.sources)
      if (source.node->op() == Op::produce) check(Produce(source.node).count(), source.node);
    for (const ItemBound& bound : inner.bounds) check(bound.count, bound.take);
  }

  /// What a loop or a branch of the stage gives.
  void record_control(Nested& nested, const KnownExtents& known) {
    for (std::size_t i = 0; i < nested.results.size(); ++i) {
      Nested::Result& result = nested.results[i];
      result.array = rewriter_(result.array);
      Facts facts;
      for (std::size_t d = 0; d < result.extents.size(); ++d)
        facts.extents.push_back(known[i][d] ? known[i][d]
                                            : simplify_.step(extent(result.array, static_cast<int>(d))));
      for (const Ref& e : facts.extents) checked_in_stage_.insert(e.get());
      describe(facts);
      record(result.array, std::move(facts));
    }
  }

  /// Of the results of a sequence inside of the stage, as far as they are the same for all of its items.
  KnownExtents known_extents(const Nested& nested) {
    Stage inner = nested.inner[0];
    NodeSet computed;
    for (const Ref& node : nested.computed) computed.insert(node.get());
    const std::size_t outer_items = items_.size(), kept = staged_.kept.size();
    inner_items_ = inner.items;
    for (StageSource& source : inner.sources) lift_source(inner, source);
    KnownExtents known;
    std::vector<Ref> arrays;
    for (const Ref& result : inner.results) arrays.push_back(rewriter_(result));
    for (const Ref& array : arrays) {
      known.push_back(staged_.facts_of(array).extents);
      for (Ref& e : known.back())
        if (mentions(*e, inner_items_) || !all_planned(e, computed)) e = Ref();
    }
    // What belongs to the inner items is known of the program that is made of them.
    for (std::size_t k = kept; k < staged_.kept.size(); ++k)
      if (mentions(*staged_.kept[k], inner_items_)) forget(staged_.kept[k]);
    inner_items_.clear();
    items_.resize(outer_items);
    return known;
  }

  /// Of what both sides of a branch give: extents that are the same on both, whichever is taken.
  KnownExtents known_of_branch(const Nested& nested) {
    const Acond branch(nested.control);
    KnownExtents known = extents_of_results(branch.then(), {});
    const KnownExtents other = extents_of_results(branch.otherwise(), {});
    NodeSet computed;
    for (const Ref& node : nested.computed) computed.insert(node.get());
    for (std::size_t i = 0; i < known.size(); ++i)
      for (std::size_t d = 0; d < known[i].size(); ++d)
        if (Ref& e = known[i][d];
            e != other[i][d] || !all_planned(e, computed) || !reads_no_elements(e) || !is_an_extent(e, false))
          e = Ref();
    return known;
  }

  /// Of what a loop gives: extents that no round changes.
  KnownExtents known_of_loop(const Nested& nested) {
    const Awhile loop(nested.control);
    KnownExtents known;
    for (const Ref& array : loop.state()) known.push_back(staged_.facts_of(rewriter_(array)).extents);
    for (bool changed = true; changed;) {
      changed = false;
      const KnownExtents next = extents_of_results(loop.body(), known);
      for (std::size_t i = 0; i < known.size(); ++i)
        for (std::size_t d = 0; d < known[i].size(); ++d)
          if (known[i][d] && next[i][d] != known[i][d]) {
            known[i][d] = Ref();
            changed = true;
          }
    }
    return known;
  }

  /// Of the arrays that a function of a loop or branch gives, as terms of the stage and, where its parameters' are not
  /// known (null), of theirs. The stage takes nothing over from it: it may never run.
  KnownExtents extents_of_results(const Ref& function, const KnownExtents& of_parameters) {
    const Rewriter outside = rewriter_;
    const std::size_t outer_items = items_.size(), kept = staged_.kept.size();
    looking_ahead_ = true;
    for (std::size_t i = 0; i < of_parameters.size(); ++i) {
      const Ref& parameter = function->parameters()[i];
      std::vector<Ref> extents = of_parameters[i];
      for (std::size_t d = 0; d < extents.size(); ++d)
        if (!extents[d]) extents[d] = simplify_.step(extent(parameter, static_cast<int>(d)));
      describe_item(parameter, std::move(extents), "the state of a loop");
    }
    KnownExtents found;
    for (const Ref& result : function->results())
      found.push_back(staged_.facts_of(rewriter_(result)).extents);
    looking_ahead_ = false;
    for (std::size_t k = kept; k < staged_.kept.size(); ++k) forget(staged_.kept[k]);
    staged_.kept.resize(kept);
    items_.resize(outer_items);
    rewriter_ = outside;
    return found;
  }

  /// Elements may not be there, and reading them may fail, where what is asked for is never made.
  static bool reads_no_elements(const Ref& extent) {
    const std::vector<const Node*> nodes =
        topological({&extent, 1}, [](const Node& node) { return !node.type().is_array(); });
    return std::none_of(nodes.begin(), nodes.end(), [](const Node* node) {
      return is_read(node->op()) &&
             !(Read(Ref(node)).in_bounds() && Read(Ref(node)).array()->op() == Op::use);
    });
  }

  void lift_control(Control& control) {
    each_own_input(control, [&](Ref& input) { input = rewriter_(input); });
    each_body(control, [&](const char*, Body& body) {
      for (Ref& array : body.captured) array = rewriter_(array);
      body.program = lift(std::move(body.program), options_);
    });
  }

  // What the source itself computes (the array of rows, the count of produce) lies outside the stage.
  void lift_source(Stage& stage, StageSource& source) {
    if (is_fed(source.node->op())) return lift_fed(stage, source);
    std::vector<ArrayInfo> infos;
    switch (source.node->op().as<SourceOp>()) {
      case Op::stream_in:
        infos = source.node->payload().source->info().arrays;
        break;
      case Op::produce: {
        const Ref count = rewriter_(Produce(source.node).count());
        source.node = produce(count, Produce(source.node).function(), source.node->place(),
                              source.node->payload().label);
        infos.resize(1);
        infos[0].scalars = {ScalarType::int64};
        break;
      }
      case Op::rows: {
        const Ref array = rewriter_(Rows(source.node).array());
        source.node = rows(array, source.node->place());
        const auto& outer = staged_.facts_of(array).extents;
        set_item(stage.items[static_cast<std::size_t>(source.first)], {outer.begin() + 1, outer.end()},
                 "a row");
        return;
      }
    }
    std::map<int, Ref> representative;  // of a descriptor: whose leaf extents stand for all
    for (std::size_t i = 0; i < infos.size(); ++i) {
      const int number = source.first + static_cast<int>(i);
      const Ref& item = stage.items[static_cast<std::size_t>(number)];
      const bool own = infos[i].descriptor < 0 || !options_.shape_analysis;
      const Ref& leader = own ? item : representative.try_emplace(infos[i].descriptor, item).first->second;
      std::vector<Ref> extents;
      for (int d = 0; d < infos[i].rank(); ++d) {
        if (const auto& declared = infos[i].extents[static_cast<std::size_t>(d)]) {
          // Components with one descriptor share the uniform extents too.
          const auto& known = staged_.facts.find(leader.get());
          if (leader.get() != item.get() && known != staged_.facts.end()) {
            extents.push_back(known->second.extents[static_cast<std::size_t>(d)]);
            continue;
          }
          extents.push_back(rewriter_(known_extent(*declared, source.node->place())));
        } else {
          extents.push_back(simplify_.step(extent(leader, d)));
        }
      }
      set_item(item, std::move(extents),
               source.node->op() == Op::produce ? "the item's number" : "an item of the source");
    }
  }

  /// Of what other stages feed: extents that are the same for all of their items stay so, those that are the same as each
  /// other stay so, too.
  void lift_fed(Stage& stage, StageSource& source) {
    for (Ref& input : source.inputs) input = rewriter_(input);
    std::vector<std::vector<Ref>> before;  // extents, null where they differ from item to item
    for (int i = 0; i < source.count; ++i) before.push_back(extents_before(source, i));
    for (int i = 0; i < source.count; ++i) {
      const Ref& item = stage.items[static_cast<std::size_t>(source.first + i)];
      std::vector<Ref> extents = before[static_cast<std::size_t>(i)];
      const int leader = options_.shape_analysis ? same_shape_before(source, i) : i;
      const Ref& of = stage.items[static_cast<std::size_t>(source.first + leader)];
      for (std::size_t d = 0; d < extents.size(); ++d)
        if (!extents[d]) extents[d] = simplify_.step(extent(of, static_cast<int>(d)));
      set_item(item, std::move(extents), "an item of other items");
    }
  }

  /// Extents of an array of the items that feed a stage, as the stage knows them.
  std::vector<Ref> extents_before(const StageSource& source, int array) const {
    if (source.node->op() == Op::windows_seq) return {source.inputs.begin() + 1, source.inputs.end()};
    const auto which = static_cast<std::size_t>(array);
    if (source.node->op() == Op::flatten_seq || source.node->op() == Op::map_accum_seq)
      return std::vector<Ref>(static_cast<std::size_t>(source.node->type().arrays[which].rank), Ref());
    std::vector<Ref> known;
    for (const int feed : source.feeds) {
      const Stage& feeding = staged_.stages[static_cast<std::size_t>(feed)];
      std::vector<Ref> extents = staged_.facts_of(feeding.results[which]).extents;
      for (Ref& e : extents)
        if (mentions(*e, feeding.items)) e = Ref();
      if (feed == source.feeds[0]) known = extents;
      for (std::size_t d = 0; d < known.size(); ++d)
        if (extents[d] != known[d]) known[d] = Ref();
    }
    return known;
  }

  /// The first array of the items whose extents are this one's in all stages that feed it.
  int same_shape_before(const StageSource& source, int array) const {
    if (source.node->op() != Op::filter_seq && source.node->op() != Op::take_while_seq &&
        source.node->op() != Op::drop_seq && source.node->op() != Op::append_seq)
      return array;
    const auto same = [&](int other) {
      return std::all_of(source.feeds.begin(), source.feeds.end(), [&](int feed) {
        const std::vector<Ref>& results = staged_.stages[static_cast<std::size_t>(feed)].results;
        return staged_.facts_of(results[static_cast<std::size_t>(other)]).extents ==
               staged_.facts_of(results[static_cast<std::size_t>(array)]).extents;
      });
    };
    int first = 0;
    while (!same(first)) ++first;
    return first;
  }

  /// A uniform extent is known once the source is open.
  /// It is read like any other input, so that kernels do not depend on it.
  static Ref known_extent(std::int64_t value, const Place& place) {
    auto array = anabranch::detail::allocate_array(Scalars{ScalarType::int64}, {});
    *static_cast<std::int64_t*>(array->buffers[0].get()) = value;
    return index(use(std::move(array), place), tuple({}), place, true);
  }

  void set_item(const Ref& item, std::vector<Ref> extents, const char* what) {
    for (const Ref& e : extents) checked_in_stage_.insert(e.get());
    describe_item(item, std::move(extents), what);
  }
  void describe_item(const Ref& item, std::vector<Ref> extents, const char* what) {
    items_.push_back(item);
    rewriter_.set(item, item);
    Facts facts;
    facts.extents = std::move(extents);
    facts.form =
        std::all_of(facts.extents.begin(), facts.extents.end(), [&](const Ref& e) { return uniform(e); })
            ? Form::regular
            : Form::segmented;
    facts.reason = facts.form == Form::regular ? fmt::format("{}, all of one shape", what)
                                               : fmt::format("{}, whose shape differs", what);
    record(item, std::move(facts));
  }

  void forget(const Ref& array) {
    staged_.facts.erase(array.get());
    staged_.relies_on.erase(array.get());
  }
  void record(const Ref& array, Facts facts) {
    staged_.kept.push_back(array);
    staged_.facts[array.get()] = std::move(facts);
  }

  void check_extents(const Ref& array) {
    if (looking_ahead_ || mentions(*array, inner_items_)) return;
    const Facts& facts = staged_.facts_of(array);
    const bool once = facts.form == Form::avoided;
    auto& checks = once ? staged_.extent_checks : stage_->extent_checks;
    for (const Ref& e : facts.extents)
      if (!is_an_extent(e, once)) {
        checks.push_back({e, array});
        (once ? checked_ : checked_in_stage_).insert(e.get());
      }
  }

  /// `once`: before any stage, whose checks come later, and not at all where it has no items.
  bool is_compared(const Node& term, bool once) const {
    return checked_.contains(&term) || (!once && checked_in_stage_.contains(&term));
  }
  /// Known to be no more than a few times ir::most_extent, and not negative? Else the run compares it.
  bool is_an_extent(const Ref& e, bool once) const {
    const Bounds bounds = bounds_of(e, [&](const Node& term) { return is_compared(term, once); });
    return bounds.least >= 0 && bounds.most <= (e->op() == Op::constant ? most_extent : 4 * most_extent);
  }

  bool depends_on_item(const Node& node) const { return mentions(node, items_); }
  bool uniform(const Ref& extent) const { return !depends_on_item(*extent); }

  Ref rule(const Ref& rebuilt) {
    Ref node = rebuilt->op() == Op::lambda ? rebuilt : simplify_.step(rebuilt);
    if (node->type().is_array()) {
      if (!staged_.facts.contains(node.get())) {
        Facts facts = facts_for(node);
        if (options_.ranges) node = marked(node, facts);
        record(node, std::move(facts));
        if (extent_rule(*node) == ExtentRule::as_given) check_extents(node);
      }
      return node;
    }
    if (node->op() == Op::shape && !is_leaf(ShapeOf(node).array()))
      return simplify_.step(tuple(staged_.facts_of(ShapeOf(node).array()).extents, node->place()));
    return node;
  }

  /// with_ranges; what that relies on is compared before the array is computed.
  Ref marked(const Ref& node, const Facts& facts) {
    std::vector<Ref> compared;
    Ref marked = with_ranges(
        node, facts.extents,
        [&](const Ref& array) -> const std::vector<Ref>& { return staged_.facts_of(array).extents; },
        [&](const Node& term) {
          if (!is_compared(term, facts.form == Form::avoided)) return false;
          if (std::none_of(compared.begin(), compared.end(), [&](const Ref& e) { return e.get() == &term; }))
            compared.emplace_back(&term);
          return true;
        });
    if (marked != node && !compared.empty()) staged_.relies_on[marked.get()] = std::move(compared);
    return marked;
  }

  /// Arrays whose extents are atoms: given from outside, and no item (whose extents may be uniform, or another's) nor
  /// the result of a sequence inside of the stage.
  bool is_leaf(const Ref& array) const {
    return is_given(*array) && !is_among(items_, array.get()) && !(stage_ && is_nested(*stage_, *array));
  }

  Facts facts_for(const Ref& array) {
    Facts facts;
    facts.extents = extents_of(array);
    if (!depends_on_item(*array)) {
      facts.form = Form::avoided;
      facts.reason = "does not depend on the item";
      return facts;
    }
    describe(facts);
    return facts;
  }

  /// The form of what depends on the item.
  void describe(Facts& facts) const {
    const auto varying =
        std::find_if(facts.extents.begin(), facts.extents.end(), [&](const Ref& e) { return !uniform(e); });
    if (varying == facts.extents.end()) {
      facts.form = Form::regular;
      facts.reason = facts.extents.empty() ? "one element per item" : "its shape is the same for all items";
    } else {
      facts.form = Form::segmented;
      facts.reason = fmt::format("extent {} depends on the item", varying - facts.extents.begin());
    }
  }

  std::vector<Ref> components_of(const Ref& shape) {
    std::vector<Ref> extents;
    for (int d = 0; d < shape->type().components(); ++d)
      extents.push_back(simplify_.step(component(shape, d)));
    return extents;
  }

  static ExtentRule extent_rule(const Node& array) {
    const OpInfo& row = info(maker_of(array).op());
    const bool first = array.op() != Op::project_array || ProjectArray(array).which() == 0;
    return first ? row.extents : row.other_extents;
  }

  std::vector<Ref> extents_of(const Ref& array) {
    const Ref maker(&maker_of(*array));
    switch (extent_rule(*array)) {
      case ExtentRule::atoms:
        return components_of(simplify_.step(shape(array)));
      case ExtentRule::none:
        return {};
      case ExtentRule::as_given:
        return components_of(operands_of(maker, Role::shape)[0]);
      case ExtentRule::intersection:
        return intersection(operands_of(maker, Role::array), array->place());
      case ExtentRule::same:
        return staged_.facts_of(operands_of(maker, Role::array)[0]).extents;
      case ExtentRule::of_prefixes: {
        const Scan scan(maker);
        std::vector<Ref> extents = staged_.facts_of(scan.array()).extents;
        Ref& along = extents[static_cast<std::size_t>(scan.axis())];
        if (scan.kind().prefixes == Prefixes::all)
          along = simplify_.step(primitive(Primitive::add, {along, int64(1)}, array->place()));
        return extents;
      }
      case ExtentRule::of_totals: {
        const Scan scan(maker);
        std::vector<Ref> extents = staged_.facts_of(scan.array()).extents;
        extents.erase(extents.begin() + scan.axis());
        return extents;
      }
      case ExtentRule::without_innermost: {
        std::vector<Ref> extents = staged_.facts_of(operands_of(maker, Role::array)[0]).extents;
        extents.pop_back();
        return extents;
      }
      case ExtentRule::of_result:
      case ExtentRule::no_array:
        break;
    }
    throw InternalError(fmt::format("lift: {} is no array computation", name_of(array->op())));
  }

  static std::vector<Ref> operands_of(const Ref& array, Role role) {
    std::vector<Ref> found;
    each_operand(*array, [&](const Operand& how, const Ref& operand) {
      if (how.role == role) found.push_back(operand);
    });
    return found;
  }

  std::vector<Ref> intersection(std::span<const Ref> arrays, const Place& place) {
    std::vector<Ref> extents = staged_.facts_of(arrays[0]).extents;
    for (const Ref& other : arrays.subspan(1)) {
      const auto& theirs = staged_.facts_of(other).extents;
      for (std::size_t d = 0; d < extents.size(); ++d)
        extents[d] = simplify_.step(primitive(Primitive::minimum, {extents[d], theirs[d]}, place));
    }
    return extents;
  }

  Staged& staged_;
  Options options_;
  Simplifier simplify_;
  Stage* stage_ = nullptr;        // being lifted
  std::vector<Ref> items_;        // of the stage being lifted
  std::vector<Ref> inner_items_;  // of a sequence inside of it, whose extents are being found
  bool looking_ahead_ = false;    // at the function of a loop or branch inside of it
  // Extents that are between 0 and ir::most_extent: those that the run checks, and those of the stage's items and of what
  // the stage checks. A stage without items checks nothing, so others cannot rely on it.
  std::unordered_set<const Node*> checked_, checked_in_stage_;
  // A consume is a leaf here: its sequence is a stage of its own. So are loops and branches.
  Rewriter rewriter_{[this](const Ref&, const Ref& rebuilt) { return rule(rebuilt); },
                     [this](const Node& node) {
                       if (within_stage(node)) return true;
                       if (node.type().is_array() && !staged_.facts.contains(&node))
                         record(Ref(&node), facts_for(Ref(&node)));
                       return false;
                     }};
};

}  // namespace

Staged lift(Staged staged, const Options& options) {
  Lifter(staged, options).run();
  return staged;
}

}  // namespace anabranch::lift
