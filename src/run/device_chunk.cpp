#include "run/device_chunk.h"

#include <algorithm>
#include <cstring>

namespace anabranch {

using plan::BufferRef;
using plan::PlanArray;

namespace {

constexpr std::int64_t staging_align = 256;
std::int64_t padded(std::int64_t bytes) {
  return (bytes + staging_align - 1) / staging_align * staging_align;
}

std::int64_t bytes_per(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

}  // namespace

void copy_on_all_threads(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  const std::int64_t pieces = (bytes + piece - 1) / piece;
  const auto one = [&](std::int64_t i) {
    const std::int64_t begin = i * piece;
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(std::min(piece, bytes - begin)));
  };
  if (pieces == 1)
    one(0);
  else
    executor.parallel_for(pieces, one);
}

// ---- Staging

void DeviceChunk::Staging::begin(const std::shared_ptr<cuda::Device>& device, std::int64_t bytes) {
  used_ = 0;
  if (bytes <= block_.bytes()) return;
  release();
  const std::int64_t grown = padded(bytes + bytes / 8);
  if (auto roomy = context_.budget.try_reserve("staging for the GPU", grown)) {
    reservation_ = std::move(*roomy);
  } else {
    reservation_ = context_.budget.reserve("staging for the GPU", padded(bytes));
  }
  block_ = cuda::PinnedBlock(device, reservation_.bytes());
}

void DeviceChunk::Staging::release() {
  block_ = cuda::PinnedBlock();
  reservation_.release();
}

std::byte* DeviceChunk::Staging::take(std::int64_t bytes) {
  std::byte* at = block_.data() + used_;
  used_ += padded(bytes);
  return at;
}

// ---- DeviceChunk

DeviceChunk::DeviceChunk(DeviceRun& run, RunContext& context, const plan::StagePlan& stage,
                         GlobalValues& global, const std::vector<std::int64_t>& uniforms, int slot)
    : ChunkGeometry(stage, uniforms),
      run_(run),
      context_(context),
      global_(global),
      stream_(run.device(), run.trace(), slot + 1),  // 0 is the run's own
      in_(context),
      out_(context) {}

DeviceChunk::~DeviceChunk() { drop(); }

void DeviceChunk::drop() noexcept {
  if (busy_ || !held_.empty()) stream_.drain();
  busy_ = false;
  held_.clear();
}

cuda::Address DeviceChunk::hold(const char* what, std::int64_t bytes) {
  held_.push_back(run_.allocate(what, bytes));
  return held_.back().address();
}

cuda::Address DeviceChunk::upload_later(const void* from, std::int64_t bytes) {
  const cuda::Address to = hold("chunks", bytes);
  if (bytes > 0) copies_.push_back({to, from, bytes});
  return to;
}

/// Device places for the items' data, offsets and extents.
void DeviceChunk::bind_source() {
  const plan::Group& group = stage_.group;
  arrays_.assign(group.arrays.size(), {});
  item_extents_.assign(item_chunks_.size(), {});
  device_offsets_.clear();
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    const PlanArray& array = group.arrays[a];
    if (array.origin != PlanArray::Origin::item) continue;
    const std::int64_t first =
        array.form == ir::Form::segmented ? offsets_[static_cast<std::size_t>(array.descriptor)].first : 0;
    const ArrayChunk& chunk = *item_chunks_[static_cast<std::size_t>(array.index)];
    for (std::size_t c = 0; c < chunk.data.size(); ++c) {
      const std::int64_t width = bytes_per(array.type.scalars[c]);
      const auto* data = static_cast<const std::byte*>(chunk.data[c].get());
      const cuda::Address at =
          upload_later(data ? data + first * width : nullptr, elements(static_cast<int>(a)) * width);
      arrays_[a].push_back(at - static_cast<cuda::Address>(first * width));
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
        device_offsets_[ref.index] =
            upload_later(o.data, (shape_.items + 1) * (o.type == OffsetType::int32 ? 4 : 8));
      } else if (ref.kind == BufferRef::Kind::item_extents) {
        auto& extents = item_extents_[i];
        extents.resize(std::max(extents.size(), static_cast<std::size_t>(ref.component) + 1));
        auto& at = extents[static_cast<std::size_t>(ref.component)];
        const std::int64_t* from = item_chunks_[i]->extents[static_cast<std::size_t>(ref.component)].get();
        if (at == 0) at = upload_later(from, shape_.items * 8);
      }
    }
  }
}

void DeviceChunk::upload() {
  std::int64_t bytes = 0;
  for (const Copy& c : copies_) bytes += padded(c.bytes);
  in_.begin(run_.device(), bytes);
  for (const Copy& c : copies_) {
    std::byte* staged = in_.take(c.bytes);
    copy_on_all_threads(context_.executor, staged, c.from, c.bytes);
    stream_.upload(c.to, staged, c.bytes);
  }
  copies_.clear();
}

void DeviceChunk::enqueue(const std::vector<SourceChunk>& chunks,
                          const std::vector<std::vector<ArrayInfo>>& infos) {
  drop();
  const plan::Group& group = stage_.group;
  begin(chunks, infos);
  host_.clear();
  copies_.clear();
  try {
    bind_source();
    upload();
    records_ = fresh_records(group.steps.size());
    const auto record_bytes = static_cast<std::int64_t>(records_.size() * sizeof(cuda::ErrorRecord));
    device_records_ = hold("error records", record_bytes);
    busy_ = true;
    if (record_bytes > 0) stream_.upload(device_records_, records_.data(), record_bytes);
    for (std::size_t s = 0; s < group.steps.size(); ++s) {
      const plan::Step& step = group.steps[s];
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) {
        run_kernel(*kernel, s);
      } else if (const auto* scan_step = std::get_if<plan::ScanStep>(&step)) {
        bring_sizes(group.descriptors[static_cast<std::size_t>(scan_step->descriptor)], s);
        scan(*scan_step);
      } else if (const auto* condition = std::get_if<plan::RequireStep>(&step)) {
        if (condition->array >= 0) fetch(condition->array, s);
        require(*condition);
      }
    }
    download();
  } catch (...) {
    drop();
    throw;
  }
}

cuda::Address DeviceChunk::offsets_of(int descriptor) {
  const auto found = device_offsets_.find(descriptor);
  if (found != device_offsets_.end()) return found->second;
  const Offsets& o = offsets_[static_cast<std::size_t>(descriptor)];
  const auto bytes = static_cast<std::int64_t>(o.own.size() * sizeof(std::int64_t));
  const cuda::Address at = hold("offsets", bytes);
  stream_.upload(at, o.own.data(), bytes);  // `own` stays as it is until the next chunk
  return device_offsets_[descriptor] = at;
}

void DeviceChunk::run_kernel(const plan::KernelStep& step, std::size_t record) {
  const auto n = static_cast<std::size_t>(step.output);
  const PlanArray& array = stage_.group.arrays[n];
  const std::int64_t positions = elements(step.output);
  const std::int64_t first =
      array.form == ir::Form::segmented ? offsets_[static_cast<std::size_t>(array.descriptor)].first : 0;
  arrays_[n].clear();
  for (ScalarType s : array.type.scalars) {
    const cuda::Address at =
        hold(array.result >= 0 ? "results" : "intermediate arrays", positions * bytes_per(s));
    arrays_[n].push_back(at - static_cast<cuda::Address>(first * bytes_per(s)));
  }
  std::vector<cuda::Address> buffers;
  for (const BufferRef& ref : step.buffers) {
    const auto i = static_cast<std::size_t>(ref.index);
    const auto c = static_cast<std::size_t>(ref.component);
    switch (ref.kind) {
      case BufferRef::Kind::array:
        buffers.push_back(ref.global ? run_.global(global_, ref.index, ref.component) : arrays_[i][c]);
        break;
      case BufferRef::Kind::offsets:
        buffers.push_back(offsets_of(ref.index));
        break;
      case BufferRef::Kind::item_extents:
        buffers.push_back(item_extents_[i][c]);
        break;
    }
  }
  std::vector<std::int64_t> scalars;
  for (int uniform : step.scalars) scalars.push_back(shape_.uniforms[static_cast<std::size_t>(uniform)]);
  cuda::Bindings bindings{buffers, scalars, shape_.items, positions, -1};
  const plan::Kernel& kernel = step.kernel;
  if (kernel.skeleton == plan::Skeleton::fold) {
    using Kind = plan::Extent::Kind;
    if (kernel.length.kind == Kind::constant)
      bindings.elements = kernel.length.value * positions;
    else if (kernel.length.kind == Kind::uniform)
      bindings.elements = scalars[static_cast<std::size_t>(kernel.length.slot)] * positions;
    else if (kernel.work_offsets >= 0)
      bindings.elements = shape_.descriptor_totals[static_cast<std::size_t>(
          step.buffers[static_cast<std::size_t>(kernel.work_offsets)].index)];
  }
  run_.launch(stream_, kernel, bindings, device_records_ + record * sizeof(cuda::ErrorRecord), held_);
}

/// Item sizes that kernels computed, to the host: waits for them.
void DeviceChunk::bring_sizes(const plan::Descriptor& descriptor, std::size_t steps) {
  for (const plan::Dim& d : descriptor.extents)
    if (d.kind == plan::Dim::Kind::per_item) fetch(d.index, steps);
}

void DeviceChunk::fetch(int array, std::size_t steps) {
  if (host_.contains(array)) return;
  // Kept with the chunk: the copy may still be on its way when something fails here.
  std::vector<std::int64_t>& values = host_[array];
  values.resize(static_cast<std::size_t>(shape_.items));
  if (!values.empty())
    stream_.download(values.data(), arrays_[static_cast<std::size_t>(array)][0], shape_.items * 8);
  // A size whose kernel failed means nothing: the failure comes first.
  const auto bytes = static_cast<std::int64_t>(steps * sizeof(cuda::ErrorRecord));
  if (bytes > 0) stream_.download(records_.data(), device_records_, bytes);
  stream_.synchronize();
  raise_first(steps);
}

void DeviceChunk::raise_first(std::size_t steps) {
  for (std::size_t s = 0; s < steps; ++s)
    if (const auto* kernel = std::get_if<plan::KernelStep>(&stage_.group.steps[s]))
      raise_failed(kernel->kernel, records_[s]);
}

/// Results and error records into page-locked memory.
void DeviceChunk::download() {
  const auto record_bytes = static_cast<std::int64_t>(records_.size() * sizeof(cuda::ErrorRecord));
  std::int64_t bytes = padded(record_bytes);
  for (const int array : stage_.results)
    for (ScalarType s : stage_.group.arrays[static_cast<std::size_t>(array)].type.scalars)
      bytes += padded(elements(array) * bytes_per(s));
  out_.begin(run_.device(), bytes);
  staged_.assign(stage_.results.size(), {});
  std::byte* records = out_.take(record_bytes);
  if (record_bytes > 0) stream_.download(records, device_records_, record_bytes);
  staged_.push_back({records});
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    const auto n = static_cast<std::size_t>(stage_.results[r]);
    const PlanArray& array = stage_.group.arrays[n];
    const std::int64_t first =
        array.form == ir::Form::segmented ? offsets_[static_cast<std::size_t>(array.descriptor)].first : 0;
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
      const std::int64_t width = bytes_per(array.type.scalars[c]);
      const std::int64_t size = elements(stage_.results[r]) * width;
      std::byte* to = out_.take(size);
      if (size > 0) stream_.download(to, arrays_[n][c] + static_cast<cuda::Address>(first * width), size);
      staged_[r].push_back(to);
    }
  }
}

void DeviceChunk::complete() {
  if (!busy_) return;
  try {
    stream_.synchronize();
  } catch (...) {
    drop();
    throw;
  }
  busy_ = false;
  held_.clear();
  if (!records_.empty())
    std::memcpy(records_.data(), staged_.back()[0], records_.size() * sizeof(cuda::ErrorRecord));
  raise_first(records_.size());
}

ChunkResults DeviceChunk::results() const {
  ChunkResults out;
  out.items = shape_.items;
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    const int number = stage_.results[r];
    ChunkResults::Array array;
    array.elements = elements(number);
    array.components.assign(staged_[r].begin(), staged_[r].end());
    for (std::size_t d = 0; d < stage_.group.arrays[static_cast<std::size_t>(number)].extents.size(); ++d)
      array.extents.push_back(extents(number, static_cast<int>(d)));
    out.arrays.push_back(std::move(array));
  }
  return out;
}

ChunkResults DeviceChunk::take() const {
  ChunkResults out = results();
  std::int64_t total = 0;
  for (std::size_t r = 0; r < out.arrays.size(); ++r)
    for (ScalarType s : stage_.group.arrays[static_cast<std::size_t>(stage_.results[r])].type.scalars)
      total += out.arrays[r].elements * bytes_per(s);
  out.reservation = context_.budget.reserve("results", total);
  for (std::size_t r = 0; r < out.arrays.size(); ++r) {
    const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(stage_.results[r])];
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
      const auto bytes = static_cast<std::size_t>(out.arrays[r].elements * bytes_per(array.type.scalars[c]));
      auto memory = detail::allocate_aligned(bytes);
      if (bytes > 0) std::memcpy(memory.get(), out.arrays[r].components[c], bytes);
      out.arrays[r].components[c] = memory.get();
      out.owned.push_back(std::move(memory));
    }
  }
  return out;
}

}  // namespace anabranch
