#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/component_use.h"
#include "kernel/kernel.h"

/// Kernels that read arrays in the order of positions (kernels/cuda/in_order.cuh).
namespace anabranch::cuda {

struct InOrder {
  struct Read {
    std::size_t array;
    std::size_t component;
    friend bool operator==(const Read&, const Read&) = default;
  };
  std::vector<Read> reads;  ///< what is read so
  int ahead = 0;            ///< positions that a thread reads before it uses the first; 0: not such a kernel
  explicit operator bool() const { return ahead > 0; }
};

/// Bodies costlier than this (in additions) are emitted once in every loop: several copies would take too
/// many registers and too much code.
inline constexpr std::int64_t unroll_cost = 64;

/// Neighbouring positions that are read at once.
inline constexpr int four = 4;

/// Bytes of the structure of a fold's values, on a GPU.
std::size_t value_bytes(const kernel::Kernel& kernel);

InOrder in_order(const kernel::Kernel& kernel, const kernel::ComponentUse& use);

}  // namespace anabranch::cuda
