#include "interp/pass.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "interp/arrays.h"
#include "ir/batch.h"
#include "ir/run_error.h"
#include "ir/views.h"

namespace anabranch::interp {

using ir::Node;
using ir::Op;
using ir::position_of;
using ir::SequenceOp;
using ir::SinkOp;
using ir::SourceOp;

namespace {

/// Does the sequence have other items than the streams it is made of?
bool is_fed(const Evaluator& evaluator, const std::vector<Evaluator::Number>& sequences) {
  return std::any_of(sequences.begin(), sequences.end(),
                     [&](Evaluator::Number number) { return ir::is_fed(evaluator.node(number).op()); });
}

}  // namespace

Pass::Pass(Machine& machine, Number sequence, const Node& reader, std::shared_ptr<Readings> readings)
    : machine_(machine),
      reader_(reader),
      feeds_(static_cast<bool>(readings)),
      inside_(machine.in_item > 0),
      readings_(std::move(readings)) {
  // Before a source is opened: these may stream the same source themselves.
  machine_.demand_needs_of(sequence);

  const Evaluator& evaluator = machine_.evaluator();
  std::vector<Number> found{sequence};
  stage_of_.emplace(sequence, 0);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (ir::is_fed(evaluator.node(found[i]).op())) continue;  // a pass of its own
    for (Number child : evaluator.children(found[i]))
      if (evaluator.node(child).type().is_sequence() && stage_of_.emplace(child, 0).second)
        found.push_back(child);
  }
  std::sort(found.begin(), found.end());
  if (!readings_) readings_ = std::make_shared<Readings>(machine_, reader_, interp::is_fed(evaluator, found));
  for (Number number : found) {
    stage_of_[number] = stages_.size();
    stages_.push_back({number, &evaluator.node(number)});
  }
  for (Stage& stage : stages_) open(stage);
}

Pass::~Pass() {
  for (const Stream& stream : streams_) readings_->close(*stream.node);
}

void Pass::open(Stage& stage) {
  if (ir::is_fed(stage.node->op())) {
    stage.fed = open_fed(machine_, stage.number, reader_, readings_);
    stage.length = stage.fed->length();
    return;
  }
  if (stage.node->op().is_a<SourceOp>()) return open_source(stage);
  Evaluator& evaluator = machine_.evaluator();
  if (stage.node->op() != Op::take_seq) return;
  stage.length = evaluator.integers(evaluator.children(stage.number)[position_of(Op::take_seq, "count")])[0];
  if (*stage.length < 0) evaluator.fail(*stage.node, ir::negative_items(stage.node->label(), *stage.length));
}

void Pass::open_source(Stage& stage) {
  Evaluator& evaluator = machine_.evaluator();
  const auto children = evaluator.children(stage.number);
  switch (stage.node->op().as<SourceOp>()) {
    case Op::stream_in:
      return open_stream(stage);
    case Op::produce:
      stage.length = evaluator.integers(children[position_of(Op::produce, "count")])[0];
      if (*stage.length < 0)
        evaluator.fail(*stage.node, ir::negative_items(stage.node->label(), *stage.length));
      return;
    case Op::rows:
      stage.length = evaluator.array(children[position_of(Op::rows, "array")])->extents[0];
      return;
  }
}

void Pass::open_stream(Stage& stage) {
  const auto same = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& stream) {
    return stream.node->payload().source == stage.node->payload().source;
  });
  stage.reading = same == streams_.end() ? stage.node : same->node;
  if (same != streams_.end()) return;
  readings_->open(*stage.node);
  streams_.push_back({stage.node});
}

/// Advances all producers by one item; false if one of them is at its end, whatever becomes of the others there. Sources come
/// last, so that none is read beyond what is known to be needed.
bool Pass::pull() {
  for (const Stage& stage : stages_)
    if (stage.length && position_ >= *stage.length) return false;
  std::exception_ptr failure;
  const auto advance = [&](auto&& next) {
    try {
      return next();
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      if (!failure) failure = std::current_exception();
      return true;
    }
  };
  for (Stage& stage : stages_)
    if (stage.fed && !advance([&] { return stage.fed->next(stage.item); })) return false;
  for (Stream& stream : streams_) {
    const SourceInfo& info = stream.node->payload().source->info();
    if (failure && info.live && !info.in_memory) continue;  // it might have to wait
    if (!advance([&] { return readings_->item(*stream.node, position_, stream.item); })) return false;
  }
  if (failure) std::rethrow_exception(failure);
  return true;
}

void Pass::apply(Stage& stage, Number lambda, std::span<const HostArray> arguments) {
  Evaluator& evaluator = machine_.evaluator();
  const auto parameters = evaluator.parameters(lambda);
  const Evaluator::Application application(evaluator, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) evaluator.bind(parameters[i], arguments[i]);
  stage.item.clear();
  for (Number result : evaluator.results(lambda)) stage.item.push_back(machine_.demand(result));
}

std::vector<HostArray> Pass::arguments_of_map(const Stage& stage) const {
  std::vector<HostArray> arguments;
  const auto children = machine_.evaluator().children(stage.number);
  for (Number child : children.subspan(position_of(Op::map_seq, "sequences"))) {
    const std::vector<HostArray>& item = stages_[stage_of_.at(child)].item;
    arguments.insert(arguments.end(), item.begin(), item.end());
  }
  return arguments;
}

/// What items have in common is computed also where there is none, as back ends do that before the first one. An array
/// that differs from item to item is null here.
void Pass::compute_what_items_share() {
  for (Stage& stage : stages_) {
    const auto children = machine_.evaluator().children(stage.number);
    if (stage.node->op() == Op::produce) {
      const HostArray number;
      apply_to_shared(stage, children[position_of(Op::produce, "function")], {&number, 1});
    } else if (stage.node->op() == Op::map_seq) {
      apply_to_shared(stage, children[position_of(Op::map_seq, "function")], arguments_of_map(stage));
    } else if (stage.node->op().is_a<SourceOp>() || stage.fed) {
      stage.item.assign(stage.node->type().arrays.size(), nullptr);
    } else {
      compute(stage);
    }
  }
}

void Pass::apply_to_shared(Stage& stage, Number lambda, std::span<const HostArray> arguments) {
  Evaluator& evaluator = machine_.evaluator();
  const auto parameters = evaluator.parameters(lambda);
  const Evaluator::Application application(evaluator, parameters);
  std::unordered_set<const Node*> varying;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (arguments[i])
      evaluator.bind(parameters[i], arguments[i]);
    else
      varying.insert(&evaluator.node(parameters[i]));
  }
  const auto results = evaluator.results(lambda);
  for (Number array : machine_.independent_arrays({results.begin(), results.end()}, varying))
    machine_.demand(array);
  stage.item.clear();
  for (Number result : results) {
    const auto& free = evaluator.node(result).free();
    const bool varies =
        std::any_of(free.begin(), free.end(), [&](const Node* p) { return varying.contains(p); });
    stage.item.push_back(varies ? nullptr : machine_.demand(result));
  }
}

void Pass::compute(Stage& stage) {
  if (stage.fed) return;  // the item is there
  if (stage.node->op().is_a<SourceOp>()) return compute_source(stage);
  const auto children = machine_.evaluator().children(stage.number);
  switch (stage.node->op().as<SequenceOp>()) {
    case Op::map_seq:
      return apply(stage, children[position_of(Op::map_seq, "function")], arguments_of_map(stage));
    case Op::project_seq: {
      const Number whole = children[position_of(Op::project_seq, "sequence")];
      const ir::ProjectSeq part(*stage.node);
      const auto begin = stages_[stage_of_.at(whole)].item.begin() + part.first();
      stage.item.assign(begin, begin + part.count());
      return;
    }
    case Op::take_seq:
      stage.item = stages_[stage_of_.at(children[position_of(Op::take_seq, "sequence")])].item;
      return;
    case Op::filter_seq:
    case Op::take_while_seq:
    case Op::drop_seq:
    case Op::append_seq:
    case Op::flatten_seq:
    case Op::windows_seq:
    case Op::map_accum_seq:
      return;
  }
}

void Pass::compute_source(Stage& stage) {
  const auto children = machine_.evaluator().children(stage.number);
  switch (stage.node->op().as<SourceOp>()) {
    case Op::stream_in:
      stage.item = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& stream) {
                     return stream.node == stage.reading;
                   })->item;
      return;
    case Op::produce: {
      const HostArray number = anabranch::detail::allocate_array(std::array{ScalarType::int64}, {});
      store(ScalarType::int64, number->buffers[0].get(), 0, to_bits(position_));
      return apply(stage, children[position_of(Op::produce, "function")], {&number, 1});
    }
    case Op::rows: {
      const HostArray& array = machine_.evaluator().array(children[position_of(Op::rows, "array")]);
      std::vector<std::int64_t> extents(array->extents.begin() + 1, array->extents.end());
      const std::int64_t size =
          std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
      stage.item.assign(1, view(array, position_ * size, std::move(extents)));
      return;
    }
  }
}

bool Pass::next(std::vector<HostArray>& item) {
  machine_.check_stop();
  if (over_) return false;
  over_ = !pull();
  if (over_ && position_ == 0) {
    machine_.met_no_item = true;
    compute_what_items_share();
  }
  if (over_) return false;
  // What fails ends the run. Items of a sequence inside of another one have no number that a user knows.
  std::int64_t& number = machine_.evaluator().item;
  const std::int64_t outer = std::exchange(number, inside_ ? ir::no_item : position_);
  ++machine_.in_item;
  for (Stage& stage : stages_) compute(stage);
  --machine_.in_item;
  number = outer;
  ++position_;
  item = stages_.back().item;
  if (!feeds_ && machine_.on_item()) machine_.on_item()(position_, length());
  return true;
}

std::optional<std::int64_t> Pass::length() const {
  std::optional<std::int64_t> least;
  const auto at_most = [&](std::int64_t items) { least = std::min(least.value_or(items), items); };
  for (const Stage& stage : stages_) {
    if (stage.length) at_most(*stage.length);
    if (stage.fed && !stage.length) return std::nullopt;
  }
  for (const Stream& stream : streams_) {
    const std::optional<std::int64_t> items = stream.node->payload().source->info().items;
    if (!items) return std::nullopt;
    at_most(*items);
  }
  return least;
}

namespace {

Evaluator::Number sequence_of(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  return machine.evaluator().number(*ir::SinkTerm(node).sequence());
}

HostArray run_elements(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  Pass pass(machine, sequence_of(machine, sink), node);
  const ir::Scalars& scalars = node.type().scalars;
  std::vector<std::vector<unsigned char>> collected(scalars.size());
  std::int64_t count = 0;
  std::vector<HostArray> item;
  while (pass.next(item)) {
    const auto size = static_cast<std::size_t>(item[0]->size());
    count += item[0]->size();
    for (std::size_t c = 0; c < scalars.size(); ++c) {
      const auto* bytes = static_cast<const unsigned char*>(item[0]->buffers[c].get());
      collected[c].insert(collected[c].end(), bytes, bytes + size * size_of(scalars[c]));
    }
  }
  HostArray out = allocate(machine.evaluator(), node, scalars, std::array{count});
  for (std::size_t c = 0; c < scalars.size(); ++c)
    std::copy(collected[c].begin(), collected[c].end(), static_cast<unsigned char*>(out->buffers[c].get()));
  return out;
}

/// The elements of `item` at the indices of `extents` (each at most the item's), in row-major order, to `out`
/// from position `begin` on.
void copy_trimmed(const HostArray& item, std::span<const std::int64_t> extents, const HostArray& out,
                  std::int64_t begin) {
  const std::int64_t size =
      std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t position = 0; position < size; ++position) {
    std::int64_t rest = position;
    std::int64_t from = 0;
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      from += rest % extents[d] * stride;
      rest /= extents[d];
      stride *= item->extents[d];
    }
    for (std::size_t c = 0; c < item->scalars.size(); ++c)
      store(item->scalars[c], out->buffers[c].get(), begin + position,
            load(item->scalars[c], item->buffers[c].get(), from));
  }
}

HostArray run_tabulate(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  std::vector<HostArray> items;
  {
    Pass pass(machine, sequence_of(machine, sink), node);
    std::vector<HostArray> item;
    while (pass.next(item)) items.push_back(item[0]);
  }
  std::vector<std::int64_t> trimmed(static_cast<std::size_t>(node.type().rank - 1), 0);
  if (!items.empty()) trimmed = items[0]->extents;
  for (const HostArray& item : items)
    for (std::size_t d = 0; d < trimmed.size(); ++d) trimmed[d] = std::min(trimmed[d], item->extents[d]);

  std::vector<std::int64_t> extents{static_cast<std::int64_t>(items.size())};
  extents.insert(extents.end(), trimmed.begin(), trimmed.end());
  HostArray out = allocate(machine.evaluator(), node, node.type().scalars, extents);
  const std::int64_t size = items.empty() ? 0 : out->size() / extents[0];
  for (std::size_t i = 0; i < items.size(); ++i)
    copy_trimmed(items[i], trimmed, out, static_cast<std::int64_t>(i) * size);
  return out;
}

HostArray run_fold_seq(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  const Evaluator::Number function = machine.evaluator().number(*ir::FoldSeq(node).function());
  const auto join = [&](const HostArray& left, const HostArray& right) {
    return machine.apply(function, std::array{left, right}, ir::no_item)[0];
  };
  HostArray sum = machine.demand(*ir::FoldSeq(node).seed());
  std::vector<HostArray> waiting;  // per level: a complete tree without its right neighbour, or null
  Pass pass(machine, sequence_of(machine, sink), node);
  std::vector<HostArray> item;
  while (pass.next(item)) {
    HostArray tree = item[0];
    std::size_t level = 0;
    for (; level < waiting.size() && waiting[level]; ++level)
      tree = join(std::exchange(waiting[level], nullptr), tree);
    if (level == waiting.size()) waiting.emplace_back();
    waiting[level] = tree;
  }
  for (std::size_t level = waiting.size(); level-- > 0;)
    if (waiting[level]) sum = join(sum, waiting[level]);
  return sum;
}

/// What the function of a batch takes.
std::vector<HostArray> batch_of(const std::vector<HostArray>& items, const ir::ArrayType& type) {
  const auto count = std::ssize(items);
  const auto rank = static_cast<std::size_t>(type.rank);
  std::vector<HostArray> arguments{
      anabranch::detail::allocate_array(ir::Scalars{ScalarType::int64}, std::vector<std::int64_t>{})};
  store(ScalarType::int64, arguments[0]->buffers[0].get(), 0, to_bits(count));
  std::int64_t elements = 0;
  for (const HostArray& item : items) elements += item->size();
  arguments.push_back(anabranch::detail::allocate_array(type.scalars, std::array{elements}));
  for (std::size_t d = 0; d <= rank; ++d)
    arguments.push_back(anabranch::detail::allocate_array(ir::Scalars{ScalarType::int64}, std::array{count}));
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const HostArray& item = items[static_cast<std::size_t>(i)];
    store(ScalarType::int64, arguments[2]->buffers[0].get(), i, to_bits(begin));
    for (std::size_t d = 0; d < rank; ++d)
      store(ScalarType::int64, arguments[3 + d]->buffers[0].get(), i, to_bits(item->extents[d]));
    for (std::size_t c = 0; c < type.scalars.size(); ++c)
      for (std::int64_t e = 0; e < item->size(); ++e)
        store(type.scalars[c], arguments[1]->buffers[c].get(), begin + e,
              load(type.scalars[c], item->buffers[c].get(), e));
    begin += item->size();
  }
  return arguments;
}

HostArray run_fold_batch(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  const ir::FoldBatch fold(node);
  const Evaluator::Number batch = machine.evaluator().number(*fold.batch());
  const Evaluator::Number combine = machine.evaluator().number(*fold.combine());
  const ir::ArrayType type = fold.sequence()->type().arrays[0];
  HostArray sum = machine.demand(*fold.seed());
  std::vector<HostArray> items;
  std::int64_t elements = 0;
  const auto join = [&] {
    const HostArray of_batch = machine.apply(batch, batch_of(items, type), ir::no_item)[0];
    sum = machine.apply(combine, std::array{sum, of_batch}, ir::no_item)[0];
    items.clear();
    elements = 0;
  };
  Pass pass(machine, sequence_of(machine, sink), node);
  std::vector<HostArray> item;
  while (pass.next(item)) {
    items.push_back(item[0]);
    elements += item[0]->size();
    if (elements >= ir::batch_elements || std::ssize(items) >= ir::batch_items) join();
  }
  if (!items.empty()) join();
  return sum;
}

/// An item as a chunk of one. Nothing is known of its extents before.
SinkChunk chunk_of(const std::vector<HostArray>& item, std::int64_t number) {
  SinkChunk chunk{number, 1, {}, false};
  const auto shared = [](std::vector<std::int64_t> numbers) {
    auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
    return std::shared_ptr<const std::int64_t>(owner, owner->data());
  };
  for (const HostArray& array : item) {
    ArrayChunk& out = chunk.arrays.emplace_back();
    out.data.assign(array->buffers.begin(), array->buffers.end());
    if (array->extents.empty()) continue;
    out.offsets = shared({0, array->size()});
    if (array->extents.size() > 1)
      for (const std::int64_t extent : array->extents) out.extents.push_back(shared({extent}));
  }
  return chunk;
}

HostArray run_write(Machine& machine, Evaluator::Number sink) {
  const Node& node = machine.evaluator().node(sink);
  const ir::SinkTerm write(node);
  SinkStart start;
  for (const ir::ArrayType& array : write.sequence()->type().arrays) {
    ArrayInfo& info = start.arrays.emplace_back();
    info.scalars = array.scalars;
    info.extents.resize(static_cast<std::size_t>(array.rank));
  }
  SinkPass& written = machine.sinks().begin(write.sink(), start, node.place());
  Pass pass(machine, sequence_of(machine, sink), node);
  const HostArray count = allocate(machine.evaluator(), node, node.type().scalars, {});
  auto& items = *static_cast<std::int64_t*>(count->buffers[0].get());
  std::vector<HostArray> item;
  for (items = 0; pass.next(item); ++items) written.write(chunk_of(item, items));
  return count;
}

}  // namespace

HostArray run_sink(Machine& machine, Evaluator::Number sink) {
  switch (machine.evaluator().node(sink).op().as<SinkOp>()) {
    case Op::elements:
      return run_elements(machine, sink);
    case Op::tabulate:
      return run_tabulate(machine, sink);
    case Op::fold_seq:
      return run_fold_seq(machine, sink);
    case Op::fold_batch:
      return run_fold_batch(machine, sink);
    case Op::write:
      return run_write(machine, sink);
  }
  return {};
}

}  // namespace anabranch::interp
