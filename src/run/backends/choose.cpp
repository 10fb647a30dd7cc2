#include "run/backends/choose.h"

#include <algorithm>

#include "run/backends/cpu_backend.h"
#include "run/backends/cuda_backend.h"
#include "run/backends/estimate.h"
#include "run/backends/hybrid_backend.h"
#include "run/backends/program_kernels.h"
#include "scheduler/concurrency.h"

namespace anabranch::runtime {

std::shared_ptr<ProgramKernels> make_program_kernels(const plan::Plan& plan) {
  return std::make_shared<ProgramKernels>(plan);
}

namespace {

int available_threads() {
  static const int available = scheduler::available_concurrency();
  return available;
}

BackendChoice quicker_backend(const plan::Plan& plan, const std::vector<HostArray>& arguments, int threads) {
  const int of_cpu = threads > 0 ? threads : available_threads();
  const RunEstimate run = estimate(plan, arguments);
  // A process whose runs are all small opens no GPU.
  if (std::string why = why_no_gpu(run, of_cpu); !why.empty()) return {true, nullptr, std::move(why)};
  std::shared_ptr<cuda::Device> device;
  try {
    device = cuda::Device::get();
  } catch (const BackendUnavailable& e) {
    return {true, nullptr, std::string("there is no GPU: ") + e.what()};
  }
  const MachineRates machine{of_cpu, device->facts().multiprocessors, device->link_rate()};
  Comparison compared = compare(run, machine, device->facts().name);
  if (!compared.gpu) return {true, nullptr, std::move(compared.reason)};
  return {false, std::move(device), std::move(compared.reason)};
}

}  // namespace

BackendChoice choose_backend(Backend backend, const plan::Plan& plan, const std::vector<HostArray>& arguments,
                             int threads) {
  switch (backend) {
    case Backend::cuda:
      return {false, cuda::Device::get(), {}};
    case Backend::cpu_and_cuda:
      return {true, cuda::Device::get(), {}};
    case Backend::automatic:
      return quicker_backend(plan, arguments, threads);
    case Backend::cpu:
      return {};
    case Backend::interpreter:
      break;
  }
  throw InternalError("the interpreter executes no plan");
}

int threads_of(const BackendChoice& choice, int asked) {
  if (!choice.device) return asked;
  // Reading, enqueueing and waiting overlap even where one thread was asked for.
  constexpr int least = 3;
  return std::max(asked > 0 ? asked : available_threads(), least);
}

std::unique_ptr<RunBackend> make_backend(const BackendChoice& choice, RunContext& context,
                                         ProgramKernels& kernels, bool caches) {
  std::unique_ptr<RunBackend> cpu, device;
  if (choice.cpu) cpu = std::make_unique<CpuBackend>(context, kernels, caches ? bytes_in_caches() : 0);
  if (choice.device)
    device = std::make_unique<CudaBackend>(context, kernels, choice.device, context.options.gpu_memory,
                                           choice.cpu);
  if (cpu && device) return std::make_unique<HybridBackend>(context, std::move(cpu), std::move(device));
  return cpu ? std::move(cpu) : std::move(device);
}

}  // namespace anabranch::runtime
