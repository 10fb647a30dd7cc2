#include "run/backends/cuda_backend.h"

#include <algorithm>

#include <anabranch/array.h>

#include "run/backends/device_stage.h"
#include "run/backends/program_kernels.h"

namespace anabranch::runtime {

namespace {

/// Page-locked memory is costly, and a copy of this size hides all other costs of a chunk.
constexpr std::int64_t largest_staged_chunk = std::int64_t{128} << 20;
/// More than on the CPU: there are more fixed costs to hide.
constexpr std::int64_t largest_read = std::int64_t{64} << 20;

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

CudaBackend::CudaBackend(RunContext& context, ProgramKernels& kernels, std::shared_ptr<cuda::Device> device,
                         std::int64_t memory_bound, bool beside)
    : context_(context),
      device_(std::move(device)),
      kernels_(kernels),
      memory_bound_(memory_bound),
      beside_(beside) {}

CudaBackend::~CudaBackend() {
  const cuda::KeepContext keep(device_->shared_api());
  run_.reset();
}

BackendTraits CudaBackend::traits() const {
  BackendTraits traits;
  traits.completes_at_once = false;
  traits.copies_chunks = true;
  traits.largest_read = largest_read;
  traits.chunk_memory = run_->bound() / 3;
  traits.largest_chunk = largest_staged_chunk;
  return traits;
}

ChunkMemory CudaBackend::chunk_memory() {
  return [device = device_](std::int64_t bytes) -> std::shared_ptr<void> {
    const cuda::KeepContext keep(device->shared_api());
    struct Block {
      std::shared_ptr<cuda::Device> device;
      cuda::PinnedBlock memory;
      ~Block() {
        const cuda::KeepContext keep_until_freed(device->shared_api());
        memory = {};
      }
    };
    auto block = std::make_shared<Block>(device);
    try {
      block->memory = cuda::PinnedBlock(device, std::max<std::int64_t>(bytes, 1));
    } catch (const Error&) {  // the system locks no more; chunks in other memory go through staging
      return anabranch::detail::allocate_aligned(static_cast<std::size_t>(bytes));
    }
    return {block, block->memory.data()};
  };
}

void CudaBackend::prepare() {
  on_device(*device_, [&] {
    loads_before_ = device_->load_statistics();
    const std::shared_future<DeviceKernels> kernels = kernels_.for_device(device_, beside_, context_.trace);
    if (!beside_) kernels.wait();
    run_ = std::make_unique<DeviceRun>(device_, kernels, memory_bound_, context_.executor,
                                       context_.trace.get(), context_.options.stop);
  });
}

void CudaBackend::take_inputs(std::span<const HostArray> inputs) {
  on_device(*device_, [&] { run_->take_inputs(inputs); });
}

std::shared_ptr<detail::Residence> CudaBackend::keep(const HostArray& array) {
  return on_device(*device_, [&] { return run_->keep(array); });
}

void CudaBackend::compute_global(const plan::KernelStep& step, GlobalValues& values) {
  on_device(*device_, [&] { run_->launch_global(step, values); });
}

bool CudaBackend::rearrange_global(const plan::RearrangeStep& step, GlobalValues& values) {
  return on_device(*device_, [&] { return run_->rearrange_global(step, values); });
}

void CudaBackend::fetch(const HostArray& array) {
  if (run_->is_only_there(*array)) on_device(*device_, [&] { run_->fetch(*array); });
}

void CudaBackend::written_by_host(const HostArray& array) {
  on_device(*device_, [&] { run_->forget(*array); });
}

std::unique_ptr<StageBackend> CudaBackend::open_stage(const StageWork& work) {
  return on_device(*device_, [&] {
    run_->settle();
    return std::make_unique<DeviceStage>(*run_, context_, *this, work);
  });
}

void CudaBackend::conclude(RunReport* report) {
  if (report) report_loads(*report);
  if (context_.trace) report_overlap(report);
}

void CudaBackend::report_loads(RunReport& report) const {
  const cuda::LoadStatistics after = device_->load_statistics();
  report.kernels_compiled += after.compiled - loads_before_.compiled;
  report.kernels_from_disk += after.from_disk - loads_before_.from_disk;
  report.kernels_cached += after.found - loads_before_.found;
  report.compile_seconds += (after.milliseconds - loads_before_.milliseconds) * 1e-3;
  report.gpu_peak_bytes = run_->peak();
  const DeviceCounts& offsets = run_->offset_counts();
  report.gpu_offsets = offsets.by_gpu;
  report.gpu_offsets_by_host = offsets.by_host;
  report.gpu_offsets_reason = offsets.why_host;
  const DeviceCounts& rearranged = run_->rearrangement_counts();
  report.gpu_rearrangements = rearranged.by_gpu;
  report.gpu_rearrangements_by_host = rearranged.by_host;
  report.gpu_rearrangements_reason = rearranged.why_host;
}

void CudaBackend::report_overlap(RunReport* report) {
  const timeline::OverlapTimes times = run_->trace()->overlap();
  context_.trace->facts()
      .add("copy_seconds", seconds(times.copy_ns))
      .add("kernel_seconds", seconds(times.kernel_ns))
      .add("both_seconds", seconds(times.both_ns))
      .add("overlap", times.share());
  const auto add_counts = [&](const std::string& what, const DeviceCounts& counts) {
    if (counts.by_gpu > 0) context_.trace->facts().add(what + "_by_gpu", counts.by_gpu);
    if (counts.by_host > 0)
      context_.trace->facts()
          .add(what + "_by_host", counts.by_host)
          .add(what + "_by_host_because", counts.why_host);
  };
  add_counts("offsets", run_->offset_counts());
  add_counts("rearrangements", run_->rearrangement_counts());
  if (!report) return;
  report->gpu_copy_seconds = seconds(times.copy_ns);
  report->gpu_kernel_seconds = seconds(times.kernel_ns);
  report->gpu_both_seconds = seconds(times.both_ns);
  report->gpu_overlap = times.share();
}

}  // namespace anabranch::runtime
