#include "run/chunk_run.h"

#include <unistd.h>

#include <new>

#include <fmt/format.h>

#include "cpu/launch.h"
#include "run/run_trace.h"

namespace anabranch {

using plan::BufferRef;
using plan::PlanArray;

std::int64_t bytes_in_caches() {
  const std::int64_t last_level = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return (last_level > 0 ? last_level : std::int64_t{32} << 20) / 2;
}

namespace {

/// Memory that is counted as long as it is held.
std::shared_ptr<void> take_counted(RunContext& context, const std::string& what, std::int64_t bytes) {
  auto held = std::make_shared<scheduler::Reservation>(context.budget.reserve(what, bytes));
  try {
    auto memory = detail::allocate_aligned(static_cast<std::size_t>(bytes));
    void* const address = memory.get();
    return {address, [held, memory](void*) {}};
  } catch (const std::bad_alloc&) {
    throw ResourceError(
        fmt::format("{}: {} are more memory than the system gives", what, scheduler::format_bytes(bytes)));
  }
}

}  // namespace

void launch_kernel(RunContext& context, const kernel::Kernel& kernel, const std::vector<void*>& buffers,
                   const std::vector<std::int64_t>& scalars, std::int64_t items, bool from_memory,
                   std::int64_t first_item) {
  const cpu::CompiledKernel& code = *context.kernels.at(&kernel);
  const auto check_stop = [&] {
    if (context.options.stop.stop_requested()) throw Cancelled("the run was cancelled");
  };
  check_stop();
  RunTrace* const trace =
      context.trace && RunTrace::is_drawn(context.trace->place().chunk) ? context.trace : nullptr;
  timed(trace, RunTrace::Row::kernels, kernel.name, [&] {
    cpu::launch(
        kernel, code, {buffers, scalars, items, from_memory, first_item, &context.stop_word},
        [&](std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
          context.executor.parallel_for(pieces, [&](std::int64_t i) {
            check_stop();
            piece(i);
          });
        },
        [&](std::int64_t bytes) {
          return take_counted(context, fmt::format("partial results of {}", kernel.name), bytes);
        });
  });
}

ChunkRun::ChunkRun(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
                   const std::vector<std::int64_t>& uniforms, bool from_memory)
    : ChunkGeometry(stage, uniforms), context_(context), global_(global), from_memory_(from_memory) {}
ChunkRun::~ChunkRun() { release(); }

void ChunkRun::release() {
  for (auto& blocks : blocks_of_) {
    for (void* b : blocks) context_.blocks.give(b);
    blocks.clear();
  }
}

void ChunkRun::bind_arrays() {
  const plan::Group& group = stage_.group;
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
  begin(chunks, infos);
  arrays_.resize(group.arrays.size());
  blocks_of_.resize(group.arrays.size());
  bind_arrays();
  for (std::size_t s = 0; s < group.steps.size(); ++s) {
    const plan::Step& step = group.steps[s];
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step))
      run_kernel(*kernel, result);
    else if (const auto* scan = std::get_if<plan::OffsetsStep>(&step))
      ChunkGeometry::make_offsets(*scan);
    else if (const auto* require = std::get_if<plan::RequireStep>(&step))
      ChunkGeometry::require(*require);
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
        // NOLINTNEXTLINE(performance-no-int-to-ptr): such a place may lie outside of every array
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(arrays_[n][c]) -
                                static_cast<std::uintptr_t>(first) * size_of(array.type.scalars[c]));
}

void ChunkRun::run_kernel(const plan::KernelStep& step, const ResultRoom& result) {
  for (const int output : step.outputs) allocate(output, result);
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
  launch_kernel(context_, step.kernel, buffers, scalars, shape_.items, from_memory_, shape_.first_item);
}

}  // namespace anabranch
