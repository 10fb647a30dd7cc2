#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "compile.h"
#include "cuda/kernel_code.h"
#include "plan/plan.h"

/// A program's one kernel by itself, on data that is on the GPU already: what the peers are timed on too.
namespace anabranch::bench {

/// The address of the buffer that a kernel's slot stands for.
using Find = std::function<cuda::Address(const plan::Plan& plan, const plan::BufferRef& ref)>;

class ResidentKernel {
 public:
  /// Throws where the program has not exactly one kernel. `uniform` is the value of all its uniforms:
  /// the length of x.
  ResidentKernel(const detail::Handle& computation, const detail::Handles& parameters, const Find& find,
                 std::int64_t uniform, std::int64_t items, std::int64_t positions, std::int64_t elements,
                 std::int64_t longest);
  void operator()();  ///< enqueues
  void wait();        ///< throws where a check failed
  const std::string& schedule() const { return schedule_.why; }
  double compile_ms() const { return compile_ms_; }

 private:
  std::shared_ptr<cuda::Device> device_;
  std::unique_ptr<const Compiled> program_;
  std::unique_ptr<cuda::KernelCode> code_;
  cuda::Schedule schedule_;
  cuda::DeviceBlock record_, workspace_;
  std::vector<std::uint64_t> words_;
  cuda::Stream stream_;
  double compile_ms_ = 0;
};

}  // namespace anabranch::bench
