#include "run/backends/choose.h"

#include <algorithm>

#include "run/backends/cpu_backend.h"
#include "run/backends/cuda_backend.h"
#include "run/backends/hybrid_backend.h"
#include "run/backends/program_kernels.h"
#include "scheduler/concurrency.h"

namespace anabranch::runtime {

std::shared_ptr<ProgramKernels> make_program_kernels(const plan::Plan& plan) {
  return std::make_shared<ProgramKernels>(plan);
}

BackendChoice choose_backend(Backend backend) {
  switch (backend) {
    case Backend::cuda:
      return {false, cuda::Device::get(), {}};
    case Backend::cpu_and_cuda:
      return {true, cuda::Device::get(), {}};
    case Backend::automatic:
      try {
        BackendChoice out{false, cuda::Device::get(), {}};
        out.reason = "there is a GPU: " + out.device->facts().name;
        return out;
      } catch (const BackendUnavailable& e) {
        return {true, nullptr, std::string("there is no GPU: ") + e.what()};
      }
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
  static const int available = scheduler::available_concurrency();
  return std::max(asked > 0 ? asked : available, least);
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
