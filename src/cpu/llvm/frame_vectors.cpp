#include "cpu/llvm/frame_vectors.h"

namespace anabranch::cpu {

FrameVectors::Memory FrameVectors::room(std::uint64_t vectors) {
  Memory memory;
  for (std::size_t c = 0; c < r_.components(); ++c)
    memory.push_back(
        r_.f.local(r_.e.memory_type_of(r_.type(c)), vectors * static_cast<std::uint64_t>(width_)));
  return memory;
}

llvm::Value* FrameVectors::cell(const Memory& memory, std::size_t c, llvm::Value* vector) {
  return r_.f.element(r_.e.memory_type_of(r_.type(c)), memory[c],
                      r_.b.CreateMul(vector, r_.f.number(width_)));
}

Registers FrameVectors::get(const Memory& memory, llvm::Value* vector) {
  Registers out;
  for (std::size_t c = 0; c < memory.size(); ++c) {
    llvm::Type* cells =
        llvm::FixedVectorType::get(r_.e.memory_type_of(r_.type(c)), static_cast<unsigned>(width_));
    llvm::Value* v = r_.b.CreateAlignedLoad(cells, cell(memory, c, vector), llvm::Align(size_of(r_.type(c))));
    out.push_back(r_.e.from_memory(r_.type(c), v));
  }
  return out;
}

void FrameVectors::put(const Memory& memory, llvm::Value* vector, const Registers& values) {
  for (std::size_t c = 0; c < memory.size(); ++c)
    r_.b.CreateAlignedStore(r_.e.to_memory(r_.type(c), values[c]), cell(memory, c, vector),
                            llvm::Align(size_of(r_.type(c))));
}

}  // namespace anabranch::cpu
