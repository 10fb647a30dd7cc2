#pragma once

#include "cpu/llvm/row_code.h"

namespace anabranch::cpu {

/// fold_order::CounterTree in generated code: results of a row's blocks wait in a stack, in the stack frame if no
/// other cells are given. `Code` is a RowCode with a `join`.
template <class Code>
class BlockTree {
 public:
  explicit BlockTree(Code& code) : BlockTree(code, code.cells(64)) {}
  BlockTree(Code& code, llvm::Value* stack) : r_(code), stack_(stack) {}

  /// Enters the result of block number `block`, `depth` entries being on the stack; gives the new depth.
  llvm::Value* push(llvm::Value* block, llvm::Value* depth, Registers result) {
    auto& b = r_.b;
    // Like adding one to a binary number: each trailing one bit of `block` joins two equal subtrees.
    llvm::Value* joins = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b.CreateNot(block), b.getFalse());
    result.push_back(depth);
    Registers out =
        r_.f.loop(r_.f.number(0), joins, 1, result, "carry", [&](llvm::Value*, const Registers& s) {
          llvm::Value* top = b.CreateSub(s.back(), r_.f.number(1));
          Registers next = r_.join(r_.get(stack_, top), Registers(s.begin(), s.end() - 1));
          next.push_back(top);
          return next;
        });
    llvm::Value* top = out.back();
    out.pop_back();
    r_.put(stack_, top, out);
    return b.CreateAdd(top, r_.f.number(1));
  }

  /// What `depth` >= 1 entries come to: they are joined from the right, and stay where they are.
  Registers total(llvm::Value* depth) {
    auto& b = r_.b;
    llvm::Value* top = b.CreateSub(depth, r_.f.number(1));
    return r_.f.loop(r_.f.number(0), top, 1, r_.get(stack_, top), "total",
                     [&](llvm::Value* i, const Registers& so_far) {
                       llvm::Value* next = b.CreateSub(b.CreateSub(top, r_.f.number(1)), i);
                       return r_.join(r_.get(stack_, next), so_far);
                     });
  }

 private:
  Code& r_;
  llvm::Value* stack_;
};

}  // namespace anabranch::cpu
