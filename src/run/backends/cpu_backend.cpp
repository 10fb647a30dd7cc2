#include "run/backends/cpu_backend.h"

#include <fmt/format.h>

#include "cpu/launch.h"
#include "cpu/processor.h"
#include "ir/cancelled.h"
#include "run/backends/cpu_chunk.h"
#include "run/backends/program_kernels.h"
#include "run/record/run_trace.h"
#include "scheduler/busy.h"
#include "scheduler/clock.h"

namespace anabranch::runtime {

std::int64_t bytes_in_caches() { return cpu::caches().shared / 2; }

namespace {

/// Of a piece of a launch that nobody helps with: it is cut only so that a request to stop is seen soon.
constexpr std::int64_t elements_in_line = 1 << 20;

/// The chunks of one stage, each computed as it comes.
class CpuStage final : public StageBackend {
 public:
  CpuStage(CpuBackend& backend, RunContext& context, const StageWork& work)
      : backend_(backend), context_(context), work_(work) {
    chunks_.resize(static_cast<std::size_t>(work.slots));
  }

  ComputedOn enqueue(int slot, const std::vector<SourceChunk>& chunks, StageOutput& results) override {
    auto& known = chunks_[static_cast<std::size_t>(slot)];
    if (!known) known = std::make_unique<CpuChunk>(backend_, context_, work_);
    CpuChunk& chunk = *known;
    const Released released{chunk};
    chunk.compute(chunks, work_.infos, results);
    results.commit(chunk.shape_of_results());
    return ComputedOn::host;
  }
  void complete(int, StageOutput&) override {}
  std::int64_t array_bytes(int slot) const override {
    return chunks_[static_cast<std::size_t>(slot)]->array_bytes();
  }
  /// The chunk's own memory is what was too much.
  bool make_room(int) override {
    context_.blocks.trim();
    return false;
  }

 private:
  struct Released {
    CpuChunk& chunk;
    ~Released() { chunk.release(); }
  };

  CpuBackend& backend_;
  RunContext& context_;
  const StageWork work_;
  std::vector<std::unique_ptr<CpuChunk>>
      chunks_;  ///< per slot, made when it is used: many threads have many slots
};

}  // namespace

BackendTraits CpuBackend::traits() const {
  BackendTraits traits;
  traits.side_by_side = true;
  traits.cache_of_thread = cpu::caches().of_thread;
  return traits;
}

CpuBackend::CpuBackend(RunContext& context, ProgramKernels& kernels, std::int64_t cache_bytes)
    : context_(context),
      program_kernels_(kernels),
      cache_bytes_(cache_bytes),
      stop_signal_(context.options.stop, stop_word_) {}

void CpuBackend::prepare() {
  kernels_ = &program_kernels_.for_cpu(context_.executor, context_.options.stop, context_.report,
                                       context_.trace.get());
}

std::unique_ptr<StageBackend> CpuBackend::open_stage(const StageWork& work) {
  return std::make_unique<CpuStage>(*this, context_, work);
}

void CpuBackend::conclude(RunReport* report) {
  if (!report) return;
  report->compile_seconds += compiled_late_.compile_seconds;
  report->kernels_compiled += compiled_late_.kernels_compiled;
  report->kernels_from_disk += compiled_late_.kernels_from_disk;
  report->kernels_cached += compiled_late_.kernels_cached;
}

void CpuBackend::check_stop() const {
  if (context_.options.stop.stop_requested()) ir::raise_cancelled();
}

std::shared_ptr<const cpu::CompiledKernel> CpuBackend::seldom_needed(const kernel::Kernel& kernel) {
  // Whoever needs it as well waits here, and computes as little.
  const std::int64_t begin_ns = scheduler::steady_clock().now_ns();
  const std::lock_guard lock(late_mutex_);
  auto found = program_kernels_.for_cpu(kernel, &compiled_late_, context_.trace.get());
  scheduler::put_aside(scheduler::steady_clock().now_ns() - begin_ns);
  return found;
}

void CpuBackend::compute_global(const plan::KernelStep& step, GlobalValues& values) {
  std::vector<void*> buffers;
  std::int64_t bytes = 0;
  for (const plan::BufferRef& ref : step.buffers) {
    const detail::ArrayData& data = *values.array(ref.index);
    const auto c = static_cast<std::size_t>(ref.component);
    buffers.push_back(data.buffers[c].get());
    bytes += data.size() * static_cast<std::int64_t>(size_of(data.scalars[c]));
  }
  std::vector<std::int64_t> scalars;
  for (const int uniform : step.scalars) scalars.push_back(values.uniform(uniform));
  launch(step.kernel, buffers, scalars, 1, bytes, ir::ItemNumbers::always(values.item()));
}

void CpuBackend::launch(const kernel::Kernel& kernel, const std::vector<void*>& buffers,
                        const std::vector<std::int64_t>& scalars, std::int64_t items, std::int64_t bytes_read,
                        const ir::ItemNumbers& named) {
  check_stop();
  const auto found = kernels_->find(&kernel);
  const auto compiled = found != kernels_->end() ? found->second : seldom_needed(kernel);
  const cpu::CompiledKernel& code = *compiled;
  RunTrace* const trace =
      context_.trace && RunTrace::is_drawn(context_.trace->place().chunk) ? context_.trace.get() : nullptr;
  const bool from_memory = bytes_read >= cache_bytes_;
  cpu::CacheStatistics late;
  // Also where the launch throws.
  const struct Late {
    CpuBackend& backend;
    cpu::CacheStatistics& counted;
    ~Late() {
      if (counted.hits + counted.from_disk + counted.compiled == 0) return;
      scheduler::put_aside(static_cast<std::int64_t>((counted.compile_ms + counted.load_ms) * 1e6));
      const std::lock_guard lock(backend.late_mutex_);
      backend.compiled_late_.compile_seconds += (counted.compile_ms + counted.load_ms) * 1e-3;
      count_kernels(backend.compiled_late_, counted);
    }
  } add_late{*this, late};
  timed(trace, RunTrace::Row::kernels, kernel.name, [&] {
    cpu::launch(
        kernel, code,
        {buffers, scalars, items, from_memory, named, &stop_word_, &late, cache_bytes_ == 0,
         context_.executor.concurrency_here()},
        [&](std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
          context_.executor.parallel_for(pieces, [&](std::int64_t i) {
            check_stop();
            piece(i);
          });
        },
        [&](std::int64_t bytes) {
          return context_.take_counted(fmt::format("partial results of {}", kernel.name), bytes);
        },
        context_.executor.runs_in_line() ? elements_in_line : 0);
  });
}

}  // namespace anabranch::runtime
