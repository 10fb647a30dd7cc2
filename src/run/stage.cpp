#include "run/stage.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "ir/run_error.h"
#include "run/run_trace.h"

namespace anabranch::runtime {

using plan::PlanArray;

namespace {
/// Page-locked memory is dear, and a copy of this size hides all that a chunk costs besides.
constexpr std::int64_t largest_staged_chunk = std::int64_t{128} << 20;

/// Of one chunk's parts, one per base of the stage.
scheduler::ChunkSize extent_of(const std::vector<SourceChunk>& chunks) {
  scheduler::ChunkSize extent{chunks[0].items, 0, 0};
  for (const SourceChunk& c : chunks) {
    extent.work += c.work;
    extent.bytes += c.bytes;
  }
  return extent;
}
}  // namespace

StageRun::StageRun(RunContext& context, int stage, GlobalValues& global)
    : context_(context),
      number_(stage),
      stage_(context.plan.stages[static_cast<std::size_t>(stage)]),
      global_(global),
      policy_(scheduler::parse_policy(context.options.scheduler)) {
  for (std::size_t b = 0; b < stage_.sources.size(); ++b) {
    const ir::Node& node = *stage_.sources[b].node;
    if (node.op() == ir::Op::stream_in) {
      const ir::Ref& reader = stage_.sinks[0].consume;
      passes_.emplace_back(node.payload().source,
                           reader && reader->place().known() ? reader->place() : node.place());
      sources_.push_back(node.payload().source);
    } else if (node.op() == ir::Op::produce) {
      const std::int64_t count = global_.uniform(stage_.base_inputs[b]);
      if (count < 0) ir::raise("produce", ir::negative_items(count), node.place());
      sources_.push_back(make_counter(count));
    } else {
      sources_.push_back(make_rows(global_.array(stage_.base_inputs[b])));
    }
    infos_.push_back(sources_.back()->info().arrays);
  }
  zipped_ = std::make_unique<ZippedSources>(sources_);
  resident_ = context_.budget.reserve("sources", zipped_->resident_bytes());

  for (const ir::Ref& e : stage_.group.uniforms) uniforms_.push_back(evaluate_uniform(e, global_));
  std::int64_t& element = element_bytes_;
  for (const auto& arrays : infos_)
    for (const ArrayInfo& array : arrays)
      for (ScalarType s : array.scalars) element += static_cast<std::int64_t>(size_of(s));
  // What a source has just put there is still in a cache.
  const std::int64_t work = zipped_->in_memory() ? zipped_->work().value_or(0) : 0;
  const bool from_memory = std::min(work, INT64_MAX / 1024) * element >= context_.cache_bytes;
  chunk_ = std::make_unique<ChunkRun>(context_, stage_, global_, uniforms_, from_memory);
}

void StageRun::compute(const std::vector<SourceChunk>& chunks) { compute_part(chunks, 0, chunks[0].items); }

// A chunk whose intermediate arrays do not fit is cut in halves; one item that does not fit is an error.
// Nothing was committed when the budget refuses, so the halves start afresh.
void StageRun::compute_part(const std::vector<SourceChunk>& chunks, std::int64_t begin, std::int64_t end) {
  std::vector<SourceChunk> part;
  const bool whole = begin == 0 && end == chunks[0].items;
  if (!whole)
    for (std::size_t b = 0; b < chunks.size(); ++b) part.push_back(slice(chunks[b], infos_[b], begin, end));
  try {
    chunk_->execute(whole ? chunks : part, infos_, [&](int r, std::int64_t elements) {
      return collectors_[static_cast<std::size_t>(r)]->room(elements);
    });
  } catch (const scheduler::BudgetExceeded&) {
    chunk_->release();
    context_.blocks.trim();
    if (end - begin <= 1) throw;
    const std::int64_t middle = begin + (end - begin) / 2;
    compute_part(chunks, begin, middle);
    compute_part(chunks, middle, end);
    return;
  }
  for (std::size_t r = 0; r < collectors_.size(); ++r) {
    if (!collectors_[r]) continue;
    const int array = stage_.results[r];
    collectors_[r]->commit(chunk_->elements(array));
    std::vector<std::vector<std::int64_t>> extents;
    for (std::size_t d = 0; d < stage_.group.arrays[static_cast<std::size_t>(array)].extents.size(); ++d)
      extents.push_back(chunk_->extents(array, static_cast<int>(d)));
    collectors_[r]->add_items(end - begin, extents);
  }
}

/// Results that were computed elsewhere, in their turn.
void StageRun::collect(const ChunkResults& part) {
  for (std::size_t r = 0; r < collectors_.size(); ++r) {
    if (!collectors_[r]) continue;
    const ChunkResults::Array& array = part.arrays[r];
    const auto& type = stage_.group.arrays[static_cast<std::size_t>(stage_.results[r])].type;
    const std::vector<void*> room = collectors_[r]->room(array.elements);
    for (std::size_t c = 0; c < room.size(); ++c)
      if (array.elements > 0)
        copy_on_all_threads(context_.executor, room[c], array.components[c],
                            array.elements * static_cast<std::int64_t>(size_of(type.scalars[c])));
    collectors_[r]->commit(array.elements);
    collectors_[r]->add_items(part.items, array.extents);
  }
}

void StageRun::draw_memory(std::int64_t chunk) {
  context_.trace->memory(chunk, context_.budget, context_.device ? &context_.device->budget() : nullptr);
}

/// What is read into buffers is computed on while the cache still holds it: larger chunks would go through
/// memory twice, and through new pages, and gain nothing, as fixed costs are long negligible. A GPU has more
/// fixed costs to hide.
std::int64_t StageRun::largest_chunk() const {
  if (zipped_->in_memory()) return INT64_MAX;
  return context_.device ? std::int64_t{64} << 20 : std::int64_t{8} << 20;
}

/// A live source gives what is there in the time that a chunk may take, unless the user wants N items.
Limit StageRun::limit_of(std::int64_t items, std::int64_t bytes, std::int64_t work,
                         std::int64_t memory) const {
  Limit limit{items, bytes, work, memory};
  if (!zipped_->live()) return limit;
  limit.stop = context_.options.stop;
  if (policy_.kind != scheduler::Policy::Kind::fixed)
    limit.until =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(scheduler::RunOptions{}.max_chunk_ns);
  return limit;
}

void StageRun::make_collectors(const std::vector<HostArray>& into) {
  const auto total_items = zipped_->items();
  collectors_.resize(stage_.results.size());
  for (const auto& t : stage_.sinks) {
    auto& collector = collectors_[static_cast<std::size_t>(t.result)];
    if (collector) continue;
    const PlanArray& array =
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(t.result)])];
    ResultSize size;
    if (array.form == ir::Form::regular) {
      if (total_items)
        size.certain =
            plan::elements_of(stage_.group, array, plan::ChunkShape{*total_items, uniforms_, {}, 0});
    } else {
      size.likely = likely_elements(t.result, array);
    }
    try {
      collector = std::make_unique<ResultCollector>(context_, array, t.kind, size,
                                                    into[static_cast<std::size_t>(t.result)]);
    } catch (const ResourceError& e) {
      throw ResourceError(fmt::format("results of {}: {} ({})", array.node->label(), e.what(),
                                      to_string(array.node->place())));
    }
  }
}

/// Of a result whose size only the items tell: as many as the last time, else as many as the source has.
std::int64_t StageRun::likely_elements(int result, const PlanArray& array) const {
  std::int64_t likely = context_.sizes ? context_.sizes->of(number_, result) : 0;
  if (likely == 0 && array.descriptor >= 0 &&
      stage_.group.descriptors[static_cast<std::size_t>(array.descriptor)].item >= 0)
    likely = zipped_->work().value_or(0);
  return std::min(likely, context_.budget.available() / std::max<std::int64_t>(width_of(array.type), 1));
}

std::vector<scheduler::Reservation> StageRun::take_reservations() {
  std::vector<scheduler::Reservation> out;
  for (const auto& collector : collectors_)
    if (collector) out.push_back(collector->take_reservation());
  return out;
}

std::vector<HostArray> StageRun::run(const std::vector<HostArray>& into) {
  make_collectors(into);
  const auto total_items = zipped_->items();

  struct Slot {
    std::vector<SourceChunk> chunks;
    scheduler::Reservation reservation;
  };
  scheduler::RunOptions options;
  options.policy = policy_;
  options.stop = context_.options.stop;
  options.total = zipped_->extent();
  const bool bounded = !context_.budget.unlimited();
  bool intermediates = false;
  for (const PlanArray& a : stage_.group.arrays)
    intermediates = intermediates || (a.origin == PlanArray::Origin::computed && a.result < 0);
  bool known_results = true;
  for (const auto& t : stage_.sinks)
    known_results =
        known_results && total_items &&
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(t.result)])]
                .form == ir::Form::regular;
  if (bounded) {
    // What is left belongs to the ring, less a part for intermediate
    // arrays and for results whose size nobody knows yet.
    std::int64_t left = context_.budget.available();
    if (intermediates) left /= 2;
    if (!known_results) left /= 2;
    if (context_.device) left /= 2;  // chunks and results are copied once more, on their way
    options.memory_limit = std::max<std::int64_t>(left, 1);
  }

  std::int64_t device_work = INT64_MAX;  // of one chunk
  if (context_.device) {
    device_ = std::make_unique<DeviceStage>(context_, stage_, global_, uniforms_, infos_,
                                            context_.cpu_too ? chunk_.get() : nullptr, options.max_ring);
    // The ring, with what is computed from it, shares the
    // device's memory: a first guess, corrected by halving.
    const std::int64_t bytes = std::min({context_.device->bound() / options.max_ring / 3,
                                         options.memory_limit / options.max_ring, largest_staged_chunk});
    device_work = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(element_bytes_, 1));
  }
  std::vector<Slot> slots(static_cast<std::size_t>(options.max_ring));
  std::vector<SourceChunk> pending;  // read, but waiting for memory
  std::atomic<int> in_flight = 0;
  scheduler::Stages stages;
  stages.read = [&](int s, const scheduler::Target& target) -> std::optional<scheduler::ChunkSize> {
    Slot& slot = slots[static_cast<std::size_t>(s)];
    if (!pending.empty()) {
      slot.chunks = std::exchange(pending, {});
    } else {
      const bool alone = in_flight == 0;
      const std::int64_t left = context_.budget.available() - zipped_->kept_bytes();
      const std::int64_t bytes = std::max<std::int64_t>(1, std::min(target.bytes, left));
      try {
        if (!zipped_->next(limit_of(target.items, bytes, std::min(target.work, device_work), left),
                           slot.chunks))
          return std::nullopt;
        if (!context_.into.empty()) check_not_read(context_.into, slot.chunks, infos_);
      } catch (const ItemTooBig& e) {
        if (alone) throw;
        throw scheduler::ChunkTooBig("an item waits for memory", scheduler::ChunkSize{1, 0, e.bytes()});
      }
    }
    const scheduler::ChunkSize extent = extent_of(slot.chunks);
    auto reservation = context_.budget.try_reserve("chunks", extent.bytes);
    if (!reservation && in_flight > 0) {
      // It is read, but other chunks hold the memory: it waits until they are gone and then travels alone.
      pending = std::exchange(slot.chunks, {});
      throw scheduler::ChunkTooBig("a chunk waits for memory",
                                   scheduler::ChunkSize{1, extent.work, extent.bytes});
    }
    slot.reservation =
        reservation ? std::move(*reservation) : context_.budget.reserve("chunks", extent.bytes);
    ++in_flight;
    return extent;
  };
  stages.compute = [&](int s) {
    const auto& chunks = slots[static_cast<std::size_t>(s)].chunks;
    if (context_.trace) context_.trace->next_chunk();
    if (device_)
      device_->compute(s, chunks);
    else
      compute(chunks);
    if (context_.trace) draw_memory(context_.trace->place().chunk);
  };
  stages.write = [&](int s) {
    if (device_) device_->finish(s, [this](const ChunkResults& part) { collect(part); });
    slots[static_cast<std::size_t>(s)].chunks.clear();
    slots[static_cast<std::size_t>(s)].reservation.release();
    --in_flight;
  };
  stages.inline_read = zipped_->in_memory();
  stages.inline_write = device_ == nullptr;  // else it waits for the device
  const int slots_used = scheduler::ring_slots(context_.executor, stages, options);
  if (largest_chunk() < INT64_MAX / slots_used)
    options.memory_limit = std::min(options.memory_limit, largest_chunk() * slots_used);

  scheduler::Trace trace;
  Progress progress;
  progress.total_items = total_items;
  trace.on_chunk([&](const scheduler::ChunkRecord& record) {
    if (context_.trace) {
      context_.trace->chunk(record);
      draw_memory(record.chunk);
    }
    progress.items += record.extent.items;
    ++progress.chunks;
    if (context_.options.progress) context_.options.progress(progress);
  });
  options.trace = &trace;
  if (context_.trace) context_.trace->begin_stage(number_);
  const scheduler::RunResult result = scheduler::run_pipeline(context_.executor, stages, options);
  if (result.cancelled) throw Cancelled("the run was cancelled");
  if (context_.trace) context_.trace->end_stage();
  chunk_->release();

  if (RunReport* report = context_.report) {
    if (device_) report->gpu_chunks += device_->device_chunks();
    const scheduler::Summary& sum = result.summary;
    report->chunks += sum.chunks;
    report->items += sum.total.items;
    report->work += sum.total.work;
    report->bytes += sum.total.bytes;
    const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
    report->read_seconds += seconds(sum.stage_ns.read);
    report->compute_seconds += seconds(sum.stage_ns.compute);
    report->write_seconds += seconds(sum.stage_ns.write);
    report->utilisation = sum.utilisation;
    for (const scheduler::ChunkRecord& r : trace.records()) {
      ChunkRecord out;
      out.items = r.extent.items;
      out.work = r.extent.work;
      out.bytes = r.extent.bytes;
      out.read_seconds = seconds(r.read.length());
      out.compute_seconds = seconds(r.compute.length());
      out.write_seconds = seconds(r.write.length());
      out.utilisation = r.utilisation;
      out.reason = to_string(r.decision.reason);
      report->records.push_back(std::move(out));
    }
  }

  std::vector<HostArray> finished(collectors_.size());
  std::vector<HostArray> results;
  for (const auto& t : stage_.sinks) {
    auto& array = finished[static_cast<std::size_t>(t.result)];
    if (!array) {
      ResultCollector& collector = *collectors_[static_cast<std::size_t>(t.result)];
      if (context_.sizes) context_.sizes->note(number_, t.result, collector.elements());
      array = collector.finish();
    }
    results.push_back(array);
  }
  return results;
}

/// A whole chunk on the device, part by part if it must be, into arrays that `room` makes.
void StageRun::device_chunk(const std::vector<SourceChunk>& chunks, const ChunkRun::ResultRoom& room,
                            std::vector<std::vector<std::vector<std::int64_t>>>& extents) {
  if (!device_)
    device_ = std::make_unique<DeviceStage>(context_, stage_, global_, uniforms_, infos_,
                                            context_.cpu_too ? chunk_.get() : nullptr, 1);
  std::vector<ChunkResults> parts;
  device_->compute(0, chunks);
  device_->finish(0, [&](ChunkResults&& part) { parts.push_back(std::move(part)); });
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    const auto& type = stage_.group.arrays[static_cast<std::size_t>(stage_.results[r])].type;
    std::int64_t elements = 0;
    for (const ChunkResults& part : parts) elements += part.arrays[r].elements;
    const std::vector<void*> to = room(static_cast<int>(r), elements);
    std::int64_t position = 0;
    for (const ChunkResults& part : parts) {
      const ChunkResults::Array& array = part.arrays[r];
      for (std::size_t c = 0; c < to.size(); ++c) {
        const std::size_t width = size_of(type.scalars[c]);
        if (array.elements > 0)
          std::memcpy(static_cast<std::byte*>(to[c]) + static_cast<std::size_t>(position) * width,
                      array.components[c], static_cast<std::size_t>(array.elements) * width);
      }
      position += array.elements;
      extents[r].resize(array.extents.size());
      for (std::size_t d = 0; d < array.extents.size(); ++d) {
        auto& joined = extents[r][d];
        const auto& these = array.extents[d];
        if (parts.size() == 1)
          joined = these;
        else if (these.size() == 1)
          joined.insert(joined.end(), static_cast<std::size_t>(part.items), these[0]);
        else
          joined.insert(joined.end(), these.begin(), these.end());
      }
    }
  }
}

/// How much the next chunk of a stream that is read item by item shall hold.
scheduler::Decision StageRun::next_size() {
  if (zipped_->live() && policy_.kind != scheduler::Policy::Kind::fixed)
    return {.target = {.items = 1}, .reason = scheduler::Reason::live};
  if (!controller_) {
    scheduler::ControllerConfig config;
    config.max_ring = 1;
    config.read_overlaps = config.write_overlaps = false;
    config.total = zipped_->extent();
    config.memory_limit = largest_chunk();
    // The chunk, what is computed from it, and intermediate arrays.
    if (!context_.budget.unlimited())
      config.memory_limit = std::min(config.memory_limit, context_.budget.available() / 4);
    controller_ = scheduler::make_controller(policy_, config);
  }
  scheduler::Decision decision = controller_->next(so_far_);
  if (context_.device)  // views of memory count no bytes
    decision.target.work =
        std::min(decision.target.work,
                 std::max<std::int64_t>(1, std::min(context_.device->bound() / 3, largest_staged_chunk) /
                                               std::max<std::int64_t>(element_bytes_, 1)));
  return decision;
}

/// Reads a chunk into read_; false at the end.
bool StageRun::read_next(const scheduler::Target& target) {
  given_.clear();
  read_.clear();
  read_at_ = 0;
  const std::int64_t left = context_.budget.available() - zipped_->kept_bytes();
  const std::int64_t bytes = std::max<std::int64_t>(1, std::min(target.bytes, left));
  if (!zipped_->next(limit_of(target.items, bytes, target.work, left), read_)) {
    read_.clear();
    return false;
  }
  for (const SourceChunk& c : read_) given_.push_back(context_.budget.reserve("chunks", c.bytes));
  read_to_ = read_[0].items;
  return true;
}

bool StageRun::next_chunk(std::vector<std::vector<HostArray>>& items) {
  RunTrace* const trace = context_.trace;
  const scheduler::Clock& clock = scheduler::steady_clock();
  items.clear();
  results_given_.clear();
  scheduler::ChunkRecord record;
  record.read.begin_ns = clock.now_ns();
  if (read_.empty() || read_at_ == read_[0].items) {
    size_ = next_size();
    if (!read_next(size_.target)) {
      if (trace) trace->end_stage();
      return false;
    }
  }
  record.decision = size_;
  record.read.end_ns = record.compute.begin_ns = clock.now_ns();
  if (trace) trace->next_chunk();
  record.extent = make_next_items(items);
  record.compute.end_ns = clock.now_ns();
  chunk_->release();
  so_far_.items += record.extent.items;
  so_far_.work += record.extent.work;
  so_far_.bytes += record.extent.bytes;
  if (controller_)
    controller_->observe({.extent = record.extent,
                          .target = size_.target,
                          .ns = {.read = record.read.length(), .compute = record.compute.length()}});
  if (trace) {
    record.chunk = trace->place().chunk;
    trace->chunk(record);
    draw_memory(record.chunk);
  }
  ++chunks_;
  if (context_.options.progress) context_.options.progress({so_far_.items, zipped_->items(), chunks_});
  return true;
}

/// Of what has been read: as much as fits, in halves if it must be. What has been computed is the chunk.
scheduler::ChunkSize StageRun::make_next_items(std::vector<std::vector<HostArray>>& items) {
  const std::int64_t whole = read_[0].items;
  std::int64_t end = std::min(whole, read_at_ + read_to_);
  for (;;) {
    std::vector<SourceChunk> part;
    for (std::size_t b = 0; b < read_.size(); ++b)
      part.push_back(end - read_at_ == whole ? read_[b] : slice(read_[b], infos_[b], read_at_, end));
    try {
      make_items(part, items);
    } catch (const scheduler::BudgetExceeded&) {
      chunk_->release();
      context_.blocks.trim();
      results_given_.clear();
      if (end - read_at_ <= 1) throw;
      if (controller_) controller_->too_big(extent_of(part));
      read_to_ = (end - read_at_) / 2;
      end = read_at_ + read_to_;
      continue;
    }
    read_at_ = end;
    return extent_of(part);
  }
}

/// Computes a chunk and takes its results apart.
void StageRun::make_items(const std::vector<SourceChunk>& chunks,
                          std::vector<std::vector<HostArray>>& items) {
  const std::size_t results = stage_.results.size();
  std::vector<HostArray> flat(results);
  const auto room = [&](int r, std::int64_t elements) {
    const auto& type =
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(r)])].type;
    results_given_.push_back(context_.budget.reserve("results", elements * width_of(type)));
    auto array = std::make_shared<detail::ArrayData>();
    array->scalars = type.scalars;
    array->extents = {elements};
    for (ScalarType scalar : type.scalars)
      array->buffers.push_back(context_.memory.share(
          context_.memory.take(static_cast<std::size_t>(elements) * size_of(scalar) + 64)));
    flat[static_cast<std::size_t>(r)] = std::move(array);
    std::vector<void*> addresses;
    for (const auto& b : flat[static_cast<std::size_t>(r)]->buffers) addresses.push_back(b.get());
    return addresses;
  };
  // Per result and dimension, the extents of the items.
  std::vector<std::vector<std::vector<std::int64_t>>> all_extents(results);
  if (context_.device)
    device_chunk(chunks, room, all_extents);
  else
    chunk_->execute(chunks, infos_, room);
  items.assign(static_cast<std::size_t>(chunks[0].items), std::vector<HostArray>(results));
  for (std::size_t r = 0; r < results; ++r) {
    const int number = stage_.results[r];
    const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
    auto& extents = all_extents[r];
    if (!context_.device)
      for (std::size_t d = 0; d < array.extents.size(); ++d)
        extents.push_back(chunk_->extents(number, static_cast<int>(d)));
    std::int64_t position = 0, largest = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto item = std::make_shared<detail::ArrayData>();
      item->scalars = array.type.scalars;
      for (const auto& e : extents) item->extents.push_back(e.size() == 1 ? e[0] : e[i]);
      for (std::size_t c = 0; c < item->scalars.size(); ++c) {
        auto* start = static_cast<unsigned char*>(flat[r]->buffers[c].get()) +
                      static_cast<std::size_t>(position) * size_of(item->scalars[c]);
        item->buffers.push_back(std::shared_ptr<void>(flat[r], start));
      }
      position += item->size();
      largest = std::max(largest, item->size());
      items[i][r] = std::move(item);
    }
    // Of several items, the one that is handed out is copied out of the chunk.
    if (items.size() > 1)
      results_given_.push_back(context_.budget.reserve("results", largest * width_of(array.type)));
  }
}

}  // namespace anabranch::runtime
