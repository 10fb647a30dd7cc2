#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "cpu/abi.h"
#include "kernel/kernel.h"

namespace anabranch::cpu {

/// What the code of one kernel is generated for.
struct Machine {
  std::string cpu, features;
  int vector_bytes = 64;         ///< of one vector register
  bool computes_halves = false;  ///< adds, multiplies ... vectors of them
  int forced_lanes = 0;          ///< 0: chosen per kernel; 1: scalar code only (tests)
  bool fetches_ahead = false;    ///< what a gather that is known beforehand will read
};

/// One function of the image under construction: its builder, and what its first block fetches from the
/// arguments. Everything fetched there dominates the whole function, so that it may be asked for at any time.
class Frame {
 public:
  /// A function `name(args, parameters...)` returning nothing.
  Frame(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> parameters, bool entry,
        const Machine& machine);
  /// Closes the first block; nothing more may be fetched.
  void finish();

  llvm::IRBuilder<> b;

  llvm::Function* function() const { return function_; }
  llvm::Value* parameter(unsigned i) const { return function_->getArg(i + 1); }
  llvm::Value* args() const { return function_->getArg(0); }

  llvm::Value* buffer(int slot);
  llvm::Value* scalar(int slot);
  llvm::Value* routine(int number);
  llvm::Value* items();
  llvm::Value* ahead();
  llvm::Value* positions_end();
  llvm::Value* any_rows();
  /// Memory in the stack frame.
  llvm::Value* local(llvm::Type* type, std::uint64_t count = 1);

  llvm::BasicBlock* block(const char* name);
  /// A load from memory that this kernel never writes.
  llvm::LoadInst* load_constant(llvm::Type* type, llvm::Value* address, unsigned align);
  /// A load from an array that the kernel reads; it may be one that it overwrites.
  llvm::LoadInst* load_element(llvm::Type* type, llvm::Value* address, unsigned align);
  bool writes_in_place = false;
  /// Prefetches the cache line at an address, which need not be valid.
  void prefetch(llvm::Value* address, bool to_write = false);
  /// Goes to `good` almost always.
  void branch_likely(llvm::Value* condition, llvm::BasicBlock* good, llvm::BasicBlock* bad);

  /// Goes to `usual` more often than not.
  void branch_likely_weakly(llvm::Value* condition, llvm::BasicBlock* usual, llvm::BasicBlock* seldom);

  /// Where code goes whose checks fail, instead of recording it: it stores nothing, and what else computes the same tells it.
  llvm::BasicBlock* on_failure = nullptr;
  /// A check has failed: records it, unless one failed before, and leaves the function.
  void leave(int check, llvm::Value* value, llvm::Value* bound);
  /// The same unless `good`; code goes on where it holds.
  void leave_unless(llvm::Value* good, int check, llvm::Value* value, llvm::Value* bound);

  /// Leaves the function if a check of a function that it called has failed.
  void leave_if_failed();

  /// Looks at the stop word, and leaves the function if the run was told to stop.
  void leave_if_stopped();
  /// Of a loop that may not terminate: rounds that are left until it reads the stop word. They are counted
  /// across all entries into the loop, so that many short runs count as one long one.
  class Rounds {
   public:
    /// Where the loop is entered.
    explicit Rounds(Frame& frame);
    /// In its header, which `before` leads to.
    void enter(llvm::BasicBlock* before);
    /// At the end of a round: leaves the function if it is time to look and the run was told to stop.
    void next();
    /// Where the loop has ended.
    void leave();

   private:
    Frame& f_;
    llvm::Value* kept_;   ///< between entries
    llvm::Value* first_;  ///< when entered
    llvm::PHINode* left_ = nullptr;
  };

  /// for (i = begin; i < end; i += step) carried = body(i, carried); gives the carried values.
  template <class Body>
  std::vector<llvm::Value*> loop(llvm::Value* begin, llvm::Value* end, std::int64_t step,
                                 const std::vector<llvm::Value*>& carried, const char* name, Body&& body);
  /// for (i = begin; i < end; i += step) body(i);
  template <class Body>
  void each(llvm::Value* begin, llvm::Value* end, std::int64_t step, const char* name, Body&& body) {
    loop(begin, end, step, {}, name, [&](llvm::Value* i, const auto&) {
      body(i);
      return std::vector<llvm::Value*>{};
    });
  }

  llvm::Type* i64() { return b.getInt64Ty(); }
  llvm::ConstantInt* number(std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); }
  /// a[i] for an array of `type`.
  llvm::Value* element(llvm::Type* type, llvm::Value* a, llvm::Value* i) { return b.CreateGEP(type, a, i); }

 private:
  llvm::BasicBlock* stopped();
  llvm::BasicBlock* failed(int check, llvm::Value* value, llvm::Value* bound);
  llvm::Value* fetch(std::size_t field, llvm::Type* type, int index, const char* name);

  llvm::Function* function_;
  llvm::BasicBlock* first_;
  llvm::BasicBlock* start_;
  llvm::BasicBlock* failed_ = nullptr;   ///< where all failed checks of the function go
  llvm::BasicBlock* stopped_ = nullptr;  ///< where all go that leave the function with nothing to record
  std::vector<llvm::PHINode*> offence_;  ///< there: check, value, bound
  std::map<std::pair<std::size_t, int>, llvm::Value*> fetched_;
};

template <class Body>
std::vector<llvm::Value*> Frame::loop(llvm::Value* begin, llvm::Value* end, std::int64_t step,
                                      const std::vector<llvm::Value*>& carried, const char* name,
                                      Body&& body) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* header = block(name);
  llvm::BasicBlock* inside = block("round");
  llvm::BasicBlock* after = block("done");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* i = b.CreatePHI(i64(), 2, "i");
  i->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* value : carried) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  b.CreateCondBr(b.CreateICmpSLT(i, end), inside, after);
  b.SetInsertPoint(inside);
  const std::vector<llvm::Value*> current(phis.begin(), phis.end());
  const std::vector<llvm::Value*> next = body(static_cast<llvm::Value*>(i), current);
  i->addIncoming(b.CreateAdd(i, number(step), "", /*NUW=*/false, /*NSW=*/true), b.GetInsertBlock());
  for (std::size_t c = 0; c < phis.size(); ++c) phis[c]->addIncoming(next[c], b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
  return current;
}

}  // namespace anabranch::cpu
