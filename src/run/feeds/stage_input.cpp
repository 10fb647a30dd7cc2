#include "run/feeds/stage_input.h"

#include <algorithm>
#include <chrono>

#include "ir/run_error.h"
#include "run/context/results.h"
#include "scheduler/pipeline.h"

namespace anabranch::runtime {

scheduler::ChunkSize chunk_size_of(const std::vector<SourceChunk>& chunks) {
  scheduler::ChunkSize size{chunks[0].items, 0, 0};
  for (const SourceChunk& c : chunks) {
    size.work += c.work;
    size.bytes += c.bytes;
  }
  return size;
}

StageInput::StageInput(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
                       Streams& streams, const OpenFed& open_fed)
    : context_(context),
      stage_(stage),
      global_(global),
      policy_(scheduler::parse_policy(context.options.scheduler)),
      written_(written_memory(context.into)) {
  for (std::size_t s = 0; s < stage.sources.size(); ++s) open(s, streams, open_fed);
  for (const auto& source : opened_) infos_.push_back(source->info().arrays);
  zipped_ = std::make_unique<ZippedSources>(opened_, most_items());
  resident_ = context.reserve("sources", zipped_->resident_bytes());
  for (const ir::Ref& uniform : stage.group.uniforms) uniforms_.push_back(evaluate_uniform(uniform, global));
  for (const auto& arrays : infos_)
    for (const ArrayInfo& array : arrays)
      for (ScalarType s : array.scalars) element_bytes_ += static_cast<std::int64_t>(size_of(s));
}

void StageInput::open(std::size_t source, Streams& streams, const OpenFed& open_fed) {
  const ir::Node& node = *stage_.sources[source].node;
  const plan::StagePlan::Inputs& inputs = stage_.source_inputs[source];
  if (ir::is_fed(node.op())) {
    opened_.push_back(open_fed(stage_, source, streams));
    return;
  }
  switch (node.op().as<ir::SourceOp>()) {
    case ir::Op::stream_in: {
      const ir::Ref reader = stage_.sinks.empty() ? ir::Ref() : stage_.sinks[0].consume;
      opened_.push_back(
          streams.open(node, reader && reader->place().known() ? reader->place() : node.place()));
      opened_.back()->use_memory(context_.chunk_memory);
      return;
    }
    case ir::Op::produce:
      opened_.push_back(
          make_counter(number_of_items(inputs.uniforms[0], node), is_stored(stage_.sources[source].first)));
      return;
    case ir::Op::rows:
      opened_.push_back(make_rows(global_.array(inputs.arrays[0])));
      return;
  }
}

/// Does the stage read this array of its items from memory?
bool StageInput::is_stored(int item) const {
  const auto& arrays = stage_.group.arrays;
  return std::any_of(arrays.begin(), arrays.end(), [&](const plan::PlanArray& array) {
    return array.origin == plan::PlanArray::Origin::item && array.index == item;
  });
}

bool StageInput::is_fed() const {
  return std::any_of(stage_.sources.begin(), stage_.sources.end(),
                     [](const ir::StageSource& source) { return ir::is_fed(source.node->op()); });
}

void StageInput::close() {
  zipped_->close();
  opened_.clear();
  resident_.release();
}

/// A uniform that says how many items there are.
std::int64_t StageInput::number_of_items(int uniform, const ir::Node& asked) const {
  const std::int64_t items = global_.uniform(uniform);
  if (items < 0)
    ir::raise(asked.label(), ir::negative_items(asked.label(), items), asked.place(), context_.item);
  return items;
}

/// The least bound on how many items are read.
std::int64_t StageInput::most_items() const {
  std::int64_t most = INT64_MAX;
  for (const plan::ItemBound& bound : stage_.group.domains[0].bounds)
    most = std::min(most, number_of_items(bound.uniform, *bound.take));
  return most;
}

StageWork StageInput::work(int slots) {
  const std::int64_t elements = zipped_->in_memory() ? zipped_->work().value_or(0) : 0;
  const std::int64_t bytes = std::min(elements, INT64_MAX / 1024) * element_bytes_ + bytes_of_views();
  return {stage_, global_, uniforms_, infos_, slots, bytes, context_.names_items};
}

/// Of arrays in memory of which the items are parts.
std::int64_t StageInput::bytes_of_views() const {
  std::int64_t bytes = 0;
  for (const plan::PlanArray& array : stage_.group.arrays)
    if (array.origin == plan::PlanArray::Origin::view)
      for (const ScalarType s : array.type.scalars)
        bytes += global_.place(array.index)->size() * static_cast<std::int64_t>(size_of(s));
  return bytes;
}

Limit StageInput::limit_of(const scheduler::Target& target) const {
  const std::int64_t left = context_.budget.available() - zipped_->kept_bytes();
  return {.items = target.items,
          .bytes = std::max<std::int64_t>(1, std::min(target.bytes, left)),
          .work = target.work,
          .memory = left,
          .written = written_};
}

/// What is printed comes in the order of the stream.
bool StageInput::in_pieces() const { return zipped_->splits() && !plan::prints(stage_); }

bool StageInput::gains_in_pieces() const {
  // Of several sources one says how many items a piece has, which has to suit the others' items, too.
  const bool known_work = opened_.size() == 1 || zipped_->work().has_value();
  return zipped_->in_memory() && known_work && !plan::prints(stage_) && has_intermediates();
}

std::unique_ptr<ZippedPiece> StageInput::split(const scheduler::Target& target) {
  Limit limit = limit_of(target);
  limit.stop = context_.options.stop;
  limit.counted = false;
  return zipped_->split(limit);
}

/// Else a live source gives its first item, and then what there is in the time that a chunk may take, unless the user wants N
/// items.
bool StageInput::read(const scheduler::Target& target, std::vector<SourceChunk>& chunks, bool at_once) {
  Limit limit = limit_of(target);
  limit.stop = context_.options.stop;
  if (zipped_->live()) {
    if (at_once)
      limit.until = std::chrono::steady_clock::time_point::min();
    else if (policy_.kind != scheduler::Policy::Kind::fixed)
      limit.until = std::chrono::steady_clock::now() +
                    std::chrono::nanoseconds(scheduler::PipelineOptions{}.max_chunk_ns);
    if (!has_read_ && policy_.kind != scheduler::Policy::Kind::fixed) limit.items = 1;
  }
  const bool more = zipped_->next(limit, chunks);
  has_read_ = true;
  if (more) check_items(chunks);
  return more;
}

/// What stages feed may have been put where it is to lie; these have looked at what they read themselves.
void StageInput::check_items(const std::vector<SourceChunk>& chunks) const {
  for (std::size_t s = 0; s < chunks.size(); ++s)
    if (!ir::is_fed(stage_.sources[s].node->op())) check_not_read(written_, {&chunks[s], 1}, {&infos_[s], 1});
}

std::vector<SourceChunk> StageInput::part_of(const std::vector<SourceChunk>& chunks, std::int64_t begin,
                                             std::int64_t end) const {
  std::vector<SourceChunk> part;
  for (std::size_t s = 0; s < chunks.size(); ++s) part.push_back(slice(chunks[s], infos_[s], begin, end));
  return part;
}

std::int64_t StageInput::largest_read(const BackendTraits& traits) const {
  return zipped_->in_memory() ? INT64_MAX : traits.largest_read;
}

std::int64_t StageInput::work_of(std::int64_t bytes) const {
  if (bytes == scheduler::no_limit) return scheduler::no_limit;
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(element_bytes_, 1));
}

bool StageInput::has_intermediates() const {
  const auto& arrays = stage_.group.arrays;
  return std::any_of(arrays.begin(), arrays.end(), [](const plan::PlanArray& a) {
    return a.origin == plan::PlanArray::Origin::computed && a.result < 0;
  });
}

std::int64_t StageInput::start_work() const {
  // Of what is made of a number nothing is known before it is made.
  constexpr std::int64_t few = 64;
  const auto produces = [](const ir::StageSource& source) { return source.node->op() == ir::Op::produce; };
  const bool all = std::all_of(stage_.sources.begin(), stage_.sources.end(), produces);
  return all ? few : scheduler::PipelineOptions{}.start_work;
}

}  // namespace anabranch::runtime
