#include "cpu/llvm/remainder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace anabranch::cpu {

namespace {

constexpr std::uint64_t fraction_bits = 52;

struct Parts {
  llvm::Value* significand;  ///< bit 52 set
  llvm::Value* exponent;
};

/// Significand and exponent of a finite, non-zero number given by its magnitude bits.
Parts split(llvm::IRBuilder<>& b, llvm::Value* magnitude) {
  llvm::Value* biased = b.CreateLShr(magnitude, fraction_bits);
  llvm::Value* subnormal = b.CreateICmpEQ(biased, b.getInt64(0));
  llvm::Value* shift =
      b.CreateSub(b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b.getFalse()), b.getInt64(11));
  llvm::Value* fraction = b.CreateAnd(magnitude, b.getInt64((std::uint64_t{1} << fraction_bits) - 1));
  llvm::Value* normal = b.CreateOr(fraction, b.getInt64(std::uint64_t{1} << fraction_bits));
  // Only taken for subnormal numbers, where the shift is between 1 and 52.
  llvm::Value* safe_shift = b.CreateAnd(shift, b.getInt64(63));
  return {b.CreateSelect(subnormal, b.CreateShl(magnitude, safe_shift), normal),
          b.CreateSelect(subnormal, b.CreateSub(b.getInt64(1), shift), biased)};
}

}  // namespace

// Long division, one bit of the quotient a round, as in every C library: exact by construction.
llvm::Function* remainder_function(const llvm::Function& user) {
  llvm::Module& module = *const_cast<llvm::Module*>(user.getParent());
  if (llvm::Function* known = module.getFunction("remainder")) return known;
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* real = b.getDoubleTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(real, {real, real}, false),
                                          llvm::GlobalValue::InternalLinkage, "remainder", module);
  function->setDSOLocal(true);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->setDoesNotAccessMemory();
  for (const char* name : {"target-cpu", "target-features", "denormal-fp-math"})
    function->addFnAttr(name, user.getFnAttribute(name).getValueAsString());
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module.getContext(), name, function);
  };
  llvm::BasicBlock *start = block("start"), *undefined = block("undefined"), *defined = block("defined"),
                   *smaller = block("smaller"), *divide = block("divide"), *round = block("round"),
                   *last = block("last"), *pack = block("pack"), *zero = block("zero");
  llvm::Value* x = function->getArg(0);
  llvm::Value* y = function->getArg(1);

  b.SetInsertPoint(start);
  llvm::Constant* magnitude_mask = b.getInt64(~(std::uint64_t{1} << 63));
  llvm::Constant* infinity = b.getInt64(std::uint64_t{0x7ff} << fraction_bits);
  llvm::Value* x_bits = b.CreateBitCast(x, b.getInt64Ty());
  llvm::Value* mx = b.CreateAnd(x_bits, magnitude_mask);
  llvm::Value* my = b.CreateAnd(b.CreateBitCast(y, b.getInt64Ty()), magnitude_mask);
  llvm::Value* sign = b.CreateXor(x_bits, mx);
  llvm::Value* no_meaning =
      b.CreateOr(b.CreateICmpEQ(my, b.getInt64(0)),
                 b.CreateOr(b.CreateICmpUGT(my, infinity), b.CreateICmpUGE(mx, infinity)));
  b.CreateCondBr(no_meaning, undefined, defined);

  b.SetInsertPoint(undefined);
  llvm::Value* product = b.CreateFMul(x, y);
  b.CreateRet(b.CreateFDiv(product, product));

  b.SetInsertPoint(defined);
  b.CreateCondBr(b.CreateICmpULT(mx, my), smaller, divide);
  b.SetInsertPoint(smaller);
  b.CreateRet(x);

  b.SetInsertPoint(divide);
  const Parts px = split(b, mx);
  const Parts py = split(b, my);
  b.CreateBr(round);

  b.SetInsertPoint(round);
  llvm::PHINode* exponent = b.CreatePHI(b.getInt64Ty(), 2);
  llvm::PHINode* rest = b.CreatePHI(b.getInt64Ty(), 2);
  exponent->addIncoming(px.exponent, divide);
  rest->addIncoming(px.significand, divide);
  llvm::Value* difference = b.CreateSub(rest, py.significand);
  llvm::Value* reduced = b.CreateSelect(b.CreateICmpSGE(difference, b.getInt64(0)), difference, rest);
  exponent->addIncoming(b.CreateSub(exponent, b.getInt64(1)), round);
  rest->addIncoming(b.CreateShl(reduced, 1), round);
  b.CreateCondBr(b.CreateICmpSGT(exponent, py.exponent), round, last);

  b.SetInsertPoint(last);
  b.CreateCondBr(b.CreateICmpEQ(reduced, b.getInt64(0)), zero, pack);
  b.SetInsertPoint(zero);
  b.CreateRet(b.CreateBitCast(sign, real));

  b.SetInsertPoint(pack);
  llvm::Value* shift =
      b.CreateSub(b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, reduced, b.getTrue()), b.getInt64(11));
  llvm::Value* significand = b.CreateShl(reduced, shift);
  llvm::Value* final_exponent = b.CreateSub(py.exponent, shift);
  llvm::Value* normal = b.CreateAdd(b.CreateSub(significand, b.getInt64(std::uint64_t{1} << fraction_bits)),
                                    b.CreateShl(final_exponent, fraction_bits));
  llvm::Value* subnormal =
      b.CreateLShr(significand, b.CreateAnd(b.CreateSub(b.getInt64(1), final_exponent), b.getInt64(63)));
  llvm::Value* magnitude = b.CreateSelect(b.CreateICmpSGT(final_exponent, b.getInt64(0)), normal, subnormal);
  b.CreateRet(b.CreateBitCast(b.CreateOr(magnitude, sign), real));
  return function;
}

}  // namespace anabranch::cpu
