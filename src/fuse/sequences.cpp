#include "fuse/sequences.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "fuse/bodies.h"
#include "fuse/components.h"
#include "fuse/parts.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// Builds one stage: the sources under a sequence, and the sequence's item arrays as expressions over the
/// sources' items.
class Composer {
 public:
  explicit Composer(Stage& stage) : stage_(stage) {}

  std::vector<Ref> compose(const Ref& sequence) {
    const auto order =
        topological({&sequence, 1}, [](const Node& node) { return node.type().is_sequence(); });
    for (const Node* node : order)
      if (node->type().is_sequence()) items_[node] = items_of(Ref(node));
    return items_.at(sequence.get());
  }

 private:
  std::vector<Ref> items_of(const Ref& sequence) {
    if (sequence->op().is_a<SourceOp>()) return items_of_source(sequence);
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
    }
    return {};
  }

  std::vector<Ref> items_of_source(const Ref& source) {
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
    for (const StageSource& known : stage_.sources)
      if (node->op() == Op::stream_in && known.node->op() == Op::stream_in &&
          known.node->payload().source == node->payload().source)
        return {stage_.items.begin() + known.first, stage_.items.begin() + known.first + known.count};
    const StageSource source{node, static_cast<int>(stage_.items.size()), static_cast<int>(arrays.size())};
    for (const ArrayType& type : arrays) stage_.items.push_back(parameter(Type::array(type), node->place()));
    stage_.sources.push_back(source);
    return {stage_.items.begin() + source.first, stage_.items.end()};
  }

  Stage& stage_;
  std::unordered_map<const Node*, std::vector<Ref>> items_;
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

/// Adds what `consume` takes of the items, each array by itself.
void add_sinks(Stage& stage, const Ref& consume, int component) {
  const SinkTerm sink(Consume(consume).sink());
  for (std::size_t i = 0; i < sink.sequence()->type().arrays.size(); ++i)
    stage.sinks.push_back({consume, sink.kind(), component + static_cast<int>(i)});
}

/// A sink takes the items of one pass.
void refuse_write(const Node& node, const char* inside) {
  if (is_write(node))
    throw ProgramError(
        fmt::format("write ({}): inside of {} the sink {} would be written anew each time; write what it "
                    "gives outside of it",
                    to_string(Consume(node).sink()->place()), inside,
                    SinkTerm(Consume(node).sink()).sink()->info().name));
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
std::tuple<int, SinkOp, const SinkBase*> taker_of(const Stage::Sink& t) {
  const SinkBase* const sink =
      t.kind == Op::write ? SinkTerm(Consume(t.consume).sink()).sink().get() : nullptr;
  return {t.result, t.kind, sink};
}

/// Results become what sinks ask for: unused components are dropped, and a component taken by sinks
/// of two kinds is two results.
void one_result_each(Stage& stage) {
  std::vector<Ref> results;
  std::map<std::tuple<int, SinkOp, const SinkBase*>, int> number;
  for (Stage::Sink& t : stage.sinks) {
    const auto [it, fresh] = number.try_emplace(taker_of(t), static_cast<int>(results.size()));
    if (fresh) results.push_back(stage.results[static_cast<std::size_t>(t.result)]);
    t.result = it->second;
  }
  stage.results = std::move(results);
}

/// A sequence that is read for each item anew, which its source may not allow.
void refuse_streams(const Stage& inner, const Node& consume) {
  for (const StageSource& source : inner.sources)
    if (source.node->op() == Op::stream_in)
      throw ProgramError(fmt::format(
          "consume ({}): the stream of {} ({}) would be read once for each item of another sequence; consume "
          "it before, outside of the function of that sequence, and take rows(...) of the array",
          to_string(consume.place()), source.node->label(), to_string(source.node->place())));
}

/// The sequences that a stage consumes for each item, those of one sequence together, and its loops and branches.
void find_nested(Stage& stage, std::span<const Ref> parameters) {
  const auto is_own = [&](const Node* p) { return is_among(stage.items, p) || is_among(parameters, p); };
  std::unordered_map<const Node*, std::size_t> nested_of;
  const std::vector<const Node*> nodes = own_nodes(stage.results);
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
    const Taken taken = taken_by(consume);
    const auto [at, fresh] = nested_of.try_emplace(taken.sequence.get(), stage.nested.size());
    if (fresh) {
      Stage inner;
      inner.results = Composer(inner).compose(taken.sequence);
      refuse_streams(inner, *node);
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

/// Makes the stages, loops and branches of a program, in an order in which they can run.
class Stages {
 public:
  Stages(Staged& staged, std::span<const Ref> results, const Options& options)
      : staged_(staged), options_(options), nodes_(own_nodes(results)) {
    own_.insert(nodes_.begin(), nodes_.end());
  }

  // Ids grow from children to parents, so in id order a stage comes after those it depends on. Sinks of
  // one sequence depend on the same things, so they all run with the first.
  void add_all() {
    for (const Node* node : nodes_) add(*node);
  }

  /// A stage that is complete but for what it needs.
  void add_last(Stage stage) {
    add_what_is_shared(stage);
    push(std::move(stage));
  }

  void finish() {
    if (options_.fusion) parts(staged_);
    for (Stage& stage : staged_.stages) finish(stage);
  }

 private:
  void add(const Node& node) {
    if (node.op() != Op::consume && !has_bodies(node.op())) return;
    if (depends_on_item(node, staged_.parameters)) return;  // of a stage: see `find_nested`
    if (!added_.insert(&node).second) return;
    kept_.emplace_back(&node);
    if (has_bodies(node.op())) {
      Control control = control_of(Ref(&node), own_, options_);
      staged_.parts.push_back({Part::Kind::control, static_cast<int>(staged_.controls.size())});
      staged_.controls.push_back(std::move(control));
      return;
    }
    const Ref consume(&node);
    const Taken taken = taken_by(consume);
    if (!stage_of_.contains(taken.sequence.get())) {
      Stage stage;
      stage.results = Composer(stage).compose(taken.sequence);
      add_what_is_shared(stage);
      stage_of_[taken.sequence.get()] = staged_.stages.size();
      push(std::move(stage));
    }
    add_sinks(staged_.stages[stage_of_.at(taken.sequence.get())], consume, taken.component);
  }

  /// What items turn out to share when the functions of their sequences are joined: one of them does not look at what
  /// the one before it gives.
  void add_what_is_shared(const Stage& stage) {
    for (const Node* node : own_nodes(stage.results))
      if (!mentions(*node, stage.items)) add(*node);
  }

  void push(Stage stage) {
    staged_.parts.push_back({Part::Kind::stage, static_cast<int>(staged_.stages.size())});
    staged_.stages.push_back(std::move(stage));
  }

  void finish(Stage& stage) {
    if (!stage.sinks.empty() && stage.sinks[0].consume) one_result_each(stage);
    find_nested(stage, staged_.parameters);
  }

  Staged& staged_;
  const Options& options_;
  std::vector<const Node*> nodes_;
  NodeSet own_, added_;
  std::vector<Ref> kept_;  // while an address is a key
  std::unordered_map<const Node*, std::size_t> stage_of_;
};

}  // namespace

Staged sequences(std::span<const Ref> results, std::span<const Ref> parameters, const Options& options) {
  Staged staged;
  staged.results = components(results, options);
  staged.parameters.assign(parameters.begin(), parameters.end());
  Stages stages(staged, staged.results, options);
  stages.add_all();
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
  stages.add_all();
  Stage last;
  last.results = Composer(last).compose(sequence);
  for (std::size_t i = 0; i < last.results.size(); ++i)
    last.sinks.push_back({Ref(), Op::elements, static_cast<int>(i)});
  stages.add_last(std::move(last));
  stages.finish();
  return staged;
}

}  // namespace anabranch::fuse
