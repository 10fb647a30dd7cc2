#include "gpu/resident.h"

#include <chrono>
#include <stdexcept>
#include <variant>

#include "compile.h"
#include "front/handle.h"

namespace anabranch::bench {
namespace {

const plan::KernelStep& only_kernel(const plan::Plan& plan) {
  const plan::KernelStep* found = nullptr;
  int kernels = 0;
  const auto look = [&](const plan::Group& group) {
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) {
        found = kernel;
        ++kernels;
      }
  };
  look(plan.global);
  for (const plan::StagePlan& stage : plan.stages) look(stage.group);
  if (kernels != 1)
    throw std::runtime_error("the program has " + std::to_string(kernels) + " kernels, not one");
  return *found;
}

}  // namespace

ResidentKernel::ResidentKernel(const detail::Handle& computation, const detail::Handles& parameters,
                               const Find& find, std::int64_t uniform, std::int64_t items,
                               std::int64_t positions, std::int64_t elements, std::int64_t longest)
    : device_(cuda::Device::get()),
      program_(std::make_unique<const Compiled>(compile_program(
          {front::node_of(computation)}, front::nodes_of(parameters), options_from_environment()))),
      stream_(device_) {
  const plan::KernelStep& step = only_kernel(program_->plan);
  std::vector<cuda::Address> buffers;
  for (const plan::BufferRef& ref : step.buffers) buffers.push_back(find(program_->plan, ref));
  const std::vector<std::int64_t> scalars(step.scalars.size(), uniform);
  const cuda::Bindings bindings{buffers, scalars, items, positions, elements, longest};
  schedule_ = cuda::schedule(step.kernel, bindings, device_->facts().multiprocessors);
  code_ = std::make_unique<cuda::KernelCode>(device_, step.kernel);
  const auto start = std::chrono::steady_clock::now();
  code_->prepare(cuda::entries_of(schedule_));
  compile_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  record_ = device_->allocate(sizeof(cuda::ErrorRecord));
  if (schedule_.workspace > 0) workspace_ = device_->allocate(schedule_.workspace);
  words_ = cuda::pack(step.kernel, bindings, record_.address(), workspace_.address());
  const cuda::ErrorRecord clean;
  stream_.upload(record_.address(), &clean, sizeof clean);
  stream_.synchronize();
}

void ResidentKernel::operator()() {
  if (schedule_.workspace > 0) stream_.fill_zero(workspace_.address(), schedule_.zeroed);
  for (const cuda::Launch& launch : schedule_.launches)
    stream_.launch(code_->function(launch.entry), launch.grid, launch.block, words_);
}

void ResidentKernel::wait() {
  cuda::ErrorRecord record;
  stream_.download(&record, record_.address(), sizeof record);
  stream_.synchronize();
  if (record.position != cuda::no_failure) throw std::runtime_error("a check failed on the GPU");
}

}  // namespace anabranch::bench
