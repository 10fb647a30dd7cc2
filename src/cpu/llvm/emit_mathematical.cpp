#include <algorithm>
#include <numeric>

#include "cpu/llvm/emitter.h"
#include "cpu/llvm/lanes.h"
#include "cpu/routines.h"
#include "ir/math_recipe.h"

/// The mathematical functions: their fast paths in line, and calls of routines for all else.
namespace anabranch::cpu {

using ir::Primitive;

namespace {

/// `lanes` lanes of `x` from lane `first` on; what x does not have repeats its lanes.
llvm::Value* part_of(llvm::IRBuilder<>& b, llvm::Value* x, int first, int lanes) {
  if (!x->getType()->isVectorTy()) return b.CreateVectorSplat(static_cast<unsigned>(lanes), x);
  const auto has = static_cast<int>(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
  if (has == lanes) return x;
  std::vector<int> pick;
  for (int lane = 0; lane < lanes; ++lane) pick.push_back((first + lane) % has);
  return b.CreateShuffleVector(x, pick);
}

/// Parts of a power of two of lanes each, side by side.
llvm::Value* joined(llvm::IRBuilder<>& b, std::vector<llvm::Value*> parts) {
  while (parts.size() > 1) {
    std::vector<llvm::Value*> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      std::vector<int> pick(2 * llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements());
      std::iota(pick.begin(), pick.end(), 0);
      pairs.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], pick));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

struct FastPath {
  llvm::Value *value, *holds;
};

FastPath fast_path(llvm::IRBuilder<>& b, Primitive primitive, ScalarType type, llvm::Value* x,
                   llvm::Value* y) {
  const auto build = [&]<class T>(std::type_identity<T>) -> FastPath {
    const auto fast = ir::build_fast(primitive, Lanes<T>(&b, x), Lanes<T>(&b, y));
    return {fast.value.v, fast.holds.v};
  };
  return type == ScalarType::float32 ? build(std::type_identity<float>{})
                                     : build(std::type_identity<double>{});
}

}  // namespace

llvm::Value* Emitter::mathematical(Primitive primitive, ScalarType type, llvm::Value* x, llvm::Value* y) {
  if (!ir::has_fast_path(primitive)) return call_routine(primitive, type, x, y);
  const FastPath fast = fast_path(b, primitive, type, x, y);
  const bool is_vector = x->getType()->isVectorTy();
  llvm::Value* rare = b.CreateNot(fast.holds);
  if (is_vector && mask) rare = b.CreateAnd(rare, mask);
  llvm::BasicBlock *here = b.GetInsertBlock(), *full = frame.block("rare_operand"),
                   *next = frame.block("mathematical");
  frame.branch_likely(b.CreateNot(is_vector ? any_lane(rare) : rare), next, full);
  b.SetInsertPoint(full);
  llvm::Value* of_full = call_routine(primitive, type, x, y);
  llvm::BasicBlock* after_full = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(fast.value, here);
  result->addIncoming(of_full, after_full);
  return result;
}

/// In parts of as many lanes as the routine has.
llvm::Value* Emitter::call_routine(Primitive primitive, ScalarType type, llvm::Value* x, llvm::Value* y) {
  const int vector_bytes = std::min(machine_.vector_bytes, 64);
  const int number = routine_number(primitive, type, vector_bytes);
  if (number < 0) throw InternalError("no routine for " + std::string(ir::info(primitive).name));
  const int lanes = vector_bytes / static_cast<int>(size_of(type));
  const bool binary = ir::info(primitive).arity == 2;
  llvm::Type* vector = llvm::FixedVectorType::get(type_of(type), static_cast<unsigned>(lanes));
  auto* signature = llvm::FunctionType::get(
      vector, std::vector<llvm::Type*>(static_cast<std::size_t>(ir::info(primitive).arity), vector), false);
  llvm::Value* routine = frame.routine(number);
  const auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const int has = shape ? static_cast<int>(shape->getNumElements()) : 1;
  std::vector<llvm::Value*> parts;
  for (int first = 0; first < has; first += lanes) {
    std::vector<llvm::Value*> operands{part_of(b, x, first, lanes)};
    if (binary) operands.push_back(part_of(b, y, first, lanes));
    llvm::CallInst* call = b.CreateCall(signature, routine, operands);
    call->addFnAttr(llvm::Attribute::NoUnwind);
    call->addFnAttr(llvm::Attribute::WillReturn);
    call->setDoesNotAccessMemory();
    parts.push_back(call);
  }
  llvm::Value* all = joined(b, std::move(parts));
  if (!shape) return b.CreateExtractElement(all, std::uint64_t{0});
  return has < lanes ? part_of(b, all, 0, has) : all;
}

}  // namespace anabranch::cpu
