#pragma once

#include <anabranch/version.h>

#include "cpu/abi.h"
#include "cpu/llvm_interface.h"
#include "ir/op_info.h"
#include "kernel/kernel.h"

/// Both sides compute this from their own headers.
namespace anabranch::cpu {

inline std::uint64_t llvm_interface_version() {
  constexpr std::uint64_t interface = 4;
  std::uint64_t hash = 1469598103934665603u;
  for (const std::uint64_t part :
       {interface, std::uint64_t{abi_version}, std::uint64_t{version_major}, std::uint64_t{version_minor},
        std::uint64_t{version_patch}, std::uint64_t{sizeof(kernel::Kernel)}, std::uint64_t{sizeof(ir::Node)},
        std::uint64_t{ir::op_count}, std::uint64_t{ir::primitive_count},
        std::uint64_t{anabranch::detail::scalar_count}, std::uint64_t{sizeof(ir::Payload)}}) {
    hash ^= part;
    hash *= 1099511628211u;
  }
  return hash;
}

}  // namespace anabranch::cpu
