#pragma once

#include "cpu/llvm/row_code.h"

namespace anabranch::cpu {

/// Vectors of rows that lie side by side, in the stack frame: each has one value of as many rows as it has lanes, per
/// component, in the form of memory.
class FrameVectors {
 public:
  using Memory = std::vector<llvm::Value*>;  ///< per component

  FrameVectors(RowCode& rows, int width) : r_(rows), width_(width) {}

  Memory room(std::uint64_t vectors);
  Registers get(const Memory& memory, llvm::Value* vector);
  void put(const Memory& memory, llvm::Value* vector, const Registers& values);

 private:
  llvm::Value* cell(const Memory& memory, std::size_t c, llvm::Value* vector);

  RowCode& r_;
  int width_;
};

}  // namespace anabranch::cpu
