#include "fuse/sequences.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "fuse/bodies.h"
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

/// `node` consumes a sequence, or is a loop or a branch.
void refuse_nested(const Node& node, std::span<const Ref> parameters) {
  for (const Node* p : node.free()) {
    if (is_among(parameters, p)) continue;
    const std::string at = to_string(node.place());
    if (node.op() == Op::consume)
      throw ProgramError(
          fmt::format("consume ({}): a sequence is consumed inside the function of another sequence ({}) and "
                      "depends on its item; "
                      "sequences inside sequences are not supported yet",
                      at, to_string(p->place())));
    throw ProgramError(
        fmt::format("{} ({}): it is inside the function of a sequence ({}) and depends on its item; this is "
                    "not supported yet",
                    node.label(), at, to_string(p->place())));
  }
}

/// Results become what sinks ask for: unused components are dropped, and a component taken by sinks
/// of two kinds is two results.
void one_result_each(Stage& stage) {
  std::vector<Ref> results;
  std::map<std::pair<int, SinkOp>, int> number;
  for (Stage::Sink& t : stage.sinks) {
    const auto [it, fresh] = number.try_emplace({t.result, t.kind}, static_cast<int>(results.size()));
    if (fresh) results.push_back(stage.results[static_cast<std::size_t>(t.result)]);
    t.result = it->second;
  }
  stage.results = std::move(results);
}

Body passed(OpenBody open) { return {std::move(open.captured), sequences(open.results, open.parameters)}; }

/// `own`: the nodes that the program around it computes itself.
Control control_of(const Ref& node, const NodeSet& own) {
  switch (node->op().as<ArrayOp>()) {
    case Op::awhile: {
      const Awhile loop(node);
      return {node, Loop{{loop.state().begin(), loop.state().end()},
                         passed(body_of_loop(loop.predicate())),
                         passed(body_of_loop(loop.body()))}};
    }
    case Op::acond: {
      const Acond branch(node);
      return {node, Branch{cast(ScalarType::int64, branch.condition(), node->place()),
                           passed(side_of_branch(branch.then(), own)),
                           passed(side_of_branch(branch.otherwise(), own))}};
    }
    case Op::use:
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::fold:
    case Op::scan:
    case Op::backpermute:
    case Op::reshape:
    case Op::consume:
    case Op::project_array:
      break;
  }
  throw InternalError(fmt::format("sequences: {} runs no bodies", name_of(node->op())));
}

}  // namespace

Staged sequences(std::span<const Ref> results, std::span<const Ref> parameters) {
  Staged staged;
  staged.results.assign(results.begin(), results.end());
  staged.parameters.assign(parameters.begin(), parameters.end());

  // Ids grow from children to parents, so in id order a stage comes after those it depends on. Sinks of
  // one sequence depend on the same things, so they all run with the first.
  std::unordered_map<const Node*, std::size_t> stage_of;
  const std::vector<const Node*> nodes = own_nodes(results);
  const NodeSet own(nodes.begin(), nodes.end());
  for (const Node* node : nodes) {
    if (node->op() != Op::consume && !has_bodies(node->op())) continue;
    refuse_nested(*node, parameters);
    if (has_bodies(node->op())) {
      staged.parts.push_back({Part::Kind::control, static_cast<int>(staged.controls.size())});
      staged.controls.push_back(control_of(Ref(node), own));
      continue;
    }
    const Ref consume(node);
    const Taken taken = taken_by(consume);
    auto [at, fresh] = stage_of.try_emplace(taken.sequence.get(), staged.stages.size());
    if (fresh) {
      staged.parts.push_back({Part::Kind::stage, static_cast<int>(staged.stages.size())});
      staged.stages.emplace_back();
    }
    Stage& stage = staged.stages[at->second];
    if (fresh) stage.results = Composer(stage).compose(taken.sequence);
    stage.sinks.push_back({consume, SinkTerm(Consume(consume).sink()).kind(), taken.component});
  }
  for (Stage& stage : staged.stages) one_result_each(stage);
  return staged;
}

Staged sequences_out(const Ref& sequence) {
  // What the sequence captures may itself be consumed from other sequences: those stages come first. So do
  // loops and branches.
  std::vector<Ref> captured;
  for (const Node* node : own_nodes({&sequence, 1}))
    if (node->op() == Op::consume || has_bodies(node->op())) captured.push_back(Ref(node));
  Staged staged = sequences(captured, {});
  staged.results.clear();
  Stage last;
  last.results = Composer(last).compose(sequence);
  for (std::size_t i = 0; i < last.results.size(); ++i)
    last.sinks.push_back({Ref(), Op::elements, static_cast<int>(i)});
  staged.parts.push_back({Part::Kind::stage, static_cast<int>(staged.stages.size())});
  staged.stages.push_back(std::move(last));
  return staged;
}

}  // namespace anabranch::fuse
