#include "run/backends/cpu_chunk.h"

#include "run/backends/cpu_backend.h"

namespace anabranch::runtime {

using plan::BufferRef;
using plan::PlanArray;

CpuChunk::CpuChunk(CpuBackend& backend, RunContext& context, const StageWork& work)
    : ChunkGroup(work.stage, work.uniforms),
      backend_(backend),
      context_(context),
      global_(work.global),
      bytes_in_memory_(work.bytes_in_memory) {}

CpuChunk::~CpuChunk() { release(); }

void CpuChunk::release() {
  for (auto& blocks : blocks_of_) {
    for (void* b : blocks) context_.blocks.give(b);
    blocks.clear();
  }
  release_items();
}

void CpuChunk::bind_items() {
  const plan::Group& group = stage_.group;
  arrays_.resize(group.arrays.size());
  blocks_of_.resize(group.arrays.size());
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
  begin(chunks, infos);
  bind_items();
  run_steps();
}

void CpuChunk::run_step(const plan::OffsetsStep& step, std::size_t) { make_offsets(step); }
void CpuChunk::run_step(const plan::RequireStep& step, std::size_t) { require(step); }

void CpuChunk::give_back_after(std::size_t number) {
  for (std::size_t a = 0; a < blocks_of_.size(); ++a) {
    if (stage_.group.arrays[a].last_step != static_cast<int>(number) || blocks_of_[a].empty()) continue;
    for (void* b : blocks_of_[a]) context_.blocks.give(b);
    blocks_of_[a].clear();
  }
}

void CpuChunk::allocate(int number) {
  const auto n = static_cast<std::size_t>(number);
  const PlanArray& array = stage_.group.arrays[n];
  const std::int64_t elements = this->elements(number);
  if (array.result >= 0) {
    arrays_[n] = results_->room(array.result, elements);
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
        // NOLINTNEXTLINE(performance-no-int-to-ptr): such a place may lie outside of every array
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(arrays_[n][c]) -
                                static_cast<std::uintptr_t>(first) * size_of(array.type.scalars[c]));
}

void CpuChunk::run_step(const plan::KernelStep& step, std::size_t) {
  for (const int output : step.outputs) allocate(output);
  const std::vector<void*> buffers = bind_buffers<void*>(
      step,
      [&](const BufferRef& ref) {
        const auto c = static_cast<std::size_t>(ref.component);
        return ref.global ? global_.array(ref.index)->buffers[c].get()
                          : arrays_[static_cast<std::size_t>(ref.index)][c];
      },
      [&](int descriptor) { return const_cast<void*>(offsets_[static_cast<std::size_t>(descriptor)].data); },
      [&](std::size_t array, std::size_t dimension) {
        return const_cast<std::int64_t*>(item_chunks_[array].extents[dimension].get());
      });
  backend_.launch(step.kernel, buffers, scalars_of(step), items_of(step), bytes_in_memory_,
                  shape_.first_item);
}

}  // namespace anabranch::runtime
