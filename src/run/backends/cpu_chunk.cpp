#include "run/backends/cpu_chunk.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "run/backends/cpu_backend.h"
#include "run/context/rearrangement.h"
#include "run/plan_run.h"

namespace anabranch::runtime {

using plan::BufferRef;
using plan::PlanArray;

CpuChunk::CpuChunk(CpuBackend& backend, RunContext& context, const StageWork& work)
    : ChunkGroup(work.stage, work.uniforms, work.names_items),
      backend_(backend),
      context_(context),
      global_(work.global),
      bytes_in_memory_(work.bytes_in_memory) {
  for (const PlanArray& array : stage_.group.arrays)
    if (array.origin == PlanArray::Origin::view) viewed_.push_back(array.index);
}

CpuChunk::~CpuChunk() { release(); }

void CpuChunk::release() {
  for (std::size_t a = 0; a < blocks_of_.size(); ++a) give_back(a);
  nested_.clear();
  release_items();
}

void CpuChunk::bind_items() {
  const plan::Group& group = stage_.group;
  arrays_.resize(group.arrays.size());
  bytes_of_.resize(group.arrays.size());  // before the blocks: where memory fails, `release` looks at those
  blocks_of_.resize(group.arrays.size());
  nested_.resize(group.arrays.size());
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    if (group.arrays[a].origin != PlanArray::Origin::item) continue;
    arrays_[a].clear();
    for (const auto& data : item_chunks_[static_cast<std::size_t>(group.arrays[a].index)].data)
      arrays_[a].push_back(const_cast<void*>(data.get()));
  }
}

void CpuChunk::compute(const std::vector<SourceChunk>& chunks,
                       const std::vector<std::vector<ArrayInfo>>& infos, StageOutput& results) {
  results_ = &results;
  most_bytes_ = bytes_;
  begin(chunks, infos);
  bind_items();
  run_steps();
  if (has_equal_items()) ++*context_.equal_chunks;
}

void CpuChunk::run_step(const plan::OffsetsStep& step, std::size_t) { make_offsets(step); }
void CpuChunk::run_step(const plan::RequireStep& step, std::size_t) { require(step); }

/// Where the first elements of an array lie.
std::vector<void*> CpuChunk::components_of(int number) const {
  const PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
  const auto& addresses = arrays_[static_cast<std::size_t>(number)];
  std::vector<void*> components;
  for (std::size_t c = 0; c < addresses.size(); ++c)
    components.push_back(static_cast<std::byte*>(addresses[c]) +
                         first_of(array) * static_cast<std::int64_t>(size_of(array.type.scalars[c])));
  return components;
}

void CpuChunk::run_step(const plan::NestedStep& step, std::size_t) {
  std::vector<HostArray> arguments{scalar_array(items(0))};
  for (const plan::RearrangeStep::Input& input : step.inputs)
    arguments.push_back(
        input.global
            ? global_.array(input.index)
            : borrowed_vector(stage_.group.arrays[static_cast<std::size_t>(input.index)].type.scalars,
                              components_of(input.index), elements(input.index)));
  const std::vector<HostArray> results =
      run_nested(context_, backend_, stage_.nested[static_cast<std::size_t>(step.number)], arguments);
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (step.outputs[r] < 0) continue;
    const auto n = static_cast<std::size_t>(step.outputs[r]);
    nested_[n] = results[r];
    arrays_[n].clear();
    const PlanArray& array = stage_.group.arrays[n];
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c)
      arrays_[n].push_back(biased(results[r]->buffers[c].get(), array, c));
  }
}

void CpuChunk::run_step(const plan::RearrangeStep& step, std::size_t) {
  const bool rows = works_on_rows(step);
  std::deque<std::vector<std::int64_t>> offsets;
  const auto place = [&](int number) {
    PlacedArray placed;
    if (number < 0) return placed;
    placed.components = components_of(number);
    placed.parts = parts_of(number, rows, offsets.emplace_back());
    if (asks_for_extents(step)) placed.extents = all_extents(number);
    return placed;
  };
  std::vector<PlacedArray> inputs, outputs;
  for (const plan::RearrangeStep::Input& input : step.inputs) inputs.push_back(place(input.index));
  for (const int output : step.outputs) {
    if (output >= 0) allocate(output);
    outputs.push_back(place(output));
  }
  run_rearrangement(context_, step, inputs, outputs, numbers());
}

void CpuChunk::give_back_after(std::size_t number) {
  for (std::size_t a = 0; a < blocks_of_.size(); ++a) {
    if (stage_.group.arrays[a].last_step != static_cast<int>(number)) continue;
    nested_[a].reset();
    give_back(a);
  }
}

void CpuChunk::give_back(std::size_t array) {
  for (void* b : blocks_of_[array])
    if (b) context_.blocks.give(b);
  blocks_of_[array].clear();
  bytes_ -= std::exchange(bytes_of_[array], 0);
}

void CpuChunk::allocate(int number) {
  const auto n = static_cast<std::size_t>(number);
  const PlanArray& array = stage_.group.arrays[n];
  const std::int64_t elements = this->elements(number);
  if (array.result >= 0) {
    arrays_[n] = results_->room(array.result, elements);
  } else {
    arrays_[n].clear();
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c) {
      const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(array.type.scalars[c]));
      void* block = taken_over(array, c, bytes);
      if (!block) {
        block = context_.take_block(bytes);
        bytes_ += bytes;
      }
      bytes_of_[n] += bytes;
      blocks_of_[n].push_back(block);
      arrays_[n].push_back(block);
    }
  }
  most_bytes_ = std::max(most_bytes_, bytes_);
  for (std::size_t c = 0; c < arrays_[n].size(); ++c) arrays_[n][c] = biased(arrays_[n][c], array, c);
}

/// The block of the component that this one of an array is written in place of; null: it needs its own. The kernel still
/// reads from it.
void* CpuChunk::taken_over(const PlanArray& array, std::size_t component, std::int64_t bytes) {
  if (array.in_place_of.empty() || array.in_place_of[component].array < 0) return nullptr;
  const plan::ArrayPart part = array.in_place_of[component];
  const auto from = static_cast<std::size_t>(part.array);
  void* const block = std::exchange(blocks_of_[from][static_cast<std::size_t>(part.component)], nullptr);
  if (block) bytes_of_[from] -= bytes;
  return block;
}

/// Under a source's offsets positions are counted from offsets[0], which need not be 0.
void* CpuChunk::biased(void* component, const PlanArray& array, std::size_t c) const {
  const auto bytes = static_cast<std::uintptr_t>(first_of(array)) * size_of(array.type.scalars[c]);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): such a place may lie outside of every array
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(component) - bytes);
}

/// The bytes of the largest array that the kernel reads along its rows: of the items, unless they have just been read, and of
/// what kernels have made of them.
std::int64_t CpuChunk::bytes_read(const plan::KernelStep& step) const {
  std::int64_t most = 0;
  for (const BufferRef& ref : step.buffers) {
    if (ref.kind != BufferRef::Kind::array) continue;
    const auto n = static_cast<std::size_t>(ref.index);
    const bool has_items = ref.global ? std::find(viewed_.begin(), viewed_.end(), ref.index) != viewed_.end()
                                      : stage_.group.arrays[n].origin != PlanArray::Origin::computed;
    if (has_items)
      most = std::max(most, bytes_in_memory_);
    else if (!ref.global)
      most = std::max(most, bytes_of_[n]);
  }
  return most;
}

/// A copy of items that whoever made them has put there.
bool CpuChunk::is_there(const plan::KernelStep& step) const {
  if (step.outputs.size() != 1) return false;
  const auto n = static_cast<std::size_t>(step.outputs[0]);
  const int item = stage_.group.arrays[n].copy_of_item;
  if (item < 0) return false;
  const auto& from = item_chunks_[static_cast<std::size_t>(item)].data;
  return std::equal(from.begin(), from.end(), arrays_[n].begin(), arrays_[n].end(),
                    [](const auto& a, const void* b) { return a.get() == b; });
}

void CpuChunk::run_step(const plan::KernelStep& step, std::size_t) {
  if (step.makes_outputs)
    for (const int output : step.outputs) allocate(output);
  if (is_there(step)) return;
  const plan::EqualItems* const equal = equal_items(step);
  const std::vector<void*> buffers = bind_buffers<void*>(
      step,
      [&](const BufferRef& ref) {
        const auto c = static_cast<std::size_t>(ref.component);
        const auto n = static_cast<std::size_t>(ref.index);
        std::byte* at =
            static_cast<std::byte*>(ref.global ? global_.array(ref.index)->buffers[c].get() : arrays_[n][c]);
        return static_cast<void*>(at + bias_of(ref, equal) * bytes_per_element(ref));
      },
      [&](int descriptor) { return const_cast<void*>(offsets_[static_cast<std::size_t>(descriptor)].data); },
      [&](std::size_t array, std::size_t dimension) {
        return const_cast<std::int64_t*>(item_chunks_[array].extents[dimension].get());
      });
  if (equal) took_equal_items();
  backend_.launch(equal ? equal->kernel : step.kernel, buffers, scalars_of(step, equal), items_of(step),
                  bytes_read(step), numbers());
}

}  // namespace anabranch::runtime
