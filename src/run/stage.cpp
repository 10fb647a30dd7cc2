#include "run/stage.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include <unistd.h>

#include <fmt/format.h>

#include "cpu/launch.h"

namespace anabranch {

using plan::BufferRef;
using plan::Dim;
using plan::PlanArray;

bool outgrows_caches(std::int64_t bytes) {
  static const std::int64_t last_level = [] {
    const std::int64_t told = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return told > 0 ? told : std::int64_t{32} << 20;
  }();
  return bytes > last_level / 2;
}

void launch_kernel(RunContext& context, const plan::Kernel& kernel, const std::vector<void*>& buffers,
                   const std::vector<std::int64_t>& scalars, std::int64_t items, bool from_memory) {
  const cpu::CompiledKernel& code = *context.kernels.at(&kernel);
  const auto check_stop = [&] {
    if (context.options.stop.stop_requested()) throw Cancelled("the run was cancelled");
  };
  check_stop();
  cpu::launch(kernel, code, {buffers, scalars, items, from_memory},
              [&](std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
                context.executor.parallel_for(pieces, [&](std::int64_t i) {
                  check_stop();
                  piece(i);
                });
              });
}

// ---- ResultCollector

namespace {
std::int64_t width_of(const ir::ArrayType& type) {
  std::int64_t width = 0;
  for (ScalarType s : type.scalars) width += static_cast<std::int64_t>(size_of(s));
  return width;
}
}  // namespace

ResultCollector::ResultCollector(RunContext& context, const PlanArray& array, ir::Op terminal,
                                 std::int64_t expected_elements)
    : array_(array),
      terminal_(terminal),
      reservation_(context.budget.reserve("results", expected_elements * width_of(array.type))) {
  for (ScalarType s : array.type.scalars)
    buffers_.emplace_back(context.pages, static_cast<std::size_t>(expected_elements) * size_of(s) + 64);
  extents_.resize(array.extents.size());
}

std::vector<void*> ResultCollector::room(std::int64_t elements) {
  const std::int64_t bytes = (elements_ + elements) * width_of(array_.type);
  if (bytes > reservation_.bytes()) reservation_.resize(bytes);
  std::vector<void*> addresses;
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    addresses.push_back(
        buffers_[c].room(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c])));
  return addresses;
}

void ResultCollector::commit(std::int64_t elements) {
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    buffers_[c].commit(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c]));
  elements_ += elements;
}

void ResultCollector::add_items(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents) {
  if (terminal_ == ir::Op::tabulate && items > 0) {
    for (std::size_t d = 0; d < extents_.size(); ++d) {
      auto& mine = extents_[d];
      const auto& theirs = extents[d];
      const bool one =
          std::all_of(theirs.begin(), theirs.end(), [&](std::int64_t e) { return e == theirs[0]; });
      if (items_ == 0 && one) {
        mine = {theirs[0]};
        continue;
      }
      if (one && mine.size() == 1 && mine[0] == theirs[0]) continue;
      if (mine.size() == 1 && items_ != 1) mine.assign(static_cast<std::size_t>(items_), mine[0]);
      if (theirs.size() == 1)
        mine.insert(mine.end(), static_cast<std::size_t>(items), theirs[0]);
      else
        mine.insert(mine.end(), theirs.begin(), theirs.end());
    }
  }
  items_ += items;
}

HostArray ResultCollector::finish() {
  return terminal_ == ir::Op::tabulate ? finish_tabulate() : finish_elements();
}

HostArray ResultCollector::finish_elements() {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = {elements_};
  for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
  return array;
}

// Items were stored compactly, each in its own shape. If all shapes agree that is already the answer; else
// every item's rows are copied into the common, smallest shape, once, at the end.
HostArray ResultCollector::finish_tabulate() {
  const std::size_t rank = extents_.size();
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = {items_};
  bool same = true;
  for (const auto& e : extents_) {
    array->extents.push_back(items_ == 0 ? 0 : *std::min_element(e.begin(), e.end()));
    same =
        same && (items_ == 0 || std::all_of(e.begin(), e.end(), [&](std::int64_t v) { return v == e[0]; }));
  }
  if (same) {
    for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
    return array;
  }
  const std::vector<std::int64_t> trimmed(array->extents.begin() + 1, array->extents.end());
  const std::int64_t size =
      std::accumulate(trimmed.begin(), trimmed.end(), std::int64_t{1}, std::multiplies<>());
  reservation_.resize(reservation_.bytes() + items_ * size * width_of(array_.type));
  const auto extent = [&](std::size_t d, std::int64_t item) {
    return extents_[d].size() == 1 ? extents_[d][0] : extents_[d][static_cast<std::size_t>(item)];
  };
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const std::size_t width = size_of(array_.type.scalars[c]);
    auto memory = detail::allocate_aligned(static_cast<std::size_t>(items_ * size) * width);
    auto* to = static_cast<unsigned char*>(memory.get());
    const auto* from = static_cast<const unsigned char*>(buffers_[c].data());
    const std::int64_t row = trimmed.back();
    const std::int64_t rows = row == 0 ? 0 : size / row;
    for (std::int64_t item = 0; item < items_; ++item) {
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < rank; ++d) elements *= extent(d, item);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t position = 0, rest = r;
        std::vector<std::int64_t> ix(rank, 0);
        for (std::size_t d = rank - 1; d-- > 0;) {
          ix[d] = rest % trimmed[d];
          rest /= trimmed[d];
        }
        for (std::size_t d = 0; d < rank; ++d) position = position * extent(d, item) + ix[d];
        std::memcpy(to, from + static_cast<std::size_t>(position) * width,
                    static_cast<std::size_t>(row) * width);
        to += static_cast<std::size_t>(row) * width;
      }
      from += static_cast<std::size_t>(elements) * width;
    }
    array->buffers.push_back(std::move(memory));
  }
  return array;
}

// ---- ChunkRun

ChunkRun::ChunkRun(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
                   const std::vector<std::int64_t>& uniforms, bool from_memory)
    : context_(context), stage_(stage), global_(global), from_memory_(from_memory) {
  shape_.uniforms = uniforms;
}
ChunkRun::~ChunkRun() { release(); }

void ChunkRun::release() {
  for (auto& blocks : blocks_of_) {
    for (void* b : blocks) context_.blocks.give(b);
    blocks.clear();
  }
}

void ChunkRun::bind_items(const std::vector<SourceChunk>& chunks,
                          const std::vector<std::vector<ArrayInfo>>& infos) {
  item_chunks_.clear();
  item_infos_.clear();
  for (std::size_t b = 0; b < chunks.size(); ++b)
    for (std::size_t a = 0; a < chunks[b].arrays.size(); ++a) {
      item_chunks_.push_back(&chunks[b].arrays[a]);
      item_infos_.push_back(&infos[b][a]);
    }
  const plan::Group& group = stage_.group;
  for (std::size_t d = 0; d < group.descriptors.size(); ++d) {
    const int item = group.descriptors[d].item;
    if (item < 0) continue;
    const auto i = static_cast<std::size_t>(item);
    Offsets& o = offsets_[d];
    o.data = item_chunks_[i]->offsets.get();
    o.type = item_infos_[i]->offsets;
    o.first = offset_at(*item_chunks_[i], o.type, 0);
    shape_.descriptor_totals[d] = offset_at(*item_chunks_[i], o.type, shape_.items) - o.first;
  }
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    if (group.arrays[a].origin != PlanArray::Origin::item) continue;
    arrays_[a].clear();
    for (const auto& data : item_chunks_[static_cast<std::size_t>(group.arrays[a].index)]->data)
      arrays_[a].push_back(const_cast<void*>(data.get()));
  }
}

void ChunkRun::execute(const std::vector<SourceChunk>& chunks,
                       const std::vector<std::vector<ArrayInfo>>& infos, const ResultRoom& result) {
  const plan::Group& group = stage_.group;
  release();
  shape_.items = chunks[0].items;
  shape_.descriptor_totals.assign(group.descriptors.size(), 0);
  arrays_.resize(group.arrays.size());
  blocks_of_.resize(group.arrays.size());
  offsets_.resize(group.descriptors.size());
  bind_items(chunks, infos);
  for (std::size_t s = 0; s < group.steps.size(); ++s) {
    const plan::Step& step = group.steps[s];
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
      run_kernel(*kernel, result);
    else if (const auto* scan = std::get_if<plan::ScanStep>(&step))
      run_scan(*scan);
    else if (const auto* require = std::get_if<plan::RequireStep>(&step))
      run_require(*require);
    free_after(static_cast<int>(s));
  }
}

void ChunkRun::free_after(int step) {
  for (std::size_t a = 0; a < blocks_of_.size(); ++a) {
    if (stage_.group.arrays[a].last_step != step || blocks_of_[a].empty()) continue;
    for (void* b : blocks_of_[a]) context_.blocks.give(b);
    blocks_of_[a].clear();
  }
}

void ChunkRun::allocate(int number, const ResultRoom& result) {
  const auto n = static_cast<std::size_t>(number);
  const PlanArray& array = stage_.group.arrays[n];
  const std::int64_t elements = plan::elements_of(stage_.group, array, shape_);
  if (array.result >= 0) {
    arrays_[n] = result(array.result, elements);
  } else {
    arrays_[n].clear();
    for (ScalarType s : array.type.scalars) {
      void* block = context_.blocks.take(elements * static_cast<std::int64_t>(size_of(s)));
      blocks_of_[n].push_back(block);
      arrays_[n].push_back(block);
    }
  }
  if (array.form != ir::Form::segmented) return;
  // Under a source's offsets positions are counted from offsets[0], which need not be 0.
  const std::int64_t first = offsets_[static_cast<std::size_t>(array.descriptor)].first;
  for (std::size_t c = 0; c < arrays_[n].size(); ++c)
    arrays_[n][c] =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(arrays_[n][c]) -
                                static_cast<std::uintptr_t>(first) * size_of(array.type.scalars[c]));
}

void ChunkRun::run_kernel(const plan::KernelStep& step, const ResultRoom& result) {
  allocate(step.output, result);
  std::vector<void*> buffers;
  buffers.reserve(step.buffers.size());
  for (const BufferRef& ref : step.buffers) {
    const auto i = static_cast<std::size_t>(ref.index);
    const auto c = static_cast<std::size_t>(ref.component);
    switch (ref.kind) {
      case BufferRef::Kind::array:
        buffers.push_back(ref.global ? global_.array(ref.index)->buffers[c].get() : arrays_[i][c]);
        break;
      case BufferRef::Kind::offsets:
        buffers.push_back(const_cast<void*>(offsets_[i].data));
        break;
      case BufferRef::Kind::item_extents:
        buffers.push_back(const_cast<std::int64_t*>(item_chunks_[i]->extents[c].get()));
        break;
    }
  }
  std::vector<std::int64_t> scalars;
  for (int uniform : step.scalars) scalars.push_back(shape_.uniforms[static_cast<std::size_t>(uniform)]);
  launch_kernel(context_, step.kernel, buffers, scalars, shape_.items, from_memory_);
}

std::int64_t ChunkRun::dim(const Dim& d, std::int64_t item) const {
  switch (d.kind) {
    case Dim::Kind::constant:
      return d.value;
    case Dim::Kind::uniform:
      return shape_.uniforms[static_cast<std::size_t>(d.index)];
    case Dim::Kind::per_item:
      return static_cast<const std::int64_t*>(arrays_[static_cast<std::size_t>(d.index)][0])[item];
    case Dim::Kind::item_extent:
      break;
  }
  const auto i = static_cast<std::size_t>(d.index);
  const ArrayInfo& info = *item_infos_[i];
  const ArrayChunk& chunk = *item_chunks_[i];
  const auto dimension = static_cast<std::size_t>(d.dimension);
  if (!info.ragged()) return chunk.extents[dimension].get()[item];
  std::int64_t inner = 1;
  for (std::size_t k = 1; k < info.extents.size(); ++k) inner *= *info.extents[k];
  const std::int64_t elements =
      offset_at(chunk, info.offsets, item + 1) - offset_at(chunk, info.offsets, item);
  return inner == 0 ? 0 : elements / inner;
}

void ChunkRun::run_scan(const plan::ScanStep& step) {
  const auto d = static_cast<std::size_t>(step.descriptor);
  const plan::Descriptor& descriptor = stage_.group.descriptors[d];
  Offsets& out = offsets_[d];
  out.own.resize(static_cast<std::size_t>(shape_.items) + 1);
  std::int64_t total = 0;
  for (std::int64_t item = 0; item < shape_.items; ++item) {
    out.own[static_cast<std::size_t>(item)] = total;
    std::int64_t size = 1;
    for (const Dim& e : descriptor.extents) {
      const std::int64_t extent = dim(e, item);
      if (extent < 0)
        throw RunError(
            fmt::format("{}: negative extent {} ({})", descriptor.what, extent, to_string(descriptor.place)));
      if (__builtin_mul_overflow(size, extent, &size))
        throw RunError(fmt::format("{}: the size of an item overflows ({})", descriptor.what,
                                   to_string(descriptor.place)));
    }
    if (__builtin_add_overflow(total, size, &total) || total > INT64_MAX / 64)
      throw RunError(fmt::format("{}: the size of a chunk overflows ({})", descriptor.what,
                                 to_string(descriptor.place)));
  }
  out.own.back() = total;
  out.data = out.own.data();
  out.type = OffsetType::int64;
  out.first = 0;
  shape_.descriptor_totals[d] = total;
}

void ChunkRun::run_require(const plan::RequireStep& step) {
  std::string numbers;
  if (step.array >= 0) {
    const auto* values = static_cast<const std::int64_t*>(arrays_[static_cast<std::size_t>(step.array)][0]);
    const auto* bad = std::find_if(values, values + shape_.items, [](std::int64_t v) { return v != 0; });
    if (bad == values + shape_.items) return;
    numbers = *bad > 0 ? fmt::format("{} more", *bad) : fmt::format("{} fewer", -*bad);
  } else {
    const auto uniform = [&](int u) { return shape_.uniforms[static_cast<std::size_t>(u)]; };
    if (uniform(step.uniform) == 0) return;
    numbers = fmt::format("{} instead of {}", uniform(step.wanted), uniform(step.given));
  }
  throw RunError(fmt::format("{}: {} ({})", step.what, numbers, to_string(step.place)));
}

std::int64_t ChunkRun::elements(int array) const {
  return plan::elements_of(stage_.group, stage_.group.arrays[static_cast<std::size_t>(array)], shape_);
}

std::vector<std::int64_t> ChunkRun::extents(int array, int dimension) const {
  const Dim& d =
      stage_.group.arrays[static_cast<std::size_t>(array)].extents[static_cast<std::size_t>(dimension)];
  if (d.uniform()) return {dim(d, 0)};
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape_.items));
  for (std::int64_t i = 0; i < shape_.items; ++i) values[static_cast<std::size_t>(i)] = dim(d, i);
  return values;
}

// ---- StageRun

StageRun::StageRun(RunContext& context, int stage, GlobalValues& global)
    : context_(context), stage_(context.plan.stages[static_cast<std::size_t>(stage)]), global_(global) {
  for (std::size_t b = 0; b < stage_.bases.size(); ++b) {
    const ir::Node& node = *stage_.bases[b].node;
    if (node.op() == ir::Op::stream_in) {
      const ir::Ref& reader = stage_.terminals[0].consume;
      passes_.emplace_back(node.payload().source,
                           reader && reader->place().known() ? reader->place() : node.place());
      sources_.push_back(node.payload().source);
    } else if (node.op() == ir::Op::produce) {
      const std::int64_t count = global_.uniform(stage_.base_inputs[b]);
      if (count < 0) throw RunError(fmt::format("produce: {} items ({})", count, to_string(node.place())));
      sources_.push_back(make_counter(count));
    } else {
      sources_.push_back(make_rows(global_.array(stage_.base_inputs[b])));
    }
    infos_.push_back(sources_.back()->info().arrays);
  }
  zipped_ = std::make_unique<ZippedSources>(sources_);
  resident_ = context_.budget.reserve("sources", zipped_->resident_bytes());

  for (const ir::Ref& e : stage_.group.uniforms) uniforms_.push_back(evaluate_uniform(e, global_));
  std::int64_t element = 0;
  for (const auto& arrays : infos_)
    for (const ArrayInfo& array : arrays)
      for (ScalarType s : array.scalars) element += static_cast<std::int64_t>(size_of(s));
  const bool from_memory = zipped_->in_memory() &&
                           outgrows_caches(std::min(zipped_->work().value_or(0), INT64_MAX / 1024) * element);
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

std::vector<HostArray> StageRun::run() {
  const auto total_items = zipped_->items();
  collectors_.resize(stage_.results.size());
  for (const auto& t : stage_.terminals) {
    auto& collector = collectors_[static_cast<std::size_t>(t.result)];
    const PlanArray& array =
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(t.result)])];
    std::int64_t expected = 0;
    if (array.form == ir::Form::regular && total_items) {
      plan::ChunkShape shape{*total_items, uniforms_, {}};
      expected = plan::elements_of(stage_.group, array, shape);
    }
    try {
      if (!collector) collector = std::make_unique<ResultCollector>(context_, array, t.kind, expected);
    } catch (const ResourceError& e) {
      throw ResourceError(fmt::format("results of {}: {} ({})", array.node->label(), e.what(),
                                      to_string(array.node->place())));
    }
  }

  struct Slot {
    std::vector<SourceChunk> chunks;
    scheduler::Reservation reservation;
  };
  scheduler::RunOptions options;
  options.policy = scheduler::parse_policy(context_.options.scheduler);
  options.stop = context_.options.stop;
  if (total_items) options.total = scheduler::Extent{*total_items, zipped_->work().value_or(0), 0};
  const bool bounded = !context_.budget.unlimited();
  bool intermediates = false;
  for (const PlanArray& a : stage_.group.arrays)
    intermediates = intermediates || (a.origin == PlanArray::Origin::computed && a.result < 0);
  bool known_results = true;
  for (const auto& t : stage_.terminals)
    known_results =
        known_results && total_items &&
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(t.result)])]
                .form == ir::Form::regular;
  if (bounded) {
    // What is left belongs to the ring, less a part for intermediate arrays and for results whose size nobody
    // knows yet.
    std::int64_t left = context_.budget.available();
    if (intermediates) left /= 2;
    if (!known_results) left /= 2;
    options.memory_limit = std::max<std::int64_t>(left, 1);
  }

  std::vector<Slot> slots(static_cast<std::size_t>(options.max_ring));
  std::vector<SourceChunk> pending;  // read, but waiting for memory
  std::atomic<int> in_flight = 0;
  scheduler::Stages stages;
  stages.read = [&](int s, const scheduler::Target& target) -> std::optional<scheduler::Extent> {
    Slot& slot = slots[static_cast<std::size_t>(s)];
    if (!pending.empty()) {
      slot.chunks = std::exchange(pending, {});
    } else {
      const bool alone = in_flight == 0;
      const std::int64_t left = context_.budget.available();
      const std::int64_t bytes = std::max<std::int64_t>(1, std::min(target.bytes, left));
      try {
        if (!zipped_->next(Limit{target.items, bytes, target.work, left}, slot.chunks)) return std::nullopt;
      } catch (const ItemTooBig& e) {
        if (alone) throw;
        throw scheduler::ChunkTooBig("an item waits for memory", scheduler::Extent{1, 0, e.bytes()});
      }
    }
    scheduler::Extent extent{slot.chunks[0].items, 0, 0};
    for (const SourceChunk& c : slot.chunks) {
      extent.work += c.work;
      extent.bytes += c.bytes;
    }
    auto reservation = context_.budget.try_reserve("chunks", extent.bytes);
    if (!reservation && in_flight > 0) {
      // It is read, but other chunks hold the memory: it waits until they are gone and then travels alone.
      pending = std::exchange(slot.chunks, {});
      throw scheduler::ChunkTooBig("a chunk waits for memory",
                                   scheduler::Extent{1, extent.work, extent.bytes});
    }
    slot.reservation =
        reservation ? std::move(*reservation) : context_.budget.reserve("chunks", extent.bytes);
    ++in_flight;
    return extent;
  };
  stages.compute = [&](int s) { compute(slots[static_cast<std::size_t>(s)].chunks); };
  stages.write = [&](int s) {
    slots[static_cast<std::size_t>(s)].chunks.clear();
    slots[static_cast<std::size_t>(s)].reservation.release();
    --in_flight;
  };
  stages.inline_read = zipped_->in_memory();
  stages.inline_write = true;
  // What is read into buffers is computed on while the cache still holds it: larger chunks would go through
  // memory twice, and through new pages, and gain nothing, as fixed costs are long negligible.
  constexpr std::int64_t chunk_in_cache = std::int64_t{8} << 20;
  if (!zipped_->in_memory())
    options.memory_limit = std::min(
        options.memory_limit, chunk_in_cache * scheduler::ring_slots(context_.executor, stages, options));

  scheduler::Trace trace;
  Progress progress;
  progress.total_items = total_items;
  trace.on_chunk([&](const scheduler::ChunkRecord& record) {
    progress.items += record.extent.items;
    ++progress.chunks;
    if (context_.options.progress) context_.options.progress(progress);
  });
  options.trace = &trace;
  const scheduler::RunResult result = scheduler::run_pipeline(context_.executor, stages, options);
  if (result.cancelled) throw Cancelled("the run was cancelled");
  chunk_->release();

  if (RunReport* report = context_.report) {
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
  for (const auto& t : stage_.terminals) {
    auto& array = finished[static_cast<std::size_t>(t.result)];
    if (!array) array = collectors_[static_cast<std::size_t>(t.result)]->finish();
    results.push_back(array);
  }
  return results;
}

bool StageRun::next_chunk(std::vector<std::vector<HostArray>>& items) {
  items.clear();
  std::vector<SourceChunk> chunks;
  // Small enough that a reader who stops early has paid for little, large enough to use the machine.
  constexpr std::int64_t work_of_a_chunk = 1 << 18;
  given_.clear();
  const std::int64_t bytes =
      context_.budget.unlimited() ? INT64_MAX : std::max<std::int64_t>(1, context_.budget.available() / 4);
  if (!zipped_->next(Limit{INT64_MAX, bytes, work_of_a_chunk, context_.budget.available()}, chunks))
    return false;
  for (const SourceChunk& c : chunks) given_.push_back(context_.budget.reserve("chunks", c.bytes));
  const std::size_t results = stage_.results.size();
  std::vector<HostArray> flat(results);
  chunk_->execute(chunks, infos_, [&](int r, std::int64_t elements) {
    const auto& type =
        stage_.group.arrays[static_cast<std::size_t>(stage_.results[static_cast<std::size_t>(r)])].type;
    given_.push_back(context_.budget.reserve("results", elements * width_of(type)));
    flat[static_cast<std::size_t>(r)] =
        detail::allocate_array(type.scalars, std::vector<std::int64_t>{elements});
    std::vector<void*> addresses;
    for (const auto& b : flat[static_cast<std::size_t>(r)]->buffers) addresses.push_back(b.get());
    return addresses;
  });
  items.assign(static_cast<std::size_t>(chunks[0].items), std::vector<HostArray>(results));
  for (std::size_t r = 0; r < results; ++r) {
    const int number = stage_.results[r];
    const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
    std::vector<std::vector<std::int64_t>> extents;
    for (std::size_t d = 0; d < array.extents.size(); ++d)
      extents.push_back(chunk_->extents(number, static_cast<int>(d)));
    std::int64_t position = 0;
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
      items[i][r] = std::move(item);
    }
  }
  chunk_->release();
  return true;
}

}  // namespace anabranch
