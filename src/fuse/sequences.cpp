#include "fuse/sequences.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "fuse/accumulate.h"
#include "fuse/bodies.h"
#include "fuse/components.h"
#include "fuse/parts.h"
#include "ir/batch.h"
#include "ir/own_nodes.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// Are items made of the items of other sequences, one of each?
bool is_made_by_item(const Node& node) {
  return node.type().is_sequence() && node.op().is_a<SequenceOp>() && !is_fed(node.op());
}

/// Which sources give the same items: the same stream, the rows of one array, as many numbers, one sequence.
struct SourceKey {
  Op op;
  const void* what;
  explicit SourceKey(const Node& node) : op(node.op()), what(&node) {
    if (op == Op::stream_in) what = node.payload().source.get();
    if (op == Op::produce) what = Produce(node).count().get();
    if (op == Op::rows) what = Rows(node).array().get();
  }
  friend auto operator<=>(const SourceKey&, const SourceKey&) = default;
};

/// Adds what the sources of a stage need beside it.
struct AddFed {
  /// The stage of a sequence whose chunks another stage reads, as `reader` says; its number.
  std::function<int(const Ref& reader, const Ref& sequence)> stage;
  /// A function that a sequence applies as its items come; its number.
  std::function<int(const Ref& node, const Ref& function)> applied;
};
/// The item arrays of sequences, as expressions over those of a stage.
using Items = std::unordered_map<const Node*, std::vector<Ref>>;

/// Builds one stage: the sources under a sequence, and the sequence's item arrays as expressions over the
/// sources' items.
class Composer {
 public:
  /// `items` is kept with the stage. `add_fed`: null where nothing can feed it.
  Composer(Stage& stage, Items& items, const AddFed* add_fed)
      : stage_(stage), items_(items), add_fed_(add_fed) {}

  std::vector<Ref> compose(const Ref& sequence) {
    for (const Node* node : topological({&sequence, 1}, is_made_by_item))
      if (node->type().is_sequence() && !items_.contains(node)) items_[node] = items_of(Ref(node));
    return items_.at(sequence.get());
  }

 private:
  std::vector<Ref> items_of(const Ref& sequence) {
    if (!is_made_by_item(*sequence)) return items_of_source(sequence);
    switch (sequence->op().as<SequenceOp>()) {
      case Op::map_seq: {
        std::vector<Ref> arguments;
        for (const Ref& each : MapSeq(sequence).sequences()) {
          const auto& part = items_.at(each.get());
          arguments.insert(arguments.end(), part.begin(), part.end());
        }
        return ir::apply(MapSeq(sequence).function(), arguments);
      }
      case Op::project_seq: {
        const ProjectSeq part(sequence);
        const auto begin = items_.at(part.sequence().get()).begin() + part.first();
        return {begin, begin + part.count()};
      }
      case Op::take_seq: {
        // All sequences of a stage advance together, so what ends one of them ends the pass.
        const TakeSeq take(sequence);
        stage_.bounds.push_back({take.count(), sequence});
        return items_.at(take.sequence().get());
      }
      case Op::filter_seq:
      case Op::take_while_seq:
      case Op::drop_seq:
      case Op::append_seq:
      case Op::flatten_seq:
      case Op::windows_seq:
      case Op::map_accum_seq:
        break;
    }
    return {};
  }

  std::vector<Ref> items_of_source(const Ref& source) {
    if (is_fed(source->op())) return items_from(source, source->type().arrays);
    switch (source->op().as<SourceOp>()) {
      case Op::stream_in:
      case Op::rows:
        return items_from(source, source->type().arrays);
      case Op::produce:
        return ir::apply(Produce(source).function(), items_from(source, {{0, {ScalarType::int64}}}));
    }
    return {};
  }

  std::vector<Ref> items_from(const Ref& node, const std::vector<ArrayType>& arrays) {
    // A source gives each item once, however often it is named.
    const auto items_at = [&](const StageSource& source) {
      const auto first = stage_.items.begin() + source.first;
      return std::vector<Ref>(first, first + source.count);
    };
    for (const StageSource& known : stage_.sources)
      if (SourceKey(*known.node) == SourceKey(*node)) return items_at(known);
    StageSource source{node, static_cast<int>(stage_.items.size()), static_cast<int>(arrays.size())};
    if (is_fed(node->op())) feed(source);
    for (const ArrayType& type : arrays) stage_.items.push_back(parameter(Type::array(type), node->place()));
    stage_.sources.push_back(source);
    return items_at(source);
  }

  void feed(StageSource& source) {
    const Ref& node = source.node;
    if (!add_fed_)
      throw ProgramError(
          fmt::format("{} ({}): inside of the function of another sequence items cannot be left out or "
                      "joined; of an array, take "
                      "filter, take, drop or scan_state, of all items of the outer sequence flat_map_seq",
                      node->label(), to_string(node->place())),
          node->place());
    each_operand(*node, [&](const Operand& how, const Ref& operand) {
      if (how.role == Role::sequence)
        source.feeds.push_back(add_fed_->stage(node, operand));
      else if (how.role == Role::function)
        apply(source, operand);
      else
        source.inputs.push_back(operand);
    });
  }

  /// To one item after the other; or, where it is scalar code, in one kernel to those of a chunk.
  void apply(StageSource& source, const Ref& function) {
    const auto states = MapAccumSeq(source.node).state().size();
    const std::optional<Ref> of_chunk = accumulated_by_chunk(function, states);
    source.by_chunk = of_chunk.has_value();
    source.bodies.push_back(add_fed_->applied(source.node, of_chunk ? *of_chunk : function));
  }

  Stage& stage_;
  Items& items_;
  const AddFed* add_fed_;
};

/// The sources of the stage that a sequence has, and the bounds on it.
struct PassKey {
  std::set<SourceKey> sources;
  std::set<const Node*> bounds;

  explicit PassKey(const Ref& sequence) {
    for (const Node* node : topological({&sequence, 1}, is_made_by_item)) {
      if (node->op() == Op::take_seq) bounds.insert(TakeSeq(*node).count().get());
      if (node->type().is_sequence() && !is_made_by_item(*node)) sources.emplace(*node);
    }
  }
  explicit PassKey(const Stage& stage) {
    for (const StageSource& source : stage.sources) sources.emplace(*source.node);
    for (const ItemBound& bound : stage.bounds) bounds.insert(bound.count.get());
  }
  /// Does it read something? Numbers cost nothing.
  bool reads() const {
    return std::any_of(sources.begin(), sources.end(),
                       [](const SourceKey& source) { return source.op != Op::produce; });
  }
  friend bool operator==(const PassKey&, const PassKey&) = default;
};

/// What a sink takes of the sequence whose pass it can share: a component of it.
struct Taken {
  Ref sequence;
  int component = 0;
};

Taken taken_by(const Ref& consume) {
  Taken taken{SinkTerm(Consume(consume).sink()).sequence()};
  while (taken.sequence->op() == Op::project_seq) {
    taken.component += ProjectSeq(taken.sequence).first();
    taken.sequence = Ref(ProjectSeq(taken.sequence).sequence());
  }
  return taken;
}

/// A sink takes the items of one pass.
void refuse_write(const Node& node, const char* inside) {
  if (is_write(node))
    throw ProgramError(
        fmt::format("write ({}): inside of {} the sink {} would be written anew each time; write what it "
                    "gives outside of it",
                    to_string(Consume(node).sink()->place()), inside,
                    SinkTerm(Consume(node).sink()).sink()->info().name),
        Consume(node).sink()->place());
}

/// Does it depend on the item of a sequence that it is inside of? `node` consumes a sequence, or is a loop or a branch.
bool depends_on_item(const Node& node, std::span<const Ref> parameters) {
  for (const Node* p : node.free()) {
    if (!is_among(parameters, p)) return true;
  }
  return false;
}

/// What takes a component of the items: `elements` and `tabulate` serve all that consume them, what is written to a sink is
/// for it alone.
using Taker = std::tuple<int, SinkOp, std::vector<int>, const SinkBase*>;
Taker taker_of(const Stage::Sink& t) {
  const SinkBase* const sink =
      t.kind == Op::write ? SinkTerm(Consume(t.consume).sink()).sink().get() : nullptr;
  return {t.result, t.kind, t.bodies, sink};
}

/// Results become what sinks ask for: unused components are dropped, and a component taken by sinks
/// of two kinds is two results.
void one_result_each(Stage& stage) {
  std::vector<Ref> results;
  std::map<Taker, int> number;
  for (Stage::Sink& t : stage.sinks) {
    const auto [it, fresh] = number.try_emplace(taker_of(t), static_cast<int>(results.size()));
    if (fresh) results.push_back(stage.results[static_cast<std::size_t>(t.result)]);
    t.result = it->second;
  }
  stage.results = std::move(results);
}

/// A sequence that is read for each item anew, which its source may not allow: also in bodies of loops and branches.
void refuse_streams_of_items(const Stage& stage) {
  const auto enter = [&](const Node& node) { return mentions(node, stage.items); };
  for (const Node* node : topological(stage.results, enter))
    if (node->op() == Op::consume && !is_write(*node) && enter(*node))
      if (const Node* const stream = stream_of(*node))
        throw ProgramError(
            fmt::format(
                "consume ({}): the stream of {} ({}) would be read once for each item of another sequence; "
                "consume it before, outside of the function of that sequence, and take rows(...) of the "
                "array",
                to_string(node->place()), stream->label(), to_string(stream->place())),
            node->place());
}

/// What is done with several items at a time, inside of an item.
void refuse_functions(const Node& consume) {
  if (const Ref& sink = Consume(consume).sink(); runs_bodies(sink->op()))
    throw ProgramError(
        fmt::format("{} ({}): inside of the function of another sequence there are elements and tabulate; "
                    "fold what they give",
                    name_of(sink->op()), to_string(sink->place())),
        sink->place());
}

/// The sequences that a stage consumes for each item, those of one sequence together, and its loops and branches.
void find_nested(Stage& stage, std::span<const Ref> parameters) {
  const auto is_own = [&](const Node* p) { return is_among(stage.items, p) || is_among(parameters, p); };
  std::unordered_map<const Node*, std::size_t> nested_of;
  refuse_streams_of_items(stage);
  const std::vector<const Node*> nodes = own_nodes(stage.results, parameters);
  for (const Node* node : nodes) {
    if ((node->op() != Op::consume && !has_bodies(node->op())) || !mentions(*node, stage.items)) continue;
    if (!std::all_of(node->free().begin(), node->free().end(), is_own)) continue;  // of an inner sequence
    if (has_bodies(node->op())) {
      Nested& nested = stage.nested.emplace_back();
      nested.control = Ref(node);
      continue;
    }
    refuse_write(*node, "the function of a sequence");
    const Ref consume(node);
    refuse_functions(*node);
    const Taken taken = taken_by(consume);
    const auto [at, fresh] = nested_of.try_emplace(taken.sequence.get(), stage.nested.size());
    if (fresh) {
      Stage inner;
      Items items;
      inner.results = Composer(inner, items, nullptr).compose(taken.sequence);
      stage.nested.emplace_back().inner.push_back(std::move(inner));
    }
    stage.nested[at->second].inner[0].sinks.push_back(
        {consume, SinkTerm(Consume(consume).sink()).kind(), taken.component});
  }
  for (Nested& nested : stage.nested) {
    for (const Node* node : nodes)
      if (node->type().is_array() || has_bodies(node->op())) nested.computed.emplace_back(node);
    if (!nested.control) one_result_each(nested.inner[0]);
  }
}

Body passed(OpenBody open, const Options& options) {
  for (const Node* node : own_nodes(open.results)) refuse_write(*node, "a loop or a branch");
  return {std::move(open.captured), sequences(open.results, open.parameters, options)};
}

/// `own`: the nodes that the program around it computes itself.
Control control_of(const Ref& node, const NodeSet& own, const Options& options) {
  const InBody body(*node);
  switch (node->op().as<ArrayOp>()) {
    case Op::awhile: {
      const Awhile loop(node);
      return {node, Loop{{loop.state().begin(), loop.state().end()},
                         passed(body_of_loop(loop.predicate()), options),
                         passed(body_of_loop(loop.body()), options)}};
    }
    case Op::acond: {
      const Acond branch(node);
      return {node, Branch{cast(ScalarType::int64, branch.condition(), node->place()),
                           passed(side_of_branch(branch.then(), own), options),
                           passed(side_of_branch(branch.otherwise(), own), options)}};
    }
    case Op::use:
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::fold:
    case Op::scan:
    case Op::scan_state:
    case Op::backpermute:
    case Op::reshape:
    case Op::consume:
    case Op::part:
    case Op::sort:
    case Op::select:
    case Op::group:
    case Op::last_at:
    case Op::accumulate:
    case Op::repeat:
    case Op::compute:
    case Op::trace:
    case Op::project_array:
      break;
  }
  throw InternalError(fmt::format("sequences: {} runs no bodies", name_of(node->op())));
}

}  // namespace

namespace {

/// Sequences that `filter_seq`, `append_seq` and their like read are computed by each of those that read them: one through the
/// other so many times, for which the stack has to suffice, and so many in all, as they may double with each operation.
constexpr int most_feeds_inside = 200, most_feeds = 10'000;

/// Makes the stages, loops and branches of a program, in an order in which they can run.
class Stages {
 public:
  Stages(Staged& staged, std::span<const Ref> results, const Options& options)
      : staged_(staged), options_(options), finder_(staged.parameters), nodes_(finder_.of(results)) {
    own_.insert(nodes_.begin(), nodes_.end());
  }

  /// In the order of the results, whichever was built first: a compiler may evaluate arguments in any order. Of each,
  /// stages come after those that they depend on.
  void add_all(std::span<const Ref> results) {
    for (const Ref& result : results) {
      const std::vector<const Node*> of_result = finder_.of({&result, 1}, looked_at_);
      for (const Node* node : of_result) add(*node);
    }
  }

  /// The stage of a sequence that is streamed out.
  void add_last(const Ref& sequence) {
    Stage stage;
    Items items;
    stage.results = compose(stage, items, sequence);
    for (std::size_t i = 0; i < stage.results.size(); ++i)
      stage.sinks.push_back({Ref(), Op::elements, static_cast<int>(i)});
    add_what_is_shared(stage);
    push(std::move(stage), std::move(items));
  }

  void finish() {
    if (options_.fusion) parts(staged_);
    for (auto stage = staged_.stages.rbegin(); stage != staged_.stages.rend();
         ++stage) {  // before what feeds them
      finish(*stage);
      drop_unread(*stage);
    }
  }

 private:
  /// A sequence that is consumed, a loop or a branch. What depends on an item belongs to a stage: see `find_nested`.
  bool is_part(const Node& node) const {
    return (node.op() == Op::consume || has_bodies(node.op())) && !depends_on_item(node, staged_.parameters);
  }

  void add(const Node& node) {
    if (!is_part(node)) return;
    if (!added_.insert(&node).second) return;
    kept_.emplace_back(&node);
    if (has_bodies(node.op())) {
      Control control = control_of(Ref(&node), own_, options_);
      // What only one side mentions may be of a later result.
      for (const Node* needed : finder_.of(inputs_of(control), looked_at_)) add(*needed);
      staged_.parts.push_back({Part::Kind::control, static_cast<int>(staged_.controls.size())});
      staged_.controls.push_back(std::move(control));
      return;
    }
    add_sink(Ref(&node));
  }

  /// To the stage of the sequence that it takes, or a new one where what the sink itself needs is made of that stage.
  void add_sink(const Ref& consume) {
    const Taken taken = taken_by(consume);
    const Ref sink_term = Consume(consume).sink();
    const auto known = stage_of_.find(taken.sequence.get());
    const bool joins = known != stage_of_.end() &&
                       moved_behind_needs(part_of(known->second.first), sink_term) != staged_.parts.end();
    const auto [number, first] = joins ? known->second : stage_for(taken.sequence, sink_term);
    stage_of_[taken.sequence.get()] = {number, first};
    // Each array of the items is taken by itself.
    const SinkTerm term(sink_term);
    for (std::size_t i = 0; i < term.sequence()->type().arrays.size(); ++i) {
      Stage::Sink sink{consume, term.kind(), first + taken.component + static_cast<int>(i)};
      add_functions(sink, sink_term);
      staged_.stages[number].sinks.push_back(std::move(sink));
    }
  }

  /// Of a sink that does more than collect.
  void add_functions(Stage::Sink& sink, const Ref& term) {
    if (sink.kind == Op::fold_seq) {
      const FoldSeq fold(term);
      const Batch items(fold.seed()->type().array_type(), term->place());
      sink.inputs = {fold.seed()};
      sink.bodies = {add_applied(term, pairs_of_batch(items, fold.function(), term->place())),
                     add_applied(term, fold.function())};
    }
    if (sink.kind == Op::fold_batch) {
      sink.inputs = {FoldBatch(term).seed()};
      sink.bodies = {add_applied(term, FoldBatch(term).batch()),
                     add_applied(term, FoldBatch(term).combine())};
    }
  }

  int add_applied(const Ref& node, const Ref& function) {
    const InBody body(*node);
    staged_.controls.push_back({node, Applied{passed(body_of_loop(function), options_)}});
    return static_cast<int>(staged_.controls.size()) - 1;
  }

  /// The stage that computes a sequence for a sink, and which of its results is the first array of an item.
  std::pair<std::size_t, int> stage_for(const Ref& sequence, const Ref& sink) {
    const PassKey key(sequence);
    if (key.reads())
      for (std::size_t number = 0; number < staged_.stages.size(); ++number)
        if (part_of(number) != staged_.parts.end() && PassKey(staged_.stages[number]) == key)
          if (const auto first = join(number, sequence, sink)) return {number, *first};
    Stage stage;
    Items items;
    stage.results = compose(stage, items, sequence);
    add_what_is_shared(stage);
    if (const auto other = read_with(sequence, sink); other != staged_.parts.end()) {
      other->with.push_back(static_cast<int>(staged_.stages.size()));
      staged_.stages.push_back(std::move(stage));
      items_of_stage_.push_back(std::move(items));
    } else {
      push(std::move(stage), std::move(items));
    }
    return {staged_.stages.size() - 1, 0};
  }

  using Place = std::vector<Part>::iterator;
  /// That runs a stage; none runs one that another one reads.
  Place part_of(std::size_t stage) {
    const auto number = static_cast<int>(stage);
    return std::find_if(staged_.parts.begin(), staged_.parts.end(), [&](const Part& part) {
      return part.kind == Part::Kind::stage &&
             (part.index == number ||
              std::find(part.with.begin(), part.with.end(), number) != part.with.end());
    });
  }

  /// The part that a sequence has to run with, as both read a stream that can be read only once; the end, if there is none.
  Place read_with(const Ref& sequence, const Ref& sink_term) {
    const std::set<const SourceBase*> streams = single_pass_streams(sequence);
    if (streams.empty()) return staged_.parts.end();
    for (std::size_t number = 0; number < staged_.stages.size(); ++number) {
      const Place part = part_of(number);
      if (part == staged_.parts.end()) continue;
      for (const Stage::Sink& sink : staged_.stages[number].sinks)
        if (sink.consume &&
            meets(streams, single_pass_streams(SinkTerm(Consume(sink.consume).sink()).sequence())))
          return moved_behind_needs(part, sink_term);
    }
    return staged_.parts.end();
  }
  static bool meets(const std::set<const SourceBase*>& a, const std::set<const SourceBase*>& b) {
    return std::any_of(a.begin(), a.end(), [&](const SourceBase* source) { return b.contains(source); });
  }
  static std::set<const SourceBase*> single_pass_streams(const Ref& sequence) {
    std::set<const SourceBase*> streams;
    for (const Node* node :
         topological({&sequence, 1}, [](const Node& each) { return each.type().is_sequence(); }))
      if (node->op() == Op::stream_in && !node->payload().source->info().rewindable)
        streams.insert(node->payload().source.get());
    return streams;
  }

  std::vector<Ref> compose(Stage& stage, Items& items, const Ref& sequence) {
    const AddFed add_fed{
        [this](const Ref& reader, const Ref& feeding) { return add_feed(*reader, feeding); },
        [this](const Ref& node, const Ref& function) { return add_applied(node, function); }};
    return Composer(stage, items, &add_fed).compose(sequence);
  }

  /// A stage that is run by the one that reads it.
  int add_feed(const Node& reader, const Ref& sequence) {
    const auto refuse = [&](int most, const char* what) {
      throw ProgramError(
          fmt::format("{} ({}): more than {} sequences that filter_seq, append_seq and their like read {}",
                      reader.label(), to_string(reader.place()), most, what),
          reader.place());
    };
    if (feeds_inside_ == most_feeds_inside) refuse(most_feeds_inside, "are read one through the other");
    if (++feeds_ > most_feeds)
      refuse(most_feeds,
             "have to be computed, each by whoever reads it; consume what several read, and take rows(...) "
             "of the array");
    Stage stage;
    Items items;
    ++feeds_inside_;
    stage.results = compose(stage, items, sequence);
    --feeds_inside_;
    for (std::size_t i = 0; i < stage.results.size(); ++i)
      stage.sinks.push_back({Ref(), Op::elements, static_cast<int>(i)});
    add_what_is_shared(stage);
    staged_.stages.push_back(std::move(stage));
    items_of_stage_.push_back(std::move(items));
    return static_cast<int>(staged_.stages.size()) - 1;
  }

  /// The part at `place` together with what needs it, behind all that the sink needs; the end, where the sink itself needs
  /// it.
  Place moved_behind_needs(Place place, const Ref& sink) {
    const NodeSet needed = needed_by({sink});
    const auto is_needed = [&](const Part& part) {
      const std::vector<Ref> given = given_by(part);
      return std::any_of(given.begin(), given.end(),
                         [&](const Ref& each) { return needed.contains(each.get()); });
    };
    if (is_needed(*place)) return staged_.parts.end();
    if (std::none_of(place + 1, staged_.parts.end(), is_needed)) return place;
    const Part own = *place;
    return std::stable_partition(place, staged_.parts.end(), [&](const Part& part) {
      return !(part.kind == own.kind && part.index == own.index) && !needs(part, own);
    });
  }

  /// One pass serves both: the sequence becomes results of a stage with the same sources, if neither needs what the other
  /// gives. The number of its first result.
  std::optional<int> join(std::size_t number, const Ref& sequence, const Ref& sink) {
    if (moved_behind_needs(part_of(number), sink) == staged_.parts.end()) return std::nullopt;
    Stage stage = staged_.stages[number];
    Items items = items_of_stage_[number];
    const std::vector<Ref> results = compose(stage, items, sequence);
    const auto first = static_cast<int>(stage.results.size());
    stage.results.insert(stage.results.end(), results.begin(), results.end());
    for (const Node* node : own_nodes(results, staged_.parameters))
      if (!mentions(*node, stage.items) && is_part(*node) && !added_.contains(node)) return std::nullopt;
    stage.bounds = staged_.stages[number].bounds;  // the same ones
    staged_.stages[number] = std::move(stage);
    items_of_stage_[number] = std::move(items);
    return first;
  }

  /// All that has to be there for it, with what the sides of branches take.
  NodeSet needed_by(std::vector<Ref> roots) {
    NodeSet all;
    while (!roots.empty())
      for (const Node* node : finder_.of(std::exchange(roots, {}), all))
        for (const Control& control : staged_.controls)
          if (control.node.get() == node)
            for (const Ref& input : inputs_of(control)) roots.push_back(input);
    return all;
  }

  /// What other parts may need of it.
  std::vector<Ref> given_by(const Part& part) const {
    if (part.kind == Part::Kind::control)
      return {staged_.controls[static_cast<std::size_t>(part.index)].node};
    std::vector<Ref> given;
    const auto add = [&](int stage) {
      for (const Stage::Sink& sink : staged_.stages[static_cast<std::size_t>(stage)].sinks)
        if (sink.consume) given.push_back(sink.consume);
    };
    add(part.index);
    for (const int stage : part.with) add(stage);
    return given;
  }
  bool needs(const Part& part, const Part& other) {
    const NodeSet all = needed_by(given_by(part));
    const std::vector<Ref> given = given_by(other);
    return std::any_of(given.begin(), given.end(), [&](const Ref& each) { return all.contains(each.get()); });
  }

  /// What items turn out to share when the functions of their sequences are joined: one of them does not look at what
  /// the one before it gives.
  void add_what_is_shared(const Stage& stage) {
    for (const Node* node : own_nodes(stage.results, staged_.parameters))
      if (!mentions(*node, stage.items)) add(*node);
  }

  void push(Stage stage, Items items) {
    staged_.parts.push_back({Part::Kind::stage, static_cast<int>(staged_.stages.size())});
    staged_.stages.push_back(std::move(stage));
    items_of_stage_.push_back(std::move(items));
  }

  void finish(Stage& stage) {
    if (!stage.sinks.empty() && stage.sinks[0].consume) one_result_each(stage);
    find_nested(stage, staged_.parameters);
  }

  /// What a stage does not read of what is fed to it is not made. That an item is kept, or how many there are, is asked for
  /// anyway; of what holds several items everything.
  void drop_unread(Stage& stage) {
    std::vector<Ref> read = stage.results;
    for (const Nested& nested : stage.nested)
      read.insert(read.end(), nested.computed.begin(), nested.computed.end());
    for (StageSource& source : stage.sources) {
      if (source.feeds.empty() || source.node->op() == Op::flatten_seq || !source.bodies.empty()) continue;
      for (int i = source.count - 1; i >= 0 && source.count > 1; --i) {
        const auto item = stage.items.begin() + source.first + i;
        if (std::any_of(read.begin(), read.end(), [&](const Ref& r) { return mentions(*r, {&*item, 1}); }))
          continue;
        for (const int feed : source.feeds) drop_result(staged_.stages[static_cast<std::size_t>(feed)], i);
        stage.items.erase(item);
        --source.count;
        for (StageSource& other : stage.sources)
          if (other.first > source.first) --other.first;
      }
    }
  }
  static void drop_result(Stage& stage, int result) {
    stage.results.erase(stage.results.begin() + result);
    stage.sinks.pop_back();
  }

  Staged& staged_;
  const Options& options_;
  OwnNodes finder_;
  std::vector<const Node*> nodes_;
  NodeSet own_, added_;
  NodeSet looked_at_;      ///< whether they are parts; which have been added, or are about to be
  std::vector<Ref> kept_;  // while an address is a key
  std::unordered_map<const Node*, std::pair<std::size_t, int>> stage_of_;
  std::vector<Items> items_of_stage_;
  int feeds_ = 0, feeds_inside_ = 0;
};

}  // namespace

Staged sequences(std::span<const Ref> results, std::span<const Ref> parameters, const Options& options) {
  Staged staged;
  staged.results = components(results, options);
  staged.parameters.assign(parameters.begin(), parameters.end());
  Stages stages(staged, staged.results, options);
  stages.add_all(staged.results);
  stages.finish();
  return staged;
}

Staged sequences_out(const Ref& streamed_out, const Options& options) {
  const Ref sequence = components({&streamed_out, 1}, options)[0];
  // What the sequence captures may itself be consumed from other sequences: those stages come first. So do
  // loops and branches.
  std::vector<Ref> captured;
  for (const Node* node : own_nodes({&sequence, 1}))
    if ((node->op() == Op::consume || has_bodies(node->op())) && node->closed())
      captured.push_back(Ref(node));
  Staged staged;
  Stages stages(staged, captured, options);
  stages.add_all(captured);
  stages.add_last(sequence);
  stages.finish();
  return staged;
}

}  // namespace anabranch::fuse
