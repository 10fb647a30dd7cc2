#include "gpu/resident.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <variant>

#include "front/handle.h"
#include "ir/run_error.h"
#include "run/backends/device_run.h"
#include "run/context/global_values.h"

namespace anabranch::bench {
namespace {

using plan::BufferRef;
using plan::PlanArray;

struct OnlyKernel {
  const plan::Group* group = nullptr;
  const plan::KernelStep* step = nullptr;
};

OnlyKernel only_kernel(const plan::Plan& plan) {
  std::vector<OnlyKernel> found;
  const auto look = [&](const plan::Group& group) {
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) found.push_back({&group, kernel});
  };
  look(plan.global);
  for (const plan::StagePlan& stage : plan.stages) look(stage.group);
  if (found.size() == 1 && found[0].step->outputs.size() != 1)
    throw std::runtime_error("the program's kernel has several results, not one");
  if (found.size() != 1)
    throw std::runtime_error("the program has " + std::to_string(found.size()) + " kernels, not one");
  return found[0];
}

cuda::Address address_of(const PlanArray& array, int component, const ResidentData& data) {
  const auto c = static_cast<std::size_t>(component);
  switch (array.origin) {
    case PlanArray::Origin::use:
      for (const ResidentData::Whole& input : data.inputs)
        if (input.host == array.node->payload().array && component == 0) return input.at;
      break;
    case PlanArray::Origin::item:
      if (array.index == 0 && c < data.fields.size()) return data.fields[c];
      break;
    case PlanArray::Origin::computed:
      if (component == 0) return data.result;
      break;
    case PlanArray::Origin::argument:
    case PlanArray::Origin::stream:
    case PlanArray::Origin::control:
    case PlanArray::Origin::nested:
    case PlanArray::Origin::view:
    case PlanArray::Origin::components:
      break;
  }
  throw std::runtime_error("the kernel reads or writes an array that is not on the GPU");
}

cuda::Address address_of(const plan::Plan& plan, const plan::Group& group, const BufferRef& ref,
                         const ResidentData& data) {
  const auto index = static_cast<std::size_t>(ref.index);
  switch (ref.kind) {
    case BufferRef::Kind::array:
      return address_of((ref.global ? plan.global : group).arrays[index], ref.component, data);
    case BufferRef::Kind::offsets:
      if (group.descriptors[index].item == 0) return data.offsets;
      break;
    case BufferRef::Kind::item_extents:
      break;
  }
  throw std::runtime_error("the kernel reads sizes that are not on the GPU");
}

}  // namespace

ResidentKernel::ResidentKernel(const detail::Handle& computation, const ResidentData& data,
                               const ResidentWork& work)
    : device_(cuda::Device::get()),
      program_(std::make_unique<const Compiled>(
          compile_program({front::node_of(computation)}, {}, options_from_environment()))),
      own_stream_(device_) {
  const plan::Plan& plan = program_->plan;
  const auto [group, step] = only_kernel(plan);
  kernel_ = &step->kernel;
  std::vector<cuda::Address> buffers;
  for (const BufferRef& ref : step->buffers) buffers.push_back(address_of(plan, *group, ref, data));
  const runtime::GlobalValues known(plan, {}, {});
  std::vector<std::int64_t> scalars;
  for (const int uniform : step->scalars)
    scalars.push_back(runtime::evaluate_uniform(group->uniforms[static_cast<std::size_t>(uniform)], known));
  const cuda::Bindings bindings{buffers, scalars, work.items, work.positions, work.elements, work.longest};
  schedule_ = cuda::schedule(*kernel_, bindings, device_->facts().multiprocessors);

  code_ = std::make_unique<cuda::KernelCode>(device_, *kernel_);
  const auto start = std::chrono::steady_clock::now();
  code_->prepare(cuda::entries_of(schedule_));
  compile_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  cuda::deal_tiles(schedule_, device_->facts().multiprocessors,
                   [&](int entry) { return code_->blocks_at_a_time(entry); });
  for (const cuda::Launch& launch : schedule_.launches) functions_.push_back(code_->function(launch.entry));

  record_ = device_->allocate(sizeof(cuda::ErrorRecord));
  if (schedule_.workspace > 0) workspace_ = device_->allocate(schedule_.workspace);
  words_ = cuda::pack(*kernel_, bindings, record_.address(), workspace_.address());
  const cuda::ErrorRecord clean;
  own_stream_.upload(record_.address(), &clean, sizeof clean);
  own_stream_.synchronize();
}

void ResidentKernel::operator()(cuda::StreamHandle stream) const {
  // On a stream that is not the library's: the peers' own, and recorded into graphs with what they do.
  device_->make_current();
  const cuda::DriverApi& api = device_->api();
  if (schedule_.zeroed > 0)
    cuda::check(
        api, api.memset_d8_async(workspace_.address(), 0, static_cast<std::size_t>(schedule_.zeroed), stream),
        "filling with zeros");
  std::size_t bytes = words_.size() * sizeof(std::uint64_t);
  const auto marker = [](std::uintptr_t number) { return reinterpret_cast<void*>(number); };
  void* extra[] = {marker(cuda::launch_buffer), const_cast<std::uint64_t*>(words_.data()),
                   marker(cuda::launch_buffer_size), &bytes, marker(cuda::launch_end)};
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const cuda::Launch& launch = schedule_.launches[i];
    cuda::check(
        api,
        api.launch_kernel(functions_[i], launch.grid, 1, 1, launch.block, 1, 1, 0, stream, nullptr, extra),
        "launch");
  }
}

std::vector<ResidentKernel::Started> ResidentKernel::launches() const {
  std::vector<Started> out;
  for (std::size_t i = 0; i < functions_.size(); ++i)
    out.push_back({functions_[i], schedule_.launches[i].grid, schedule_.launches[i].block});
  return out;
}

void ResidentKernel::check() {
  cuda::ErrorRecord record;
  own_stream_.download(&record, record_.address(), sizeof record);
  own_stream_.synchronize();
  runtime::raise_failed(*kernel_, record, ir::no_item);
}

}  // namespace anabranch::bench
