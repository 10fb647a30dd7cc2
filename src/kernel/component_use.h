#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

/// Which components of what a kernel reads are used: only `values` of (column, value) entries, for example.
namespace anabranch::kernel {

class ComponentUse {
 public:
  explicit ComponentUse(const Kernel& kernel);

  /// Does a body use this component of the node, one that it computes or reads?
  bool of_node(const ir::Node& node, std::size_t component) const;
  /// Does a body read this component of kernel.arrays[array]?
  bool of_array(std::size_t array, std::size_t component) const { return arrays_[array][component]; }

 private:
  std::unordered_map<const ir::Node*, std::vector<bool>> used_;
  std::vector<std::vector<bool>> arrays_;
};

}  // namespace anabranch::kernel
