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
  // LLVM before 22 takes |x| > 0 for x > 0 where it reasons by classes of floats (llvm/llvm-project#152824). It does not
  // where operands that are denormal might be flushed, and nothing else is lost by saying so.
  function_->addFnAttr("denormal-fp-math", "ieee,dynamic");
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
  // KernelArgs: pointers and numbers, eight bytes each.
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
llvm::Value* Frame::any_rows() { return fetch(offsetof(KernelArgs, any_rows), b.getPtrTy(), -1, "any_rows"); }
llvm::Value* Frame::ahead() { return fetch(offsetof(KernelArgs, ahead), i64(), -1, "ahead"); }

llvm::Value* Frame::positions_end() {
  return fetch(offsetof(KernelArgs, positions_end), b.getPtrTy(), -1, "positions_end");
}

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

llvm::LoadInst* Frame::load_element(llvm::Type* type, llvm::Value* address, unsigned align) {
  return writes_in_place ? b.CreateAlignedLoad(type, address, llvm::Align(align))
                         : load_constant(type, address, align);
}

void Frame::prefetch(llvm::Value* address, bool to_write) {
  constexpr std::uint32_t read = 0, write = 1, keep = 3, data = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {address, b.getInt32(to_write ? write : read), b.getInt32(keep), b.getInt32(data)});
}

void Frame::branch_likely(llvm::Value* condition, llvm::BasicBlock* good, llvm::BasicBlock* bad) {
  b.CreateCondBr(condition, good, bad, llvm::MDBuilder(b.getContext()).createBranchWeights(1u << 20, 1));
}

void Frame::branch_likely_weakly(llvm::Value* condition, llvm::BasicBlock* usual, llvm::BasicBlock* seldom) {
  b.CreateCondBr(condition, usual, seldom, llvm::MDBuilder(b.getContext()).createBranchWeights(8, 1));
}

void Frame::leave(int check, llvm::Value* value, llvm::Value* bound) {
  b.CreateBr(on_failure ? on_failure : failed(check, value, bound));
}

void Frame::leave_unless(llvm::Value* good, int check, llvm::Value* value, llvm::Value* bound) {
  llvm::BasicBlock* next = block("checked");
  branch_likely(good, next, on_failure ? on_failure : failed(check, value, bound));
  b.SetInsertPoint(next);
}

namespace {
/// Some microseconds of the shortest rounds: quick enough for a user, and rare enough to cost nothing.
constexpr std::uint32_t rounds_between_looks = 4096;
}  // namespace

Frame::Rounds::Rounds(Frame& frame) : f_(frame) {
  auto& b = f_.b;
  kept_ = f_.local(b.getInt32Ty());
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(b);
    b.SetInsertPoint(f_.first_);
    b.CreateStore(b.getInt32(rounds_between_looks), kept_);
  }
  first_ = b.CreateLoad(b.getInt32Ty(), kept_);
}

void Frame::Rounds::enter(llvm::BasicBlock* before) {
  left_ = f_.b.CreatePHI(f_.b.getInt32Ty(), 2, "rounds");
  left_->addIncoming(first_, before);
}

void Frame::Rounds::next() {
  auto& b = f_.b;
  llvm::Value* less = b.CreateSub(left_, b.getInt32(1));
  llvm::BasicBlock *look = f_.block("look"), *round_end = f_.block("round_end");
  llvm::BasicBlock* before = b.GetInsertBlock();
  f_.branch_likely(b.CreateIsNotNull(less), round_end, look);
  b.SetInsertPoint(look);
  f_.leave_if_stopped();
  llvm::BasicBlock* again = b.GetInsertBlock();
  b.CreateBr(round_end);
  b.SetInsertPoint(round_end);
  llvm::PHINode* left = b.CreatePHI(b.getInt32Ty(), 2);
  left->addIncoming(less, before);
  left->addIncoming(b.getInt32(rounds_between_looks), again);
  left_->addIncoming(left, round_end);
}

llvm::BasicBlock* Frame::stopped() {
  if (!stopped_) {
    stopped_ = block("stopped");
    llvm::IRBuilder<>(stopped_).CreateRetVoid();
  }
  return stopped_;
}

void Frame::leave_if_stopped() {
  llvm::Value* field = b.CreateConstGEP1_64(b.getInt8Ty(), args(), offsetof(KernelArgs, stop));
  llvm::Value* word = load_constant(b.getPtrTy(), field, 8);
  llvm::Value* told = b.CreateAlignedLoad(b.getInt32Ty(), word, llvm::Align(4), /*isVolatile=*/true);
  llvm::BasicBlock* again = block("again");
  branch_likely(b.CreateIsNull(told), again, stopped());
  b.SetInsertPoint(again);
}

void Frame::leave_if_failed() {
  llvm::Value* field = b.CreateConstGEP1_64(b.getInt8Ty(), args(), offsetof(KernelArgs, error));
  llvm::Value* error = load_constant(b.getPtrTy(), field, 8);
  llvm::Value* failed = b.CreateConstGEP1_64(b.getInt8Ty(), error, offsetof(ErrorRecord, failed));
  llvm::BasicBlock* good = block("succeeded");
  branch_likely(b.CreateIsNull(b.CreateAlignedLoad(i64(), failed, llvm::Align(8))), good, stopped());
  b.SetInsertPoint(good);
}

void Frame::Rounds::leave() { f_.b.CreateStore(left_, kept_); }

/// One block for all checks of the function, reached from the current block with this failure.
llvm::BasicBlock* Frame::failed(int check, llvm::Value* value, llvm::Value* bound) {
  if (!failed_) {
    failed_ = block("failed");
    llvm::BasicBlock *first = block("first_failure"), *done = block("leave");
    llvm::IRBuilder<> c(failed_);
    for (const char* name : {"check", "value", "bound"}) offence_.push_back(c.CreatePHI(i64(), 4, name));
    const auto field = [&](llvm::Value* from, std::size_t offset) {
      return c.CreateConstGEP1_64(c.getInt8Ty(), from, offset);
    };
    llvm::Value* error =
        c.CreateAlignedLoad(c.getPtrTy(), field(args(), offsetof(KernelArgs, error)), llvm::Align(8));
    llvm::Value* place = field(error, offsetof(ErrorRecord, failed));
    c.CreateCondBr(c.CreateIsNull(c.CreateAlignedLoad(i64(), place, llvm::Align(8))), first, done);
    c.SetInsertPoint(first);
    c.CreateAlignedStore(c.CreateAdd(offence_[0], number(1)), place, llvm::Align(8));
    c.CreateAlignedStore(offence_[1], field(error, offsetof(ErrorRecord, value)), llvm::Align(8));
    c.CreateAlignedStore(offence_[2], field(error, offsetof(ErrorRecord, bound)), llvm::Align(8));
    c.CreateBr(done);
    c.SetInsertPoint(done);
    c.CreateRetVoid();
  }
  offence_[0]->addIncoming(number(check), b.GetInsertBlock());
  offence_[1]->addIncoming(value, b.GetInsertBlock());
  offence_[2]->addIncoming(bound, b.GetInsertBlock());
  return failed_;
}

}  // namespace anabranch::cpu
