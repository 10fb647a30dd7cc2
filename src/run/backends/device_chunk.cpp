#include "run/backends/device_chunk.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "ir/fold_order.h"
#include "ir/offsets.h"
#include "kernel/component_use.h"
#include "run/context/rearrangement.h"
#include "run/plan_run.h"
#include "run/sources/item_range.h"

namespace anabranch::runtime {

using plan::BufferRef;
using plan::PlanArray;

namespace {

std::int64_t bytes_per(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

template <class T>
std::int64_t bytes_in(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(T));
}

bool has_rearrangements(const plan::Group& group) {
  return std::any_of(group.steps.begin(), group.steps.end(), [](const plan::Step& step) {
    return std::holds_alternative<plan::RearrangeStep>(step);
  });
}

/// Per group array and component: does a kernel read it, or is it a result?
std::vector<std::vector<bool>> read_components(const plan::StagePlan& stage) {
  std::vector<std::vector<bool>> out;
  for (const PlanArray& array : stage.group.arrays) out.emplace_back(array.type.scalars.size());
  for (const int result : stage.results) {
    std::vector<bool>& all = out[static_cast<std::size_t>(result)];
    all.assign(all.size(), true);
  }
  for (const plan::Step& step : stage.group.steps) {
    const auto read_all = [&](const std::vector<plan::RearrangeStep::Input>& inputs) {
      for (const plan::RearrangeStep::Input& input : inputs) {
        if (input.global) continue;
        std::vector<bool>& all = out[static_cast<std::size_t>(input.index)];
        all.assign(all.size(), true);
      }
    };
    if (const auto* rearrange = std::get_if<plan::RearrangeStep>(&step)) read_all(rearrange->inputs);
    if (const auto* nested = std::get_if<plan::NestedStep>(&step)) read_all(nested->inputs);
    const auto* kernel = std::get_if<plan::KernelStep>(&step);
    if (!kernel) continue;
    const kernel::ComponentUse use(kernel->kernel);
    for (std::size_t a = 0; a < kernel->kernel.arrays.size(); ++a) {
      const kernel::KernelArray& array = kernel->kernel.arrays[a];
      for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
        const BufferRef& ref = kernel->buffers[static_cast<std::size_t>(array.first_buffer) + c];
        if (!ref.global && use.of_array(a, c))
          out[static_cast<std::size_t>(ref.index)][static_cast<std::size_t>(ref.component)] = true;
      }
    }
  }
  return out;
}

}  // namespace

DeviceChunk::DeviceChunk(DeviceRun& run, RunContext& context, RunBackend& backend, const StageWork& work,
                         int slot)
    : ChunkGroup(work.stage, work.uniforms, work.names_items),
      run_(run),
      context_(context),
      backend_(backend),
      global_(work.global),
      stream_(run.device(), run.trace(), slot + 1),  // 0 is the run's own
      in_(context, run.device()),
      out_(context, run.device()),
      pieces_(context, run.device()),
      memory_(run, stream_),
      read_(read_components(work.stage)) {}

DeviceChunk::~DeviceChunk() { drop(); }

void DeviceChunk::drop() noexcept {
  if (busy_) stream_.drain();
  forget();
}

/// After the stream is done.
void DeviceChunk::forget() noexcept {
  busy_ = false;
  held_.clear();
  blocks_of_.clear();
  memory_.release();
  pieces_.release();
  release_items();
}

cuda::Address DeviceChunk::hold(const char* what, std::int64_t bytes) {
  held_.push_back(memory_.take(what, bytes));
  return held_.back().address();
}

/// Room for the next component of a group array: new, or that of the component which it overwrites.
cuda::Address DeviceChunk::add_component(std::size_t number, const char* what) {
  const PlanArray& array = stage_.group.arrays[number];
  const std::size_t component = arrays_[number].size();
  const std::int64_t width = bytes_per(array.type.scalars[component]);
  const plan::ArrayPart part = array.in_place_of.empty() ? plan::ArrayPart() : array.in_place_of[component];
  DeviceMemory memory;
  if (part.array >= 0)
    memory =
        std::move(blocks_of_[static_cast<std::size_t>(part.array)][static_cast<std::size_t>(part.component)]);
  // What stays on the device when the run has ended is not overwritten.
  if (memory.address() == 0) memory = memory_.take(what, elements(static_cast<int>(number)) * width);
  blocks_of_[number].push_back(std::move(memory));
  const cuda::Address at = blocks_of_[number].back().address();
  arrays_[number].push_back(at - static_cast<cuda::Address>(first_of(array) * width));
  return at;
}

void DeviceChunk::upload_later(cuda::Address to, const void* from, std::int64_t bytes) {
  if (bytes > 0) copies_.push_back({to, from, bytes});
}

/// Device memory for the items' data, offsets and extents.
void DeviceChunk::bind_source() {
  const plan::Group& group = stage_.group;
  blocks_of_.resize(group.arrays.size());
  arrays_.assign(group.arrays.size(), {});
  item_extents_.assign(item_chunks_.size(), {});
  device_offsets_.clear();
  wide_offsets_.clear();
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    const PlanArray& array = group.arrays[a];
    if (array.origin != PlanArray::Origin::item) continue;
    const ArrayChunk& chunk = item_chunks_[static_cast<std::size_t>(array.index)];
    for (std::size_t c = 0; c < chunk.data.size(); ++c) {
      if (!read_[a][c]) {
        blocks_of_[a].emplace_back();
        arrays_[a].push_back(0);
        continue;
      }
      const std::int64_t width = bytes_per(array.type.scalars[c]);
      const auto* data = static_cast<const std::byte*>(chunk.data[c].get());
      const auto is_resident = [&](std::int64_t first, std::int64_t count) {
        const cuda::Address at = run_.resident(data + first * width, count * width);
        if (at == 0) return false;
        blocks_of_[a].emplace_back();
        arrays_[a].push_back(at - static_cast<cuda::Address>(first * width));
        return true;
      };
      if (array.overlap) {
        const ItemRange there = stretch(chunk, *item_infos_[static_cast<std::size_t>(array.index)], items(0));
        if (is_resident(there.begin, there.items())) continue;
        blocks_of_[a].push_back(memory_.take("chunks", there.items() * width));
        const cuda::Address at = blocks_of_[a].back().address();
        arrays_[a].push_back(at - static_cast<cuda::Address>(there.begin * width));
        upload_later(at, data + there.begin * width, there.items() * width);
        continue;
      }
      if (data && is_resident(first_of(array), elements(static_cast<int>(a)))) continue;
      const std::int64_t bytes = elements(static_cast<int>(a)) * width;
      upload_later(add_component(a, "chunks"), data ? data + first_of(array) * width : nullptr, bytes);
    }
  }
  for (const plan::Step& step : group.steps) {
    const auto* kernel = std::get_if<plan::KernelStep>(&step);
    if (!kernel) continue;
    for (const BufferRef& ref : kernel->buffers) {
      const auto i = static_cast<std::size_t>(ref.index);
      if (ref.kind == BufferRef::Kind::offsets && group.descriptors[i].item >= 0) {
        if (device_offsets_.contains(ref.index)) continue;
        const Offsets& o = offsets_[i];
        const std::int64_t bytes = (items_of_descriptor(ref.index) + 1) * ir::offset_bytes(o.type);
        const cuda::Address at = device_offsets_[ref.index] = hold("chunks", bytes);
        upload_later(at, o.data, bytes);
      } else if (ref.kind == BufferRef::Kind::item_extents) {
        auto& extents = item_extents_[i];
        extents.resize(std::max(extents.size(), static_cast<std::size_t>(ref.component) + 1));
        auto& at = extents[static_cast<std::size_t>(ref.component)];
        const std::int64_t* from = item_chunks_[i].extents[static_cast<std::size_t>(ref.component)].get();
        if (at != 0) continue;
        at = hold("chunks", items(0) * 8);
        upload_later(at, from, items(0) * 8);
      }
    }
  }
}

/// Directly from page-locked memory, else through the staging memory.
void DeviceChunk::upload() {
  std::int64_t bytes = 0;
  std::vector<const Copy*> staged;
  for (const Copy& c : copies_) {
    if (run_.device()->is_page_locked(c.from, c.bytes)) {
      stream_.upload(c.to, c.from, c.bytes);
    } else {
      staged.push_back(&c);
      bytes += padded(c.bytes);
    }
  }
  in_.begin(bytes);
  for (const Copy* c : staged) in_.upload(stream_, c->to, c->from, c->bytes);
  copies_.clear();
}

void DeviceChunk::begin(const std::vector<SourceChunk>& chunks,
                        const std::vector<std::vector<ArrayInfo>>& infos) {
  drop();
  const plan::Group& group = stage_.group;
  ChunkGeometry::begin(chunks, infos);
  host_.clear();
  staged_sizes_.clear();
  copies_.clear();
  busy_ = true;
  try {
    bind_source();
    records_.assign(group.steps.size(), cuda::ErrorRecord());
    device_records_ = hold("error records", bytes_in(records_));
    upload_later(device_records_, records_.data(), bytes_in(records_));
    failures_.assign(has_rearrangements(group) ? group.steps.size() : 0, device::Failure{});
    if (!failures_.empty()) device_failures_ = hold("error records", bytes_in(failures_));
    upload_later(device_failures_, failures_.data(), bytes_in(failures_));
    upload();
  } catch (...) {
    drop();
    throw;
  }
}

void DeviceChunk::finish() {
  stream_.begin_chunk();
  try {
    run_steps();
    download();
    if (has_equal_items()) ++*context_.equal_chunks;
  } catch (...) {
    drop();
    throw;
  }
}

cuda::Address DeviceChunk::offsets_of(int descriptor) {
  const auto found = device_offsets_.find(descriptor);
  if (found != device_offsets_.end()) return found->second;
  return device_offsets_[descriptor] = reinterpret_cast<cuda::Address>(
             upload_computed(offsets_[static_cast<std::size_t>(descriptor)].own));
}

/// Room for what a step writes.
void DeviceChunk::make_arrays(int output) {
  const auto n = static_cast<std::size_t>(output);
  const PlanArray& array = stage_.group.arrays[n];
  for (std::size_t c = 0; c < array.type.scalars.size(); ++c)
    add_component(n, array.result >= 0 ? "results" : "intermediate arrays");
}

void DeviceChunk::run_step(const plan::KernelStep& step, std::size_t number) {
  for (const BufferRef& ref : step.buffers)
    if (ref.view >= 0) fetch(stage_.group.arrays[static_cast<std::size_t>(ref.view)].part, number);
  if (step.makes_outputs)
    for (const int output : step.outputs) make_arrays(output);
  const plan::EqualItems* const equal = equal_items(step);
  const std::vector<cuda::Address> buffers = bind_buffers<cuda::Address>(
      step,
      [&](const BufferRef& ref) {
        const cuda::Address at =
            ref.global
                ? run_.global(global_, ref.index, ref.component)
                : arrays_[static_cast<std::size_t>(ref.index)][static_cast<std::size_t>(ref.component)];
        return at + static_cast<cuda::Address>(bias_of(ref, equal) * bytes_per_element(ref));
      },
      [&](int descriptor) { return offsets_of(descriptor); },
      [&](std::size_t items, std::size_t dimension) { return item_extents_[items][dimension]; });
  const std::vector<std::int64_t> scalars = scalars_of(step, equal);
  if (equal) took_equal_items();
  cuda::Bindings bindings{buffers, scalars, items_of(step), positions(step)};
  if (const kernel::Row* row = kernel::row_of(step.kernel); row && !equal) bind_rows(step, *row, bindings);
  run_.launch(stream_, equal ? equal->kernel : step.kernel, bindings,
              device_records_ + number * sizeof(cuda::ErrorRecord), memory_);
}

/// Rows whose lengths differ: their elements together, and the longest of them.
void DeviceChunk::bind_rows(const plan::KernelStep& step, const kernel::Row& row, cuda::Bindings& bindings) {
  using Kind = kernel::KernelExtent::Kind;
  const auto descriptor_of = [&](int slot) { return step.buffers[static_cast<std::size_t>(slot)].index; };
  if (row.work_offsets >= 0)
    bindings.elements = shape_.descriptor_totals[static_cast<std::size_t>(descriptor_of(row.work_offsets))];
  // Where lengths are values, no row is longer than its item.
  const int offsets = row.length.kind == Kind::ragged     ? row.length.slot
                      : row.length.kind == Kind::per_item ? row.work_offsets
                                                          : -1;
  if (offsets >= 0) bindings.longest = longest(descriptor_of(offsets), context_.executor);
  // Rows longer than a block are in items that are.
  if (row.work_offsets >= 0 && bindings.longest > ir::fold_order::block)
    bindings.in_long_rows = in_long_items(descriptor_of(row.work_offsets), context_.executor);
}

/// What no later step reads: later steps may write there.
void DeviceChunk::give_back_after(std::size_t number) {
  for (std::size_t a = 0; a < blocks_of_.size(); ++a) {
    const bool is_result =
        std::find(stage_.results.begin(), stage_.results.end(), static_cast<int>(a)) != stage_.results.end();
    if (is_result || stage_.group.arrays[a].last_step != static_cast<int>(number)) continue;
    for (DeviceMemory& block : blocks_of_[a]) memory_.give_back(std::move(block));
    blocks_of_[a].clear();
  }
}

void DeviceChunk::run_step(const plan::RequireStep& step, std::size_t number) {
  if (step.array >= 0) fetch(step.array, number);
  require(step);
}

/// Offsets from the sizes of the items, by the GPU where that is quicker.
/// Waits: what comes next is allocated by their sum.
void DeviceChunk::run_step(const plan::OffsetsStep& step, std::size_t number) {
  const plan::Descriptor& descriptor = stage_.group.descriptors[static_cast<std::size_t>(step.descriptor)];
  const auto computed = [](const plan::PlanExtent& d) { return d.kind == plan::PlanExtent::Kind::per_item; };
  // Sizes that the host knows need no wait.
  if (std::any_of(descriptor.extents.begin(), descriptor.extents.end(), computed) &&
      run_.makes_offsets(items_of_descriptor(step.descriptor)) && make_offsets_on_device(step, number))
    return;
  for (const plan::PlanExtent& d : descriptor.extents)
    if (computed(d)) fetch(d.index, number);
  make_offsets(step);
}

/// False where a size is negative or too large: the host then goes through them and names the item.
bool DeviceChunk::make_offsets_on_device(const plan::OffsetsStep& step, std::size_t steps) {
  const plan::Descriptor& descriptor = stage_.group.descriptors[static_cast<std::size_t>(step.descriptor)];
  device::ItemOffsets what{};
  what.count = items(descriptor.domain);
  for (const plan::PlanExtent& d : descriptor.extents)
    what.extents[what.rank++] = device_extent(d, what.count);
  const std::int64_t bytes = (what.count + 1) * 8;
  constexpr std::int64_t totals_bytes = sizeof(device::ItemTotals);
  const cuda::Address at = hold("offsets", bytes + totals_bytes);
  what.offsets = device_pointer<std::int64_t>(at);
  what.totals = device_pointer<device::ItemTotals>(at + static_cast<cuda::Address>(bytes));
  run_.run(stream_, "offsets", fmt::format("a scan of the sizes of {} items", what.count), what, memory_);
  std::byte* const landed = pieces_.room(totals_bytes);
  stream_.download(landed, at + static_cast<cuda::Address>(bytes), totals_bytes);
  wait_for_sizes(steps);
  device::ItemTotals totals{};
  std::memcpy(&totals, landed, sizeof totals);
  if (totals.elements == device::too_many_elements) return false;
  device_offsets_[step.descriptor] = at;
  scanned(step, totals.elements, totals.longest);
  return true;
}

/// One of the items' extents, for work on the GPU.
device::ItemOffsets::Extent DeviceChunk::device_extent(const plan::PlanExtent& d, std::int64_t items) {
  if (d.same_for_all()) return {nullptr, dim(d, 0)};
  if (d.kind == plan::PlanExtent::Kind::per_item)
    return {device_pointer<const std::int64_t>(arrays_[static_cast<std::size_t>(d.index)][0]), 0};
  std::vector<std::int64_t> given;
  for (std::int64_t item = 0; item < items; ++item) given.push_back(dim(d, item));
  return {upload_computed(given), 0};
}

/// What the host has computed of this chunk: from page-locked memory, as the driver waits for the stream's work where it is
/// given other memory.
const std::int64_t* DeviceChunk::upload_computed(const std::vector<std::int64_t>& values) {
  const cuda::Address at = hold("offsets", bytes_in(values));
  stream_.upload(at, pieces_.keep(values.data(), bytes_in(values)), bytes_in(values));
  return device_pointer<const std::int64_t>(at);
}

/// Downloads item sizes that kernels among the first `steps` steps computed, and waits for them.
void DeviceChunk::fetch(int array, std::size_t steps) {
  if (host_.contains(array)) return;
  const std::int64_t items = items_of_array(array);
  std::vector<std::int64_t> values(static_cast<std::size_t>(items));
  const std::byte* landed = nullptr;
  if (items > 0) {
    std::byte* const to = pieces_.room(items * 8);
    stream_.download(to, arrays_[static_cast<std::size_t>(array)][0], items * 8);
    landed = to;
  }
  wait_for_sizes(steps);
  if (landed) std::memcpy(values.data(), landed, static_cast<std::size_t>(items) * 8);
  host_[array] = std::move(values);
}

/// Those sizes of an array's items that are values.
void DeviceChunk::fetch_sizes(int array, std::size_t steps) {
  for (const plan::PlanExtent& d : stage_.group.arrays[static_cast<std::size_t>(array)].extents)
    if (d.kind == plan::PlanExtent::Kind::per_item) fetch(d.index, steps);
}

namespace {
/// Memory of the host that a stream copies from or to. It stays until the stream is done with it, also where something fails.
struct CopiedMemory {
  explicit CopiedMemory(DeviceStream& s) : stream(s) {}
  ~CopiedMemory() { stream.drain(); }
  CopiedMemory(const CopiedMemory&) = delete;

  DeviceStream& stream;
  std::vector<std::shared_ptr<const void>> pieces;
};
}  // namespace

/// Its arguments and results go by way of the host.
void DeviceChunk::run_step(const plan::NestedStep& step, std::size_t number) {
  CopiedMemory copied(stream_);
  std::vector<HostArray> arguments{scalar_array(items(0))};
  std::vector<scheduler::Reservation> held;
  for (const plan::RearrangeStep::Input& input : step.inputs) {
    if (input.global) {
      arguments.push_back(global_.place(input.index));
      continue;
    }
    const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(input.index)];
    const std::int64_t elements = this->elements(input.index);
    HostArray& argument = arguments.emplace_back(borrowed_vector(array.type.scalars, {}, elements));
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
      const std::int64_t width = bytes_per(array.type.scalars[c]);
      held.push_back(context_.reserve("inner sequences on the host", elements * width));
      argument->buffers.push_back(
          context_.memory.share(context_.memory.take(static_cast<std::size_t>(elements * width) + 64)));
      copied.pieces.push_back(argument->buffers.back());
      const cuda::Address from = arrays_[static_cast<std::size_t>(input.index)][c] +
                                 static_cast<cuda::Address>(first_of(array) * width);
      if (elements > 0) stream_.download(argument->buffers.back().get(), from, elements * width);
    }
  }
  wait_for_sizes(number);
  const std::vector<HostArray> results =
      run_nested(context_, backend_, stage_.nested[static_cast<std::size_t>(step.number)], arguments);
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (step.outputs[r] < 0) continue;
    const auto n = static_cast<std::size_t>(step.outputs[r]);
    const PlanArray& array = stage_.group.arrays[n];
    copied.pieces.push_back(results[r]);
    for (std::size_t c = 0; c < results[r]->buffers.size(); ++c) {
      const std::int64_t bytes = results[r]->size() * bytes_per(results[r]->scalars[c]);
      blocks_of_[n].push_back(memory_.take("intermediate arrays", bytes));
      const cuda::Address at = blocks_of_[n].back().address();
      arrays_[n].push_back(at -
                           static_cast<cuda::Address>(first_of(array) * bytes_per(results[r]->scalars[c])));
      if (bytes > 0) stream_.upload(at, results[r]->buffers[c].get(), bytes);
    }
    if (array.type.rank > 0 || array.type.scalars != ir::Scalars{ScalarType::int64}) continue;
    const auto* values = static_cast<const std::int64_t*>(results[r]->buffers[0].get());
    host_[static_cast<int>(n)].assign(values, values + results[r]->size());
  }
  stream_.synchronize();
}

/// A descriptor's offsets in 64 bits.
const std::int64_t* DeviceChunk::wide_offsets_of(int descriptor) {
  const Offsets& o = offsets_[static_cast<std::size_t>(descriptor)];
  const bool of_source = stage_.group.descriptors[static_cast<std::size_t>(descriptor)].item >= 0;
  if (!of_source || (o.type == OffsetType::int64 && device_offsets_.contains(descriptor)))
    return device_pointer<const std::int64_t>(offsets_of(descriptor));
  const auto known = wide_offsets_.find(descriptor);
  if (known != wide_offsets_.end()) return known->second;
  std::vector<std::int64_t> wide;
  for (std::int64_t item = 0; item <= items_of_descriptor(descriptor); ++item)
    wide.push_back(ir::offset_at(o.data, o.type, item));
  return wide_offsets_[descriptor] = upload_computed(wide);
}

/// What parts_of is on the host.
device::Parts DeviceChunk::device_parts(int number, bool rows, std::size_t steps) {
  const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
  device::Parts parts{};
  parts.elements = elements(number);
  if (array.form == ir::Form::segmented && (!rows || array.extents.size() == 1)) {
    parts.count = items_of_array(number);
    parts.offsets = wide_offsets_of(array.descriptor);
    parts.longest = longest(array.descriptor, context_.executor);
    return parts;
  }
  fetch_sizes(number, steps);
  std::vector<std::int64_t> offsets;
  const rearrange::Parts known = parts_of(number, rows, offsets);
  parts.count = known.count;
  parts.size = parts.longest = known.size;
  for (std::int64_t part = 0; known.offsets && part < known.count; ++part)
    parts.longest = std::max(parts.longest, known.length(part));
  if (known.offsets) parts.offsets = upload_computed(offsets);
  return parts;
}

/// Where its components lie.
DevicePlacedArray DeviceChunk::placed(int number) const {
  DevicePlacedArray out;
  if (number < 0) return out;
  const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
  const std::vector<cuda::Address>& addresses = arrays_[static_cast<std::size_t>(number)];
  for (std::size_t c = 0; c < addresses.size(); ++c)
    out.components.push_back(addresses[c] +
                             static_cast<cuda::Address>(first_of(array) * bytes_per(array.type.scalars[c])));
  return out;
}

std::string DeviceChunk::why_not_on_device(const plan::RearrangeStep& step,
                                           const std::vector<DevicePlacedArray>& inputs) {
  const device::Parts& last = inputs.back().parts;
  for (const DevicePlacedArray& input : inputs) {
    std::string why = runtime::why_not_on_device(step, input.parts.elements, input.parts.count);
    if (!why.empty()) return why;
    if (input.parts.offsets != last.offsets || input.parts.size != last.size) return other_sizes;
  }
  return "";
}

void DeviceChunk::run_step(const plan::RearrangeStep& step, std::size_t number) {
  std::string why_host = run_.device()->primitives().why_not;
  if (why_host.empty()) why_host = runtime::why_not_on_device(step, 0, 0);
  std::vector<DevicePlacedArray> inputs;
  if (why_host.empty()) {
    for (const plan::RearrangeStep::Input& input : step.inputs) {
      inputs.push_back(placed(input.index));
      inputs.back().parts = device_parts(input.index, works_on_rows(step), number);
    }
    why_host = why_not_on_device(step, inputs);
  }
  for (const int output : step.outputs)
    if (output >= 0) make_arrays(output);
  if (why_host.empty()) try {
      rearrange_on_device(step, number, inputs);
    } catch (const cuda::DeviceMemoryFull& full) {
      if (items(0) > 1) throw;  // fewer are tried first
      why_host = full.what();
    }
  if (!why_host.empty()) rearrange_on_host(step, number);
  run_.count_rearrangement(std::move(why_host));
}

void DeviceChunk::rearrange_on_device(const plan::RearrangeStep& step, std::size_t number,
                                      const std::vector<DevicePlacedArray>& inputs) {
  std::vector<DevicePlacedArray> outputs;
  for (const int output : step.outputs) outputs.push_back(placed(output));
  // Of these the first one's parts are others than those of what is read.
  if (may_fail(step) && step.outputs[0] >= 0)
    outputs[0].parts = device_parts(step.outputs[0], works_on_rows(step), number);
  const DeviceRearrangement what =
      device_rearrangement(step, inputs, outputs, device_failures_ + number * sizeof(device::Failure));
  run_.run(stream_, "rearrangement", device::name_of(what.operation), what.operation, memory_);
}

/// What it reads comes from the device, what it gives goes there.
void DeviceChunk::rearrange_on_host(const plan::RearrangeStep& step, std::size_t number) {
  const bool rows = works_on_rows(step);
  CopiedMemory copied(stream_);
  std::deque<std::vector<std::int64_t>> offsets;
  std::vector<scheduler::Reservation> held;
  const auto place = [&](int array) {
    PlacedArray placed;
    if (array < 0) return placed;
    fetch_sizes(array, number);
    for (const ScalarType type : stage_.group.arrays[static_cast<std::size_t>(array)].type.scalars) {
      const std::int64_t bytes = elements(array) * bytes_per(type);
      held.push_back(context_.reserve("rearranged on the host", bytes));
      const std::shared_ptr<void> memory =
          context_.memory.share(context_.memory.take(static_cast<std::size_t>(bytes) + 64));
      copied.pieces.push_back(memory);
      placed.components.push_back(memory.get());
    }
    placed.parts = parts_of(array, rows, offsets.emplace_back());
    if (asks_for_extents(step)) placed.extents = all_extents(array);
    return placed;
  };
  const auto each_component = [&](int array, const PlacedArray& placed, auto&& copy) {
    const PlanArray& planned = stage_.group.arrays[static_cast<std::size_t>(array)];
    for (std::size_t c = 0; c < placed.components.size(); ++c) {
      const std::int64_t width = bytes_per(planned.type.scalars[c]);
      const std::int64_t bytes = elements(array) * width;
      const cuda::Address at =
          arrays_[static_cast<std::size_t>(array)][c] + static_cast<cuda::Address>(first_of(planned) * width);
      if (bytes > 0) copy(placed.components[c], at, bytes);
    }
  };
  std::vector<PlacedArray> inputs, outputs;
  for (const plan::RearrangeStep::Input& input : step.inputs) {
    inputs.push_back(place(input.index));
    each_component(input.index, inputs.back(), [&](void* to, cuda::Address from, std::int64_t bytes) {
      stream_.download(to, from, bytes);
    });
  }
  wait_for_sizes(number);
  for (const int output : step.outputs) outputs.push_back(place(output));
  run_rearrangement(context_, step, inputs, outputs, numbers());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (step.outputs[i] >= 0)
      each_component(
          step.outputs[i], outputs[i],
          [&](const void* from, cuda::Address to, std::int64_t bytes) { stream_.upload(to, from, bytes); });
  stream_.synchronize();
}

/// A size is meaningless where a check of its kernel failed, so that error comes first.
void DeviceChunk::wait_for_sizes(std::size_t steps) {
  const auto land = [&](cuda::Address from, std::int64_t bytes) -> const std::byte* {
    if (bytes == 0) return nullptr;
    std::byte* const to = pieces_.room(bytes);
    stream_.download(to, from, bytes);
    return to;
  };
  const std::size_t record_bytes = steps * sizeof(cuda::ErrorRecord),
                    failure_bytes = steps * sizeof(device::Failure);
  const std::byte* const records = land(device_records_, static_cast<std::int64_t>(record_bytes));
  const auto rearranged = [](const plan::Step& step) {
    return std::holds_alternative<plan::RearrangeStep>(step);
  };
  const auto& all = stage_.group.steps;
  const bool may_fail =
      std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(steps), rearranged);
  const std::byte* const failures =
      may_fail ? land(device_failures_, static_cast<std::int64_t>(failure_bytes)) : nullptr;
  stream_.synchronize();
  run_.check_stop();
  if (records) std::memcpy(records_.data(), records, record_bytes);
  if (failures) std::memcpy(failures_.data(), failures, failure_bytes);
  raise_first(steps);
}

void DeviceChunk::raise_first(std::size_t steps) {
  for (std::size_t s = 0; s < steps; ++s) {
    if (const auto* rearrange = std::get_if<plan::RearrangeStep>(&stage_.group.steps[s]))
      raise_failed(*rearrange, failures_[s], numbers());
    const auto* kernel = std::get_if<plan::KernelStep>(&stage_.group.steps[s]);
    if (!kernel || records_[s].failed == 0) continue;
    const auto position = static_cast<std::int64_t>(records_[s].position);
    fetch_offsets(kernel->positions);
    raise_failed(kernel->kernel, records_[s], number_of(item_at(*kernel, position)));
  }
}

/// Downloads the offsets of items that the GPU has made.
void DeviceChunk::fetch_offsets(const plan::PlanLayout& of) {
  if (of.form != ir::Form::segmented) return;
  Offsets& o = offsets_[static_cast<std::size_t>(of.descriptor)];
  if (o.data) return;
  const std::int64_t items = items_of_descriptor(of.descriptor);
  o.own.resize(static_cast<std::size_t>(items) + 1);
  stream_.download(o.own.data(), device_offsets_.at(of.descriptor), (items + 1) * 8);
  stream_.synchronize();
  o.data = o.own.data();
}

/// Arrays of item sizes that decide the shapes of results and have not been downloaded yet.
std::vector<int> DeviceChunk::sizes_of_results() const {
  std::vector<int> out;
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    if (!shapes_matter(r)) continue;
    for (const plan::PlanExtent& d : stage_.group.arrays[static_cast<std::size_t>(stage_.results[r])].extents)
      if (d.kind == plan::PlanExtent::Kind::per_item && !host_.contains(d.index) &&
          std::find(out.begin(), out.end(), d.index) == out.end())
        out.push_back(d.index);
  }
  return out;
}

bool DeviceChunk::knows_values(int array) const {
  return host_.contains(array) || staged_sizes_.contains(array);
}

const std::int64_t* DeviceChunk::values(int array) const {
  const auto known = host_.find(array);
  return known != host_.end() ? known->second.data() : staged_sizes_.at(array);
}

/// Enqueues the download of results, their items' sizes and error records into page-locked memory.
void DeviceChunk::download() {
  const std::vector<int> sizes = sizes_of_results();
  std::int64_t bytes = padded(bytes_in(records_)) + padded(bytes_in(failures_));
  for (const int array : sizes) bytes += padded(items_of_array(array) * 8);
  for (const int array : stage_.results)
    for (ScalarType s : stage_.group.arrays[static_cast<std::size_t>(array)].type.scalars)
      bytes += padded(elements(array) * bytes_per(s));
  out_.begin(bytes);
  staged_.assign(stage_.results.size(), {});
  const auto stage = [&](cuda::Address from, std::int64_t size) {
    std::byte* const to = out_.take(size);
    if (size > 0) stream_.download(to, from, size);
    return to;
  };
  staged_records_ = stage(device_records_, bytes_in(records_));
  staged_failures_ = stage(device_failures_, bytes_in(failures_));
  for (const int array : sizes) {
    const std::byte* to = stage(arrays_[static_cast<std::size_t>(array)][0], items_of_array(array) * 8);
    staged_sizes_[array] = reinterpret_cast<const std::int64_t*>(to);
  }
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    const auto n = static_cast<std::size_t>(stage_.results[r]);
    const PlanArray& array = stage_.group.arrays[n];
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
      const std::int64_t size = elements(stage_.results[r]) * bytes_per(array.type.scalars[c]);
      // An item as it is may lie in an array that stays.
      const std::int64_t first = first_of(array) * bytes_per(array.type.scalars[c]);
      const cuda::Address own = blocks_of_[n][c].address();
      staged_[r].push_back(stage(own != 0 ? own : arrays_[n][c] + static_cast<cuda::Address>(first), size));
    }
  }
}

PartResults DeviceChunk::complete() {
  try {
    stream_.synchronize();
    run_.check_stop();
    if (!records_.empty())
      std::memcpy(records_.data(), staged_records_, static_cast<std::size_t>(bytes_in(records_)));
    if (!failures_.empty())
      std::memcpy(failures_.data(), staged_failures_, static_cast<std::size_t>(bytes_in(failures_)));
    raise_first(records_.size());
    PartResults out = results();
    forget();
    return out;
  } catch (...) {
    drop();
    throw;
  }
}

PartResults DeviceChunk::results() const {
  PartResults out;
  out.shape = shape_of_results();
  for (std::size_t r = 0; r < stage_.results.size(); ++r)
    out.components.emplace_back(staged_[r].begin(), staged_[r].end());
  return out;
}

}  // namespace anabranch::runtime
