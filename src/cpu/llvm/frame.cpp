#include "cpu/llvm/frame.h"

#include <cstddef>

#include <llvm/IR/MDBuilder.h>

namespace anabranch::cpu {

Frame::Frame(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> parameters,
             bool entry, const Machine& machine)
    : b(module.getContext()) {
  std::vector<llvm::Type*> types{b.getPtrTy()};
  types.insert(types.end(), parameters.begin(), parameters.end());
  function_ = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), types, false),
      entry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage, name, module);
  function_->setDSOLocal(true);
  if (entry) function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // Callers keep the stack aligned for 16 bytes only; spilled vectors need more.
  function_->addFnAttr("stackrealign");
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("target-cpu", machine.cpu);
  function_->addFnAttr("target-features", machine.features);
  if (machine.vector_bytes >= 64) function_->addFnAttr("prefer-vector-width", "512");
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  first_ = llvm::BasicBlock::Create(module.getContext(), "first", function_);
  start_ = llvm::BasicBlock::Create(module.getContext(), "start", function_);
  b.SetInsertPoint(start_);
}

void Frame::finish() { llvm::IRBuilder<>(first_).CreateBr(start_); }

llvm::Value* Frame::fetch(std::size_t field, llvm::Type* type, int index, const char* name) {
  llvm::Value*& value = fetched_[{field, index}];
  if (value) return value;
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(first_);
  // KernelArgs: four table pointers and the number of items, eight bytes each.
  llvm::Value* at = b.CreateConstGEP1_64(b.getInt8Ty(), args(), field);
  if (index < 0) return value = load_constant(type, at, 8);
  llvm::Value*& table = fetched_[{field, -1}];
  if (!table) table = load_constant(b.getPtrTy(), at, 8);
  value = load_constant(type, b.CreateConstGEP1_64(type, table, static_cast<std::uint64_t>(index)), 8);
  value->setName(name + std::to_string(index));
  return value;
}

llvm::Value* Frame::buffer(int slot) {
  return fetch(offsetof(KernelArgs, buffers), b.getPtrTy(), slot, "buffer");
}
llvm::Value* Frame::scalar(int slot) { return fetch(offsetof(KernelArgs, scalars), i64(), slot, "scalar"); }
llvm::Value* Frame::routine(int n) {
  return fetch(offsetof(KernelArgs, functions), b.getPtrTy(), n, "routine");
}
llvm::Value* Frame::items() { return fetch(offsetof(KernelArgs, items), i64(), -1, "items"); }

llvm::Value* Frame::local(llvm::Type* type, std::uint64_t count) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(first_, first_->begin());
  llvm::AllocaInst* place = b.CreateAlloca(type, b.getInt64(count));
  place->setAlignment(llvm::Align(64));
  return place;
}

llvm::BasicBlock* Frame::block(const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, function_);
}

llvm::LoadInst* Frame::load_constant(llvm::Type* type, llvm::Value* address, unsigned align) {
  llvm::LoadInst* load = b.CreateAlignedLoad(type, address, llvm::Align(align));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

void Frame::branch_likely(llvm::Value* condition, llvm::BasicBlock* good, llvm::BasicBlock* bad) {
  b.CreateCondBr(condition, good, bad, llvm::MDBuilder(b.getContext()).createBranchWeights(1u << 20, 1));
}

void Frame::branch_likely_weakly(llvm::Value* condition, llvm::BasicBlock* usual, llvm::BasicBlock* seldom) {
  b.CreateCondBr(condition, usual, seldom, llvm::MDBuilder(b.getContext()).createBranchWeights(8, 1));
}

void Frame::record(int check, llvm::Value* value, llvm::Value* bound) {
  llvm::Value* errors = fetch(offsetof(KernelArgs, errors), b.getPtrTy(), -1, "errors");
  llvm::Value* record =
      b.CreateConstGEP1_64(b.getInt8Ty(), errors, static_cast<std::uint64_t>(check) * sizeof(ErrorRecord));
  llvm::BasicBlock *first = block("first_failure"), *done = block("recorded");
  store_failure(b, record, value, bound, first, done);
}

void Frame::store_failure(llvm::IRBuilder<>& at, llvm::Value* record, llvm::Value* value, llvm::Value* bound,
                          llvm::BasicBlock* first, llvm::BasicBlock* done) {
  const auto field = [&](std::size_t offset) {
    return at.CreateConstGEP1_64(at.getInt8Ty(), record, offset);
  };
  llvm::Value* failed = at.CreateAlignedLoad(i64(), field(offsetof(ErrorRecord, failed)), llvm::Align(8));
  at.CreateCondBr(at.CreateICmpEQ(failed, number(0)), first, done);
  at.SetInsertPoint(first);
  at.CreateAlignedStore(number(1), field(offsetof(ErrorRecord, failed)), llvm::Align(8));
  at.CreateAlignedStore(value, field(offsetof(ErrorRecord, value)), llvm::Align(8));
  at.CreateAlignedStore(bound, field(offsetof(ErrorRecord, bound)), llvm::Align(8));
  at.CreateBr(done);
  at.SetInsertPoint(done);
}

void Frame::record_by_call(int check, llvm::Value* value, llvm::Value* bound) {
  llvm::CallInst* call = b.CreateCall(failure(), {args(), number(check), value, bound});
  call->setCallingConv(llvm::CallingConv::PreserveMost);
}

/// fail(args, check, value, bound), once per module.
llvm::Function* Frame::failure() {
  llvm::Module& module = *function_->getParent();
  if (llvm::Function* known = module.getFunction("fail")) return known;
  auto* fail = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), i64(), i64(), i64()}, false),
      llvm::GlobalValue::InternalLinkage, "fail", module);
  fail->setDSOLocal(true);
  fail->setCallingConv(llvm::CallingConv::PreserveMost);
  fail->addFnAttr(llvm::Attribute::NoUnwind);
  fail->addFnAttr(llvm::Attribute::NoInline);
  fail->addFnAttr(llvm::Attribute::Cold);
  for (const char* name : {"target-cpu", "target-features"})
    fail->addFnAttr(name, function_->getFnAttribute(name).getValueAsString());
  const auto block_in = [&](const char* name) {
    return llvm::BasicBlock::Create(b.getContext(), name, fail);
  };
  llvm::BasicBlock *look = block_in("look"), *first = block_in("first"), *done = block_in("done");
  llvm::IRBuilder<> c(look);
  llvm::Value* errors = c.CreateAlignedLoad(
      c.getPtrTy(), c.CreateConstGEP1_64(c.getInt8Ty(), fail->getArg(0), offsetof(KernelArgs, errors)),
      llvm::Align(8));
  llvm::Value* record =
      c.CreateGEP(c.getInt8Ty(), errors, c.CreateMul(fail->getArg(1), c.getInt64(sizeof(ErrorRecord))));
  store_failure(c, record, fail->getArg(2), fail->getArg(3), first, done);
  c.CreateRetVoid();
  return fail;
}

}  // namespace anabranch::cpu
