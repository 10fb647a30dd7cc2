#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compile.h"
#include "cuda/kernel_code.h"

/// A program's one kernel by itself, on data that is on the GPU already: what the peers are timed on too.
namespace anabranch::bench {

/// Where on the GPU stands what the program reads and writes.
struct ResidentData {
  struct Whole {
    std::shared_ptr<detail::ArrayData> host;  ///< as the program's `use` got it; only its extents are read
    cuda::Address at = 0;
  };
  std::vector<Whole> inputs;          ///< of one component each
  cuda::Address offsets = 0;          ///< of the stream's items, in the source's type
  std::vector<cuda::Address> fields;  ///< components of the stream's items
  cuda::Address result = 0;           ///< of one component
};

/// What the host knows about the work, as cuda::Bindings has it.
struct ResidentWork {
  std::int64_t items = 1, positions = 0, elements = -1, longest = -1;
};

class ResidentKernel {
 public:
  /// Compiles what the schedule asks for. Throws std::runtime_error where the program has not exactly one
  /// kernel, or one that needs more than `data` has.
  ResidentKernel(const detail::Handle& computation, const ResidentData& data, const ResidentWork& work);
  void operator()(cuda::StreamHandle stream) const;  ///< enqueues
  /// After a wait: throws what the program throws where a check failed.
  void check();
  /// What is started, in order.
  struct Started {
    cuda::Function function;
    unsigned grid, block;
  };
  std::vector<Started> launches() const;
  const std::string& schedule() const { return schedule_.why; }
  double compile_ms() const { return compile_ms_; }

 private:
  std::shared_ptr<cuda::Device> device_;
  std::unique_ptr<const Compiled> program_;
  const kernel::Kernel* kernel_ = nullptr;
  cuda::Schedule schedule_;
  std::vector<cuda::Function> functions_;  ///< one per launch
  cuda::DeviceBlock record_, workspace_;
  std::vector<std::uint64_t> words_;
  std::unique_ptr<cuda::KernelCode> code_;
  cuda::Stream own_stream_;
  double compile_ms_ = 0;
};

}  // namespace anabranch::bench
