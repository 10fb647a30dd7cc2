#pragma once

#include <memory>
#include <string>

#include "run/chunks/backend.h"

/// Which back end computes a run: decided here and nowhere else. No other header of this folder is included outside of
/// it.
namespace anabranch::cuda {
class Device;
}

namespace anabranch::runtime {

/// The kernels of one program, compiled for the back ends that its runs ask for.
class ProgramKernels;
std::shared_ptr<ProgramKernels> make_program_kernels(const plan::Plan& plan);

struct BackendChoice {
  bool cpu = true;
  std::shared_ptr<cuda::Device> device;  ///< null: none is used
  std::string reason;                    ///< where the choice was ours
};

/// For a run of the plan with these arguments, on so many threads (0: all that there are); of all but Backend::interpreter,
/// which executes no plan. BackendUnavailable where it needs a GPU and there is none. Backend::automatic takes what is
/// expected to be quicker (estimate.h).
BackendChoice choose_backend(Backend backend, const plan::Plan& plan,
                             const std::vector<std::shared_ptr<detail::ArrayData>>& arguments, int threads);

/// Threads of a run, of `asked` by the user (0: all that there are).
int threads_of(const BackendChoice& choice, int asked);

/// `caches`: false: kernels run as if no input were in a cache.
std::unique_ptr<RunBackend> make_backend(const BackendChoice& choice, RunContext& context,
                                         ProgramKernels& kernels, bool caches);

}  // namespace anabranch::runtime
