#include "cpu/llvm/emitter.h"

/// Reads of arrays, and the checks of their indices. A failed check never traps: the lane gets a zero, the
/// offence is remembered, and the common path is a compare and a branch that is never taken.
namespace anabranch::cpu {

int Emitter::check_of(const ir::Node& node) const {
  const auto found = checks_.find(&node);
  if (found == checks_.end()) throw InternalError(std::string("kernel: no check for ") + node.label());
  return found->second;
}

Values Emitter::read(const ir::Node& node) {
  const ir::Node& array = *node.child(0);
  if (at_own_position && at_own_position(node)) {
    View flat = views_.at(&array);
    return access(flat, array, flat_position, mask);
  }
  const View& view = views_.at(&array);
  const Values& index = values(*node.child(1));

  std::vector<Test> tests;
  Value linear = uniform(frame.number(0));
  if (node.op() == ir::Op::linear_index) {
    Value size = uniform(frame.number(1));
    for (const Value& e : view.extents) size = multiply(size, e);
    linear = index[0];
    tests.push_back({index[0], size});
  } else {
    for (std::size_t d = 0; d < index.size(); ++d) {
      linear = d == 0 ? index[0] : add(multiply(linear, view.extents[d]), index[d]);
      tests.push_back({index[d], view.extents[d]});
    }
  }
  const Value position = add(view.base, linear);
  if (node.payload().proved || tests.empty()) return access(view, array, position, mask);
  const int check = check_of(node);

  if (mask) {
    llvm::Value* good = mask;
    for (const Test& test : tests) good = b.CreateAnd(good, in_range(test));
    llvm::Value* bad = b.CreateXor(good, mask);
    // One place for all lanes is read by an ordinary load, which needs all to be well.
    bool one_place = position.uniform();
    for (const Test& test : tests) one_place = one_place && test.index.uniform() && test.bound.uniform();
    if (!one_place) {
      llvm::BasicBlock* failed = frame.block("out_of_range");
      llvm::BasicBlock* next = frame.block("read");
      frame.branch_likely(b.CreateNot(any(bad)), next, failed);
      b.SetInsertPoint(failed);
      for (const Test& test : tests)
        record(check, test, b.CreateAnd(mask, b.CreateNot(in_range(test))), tests.size() == 1);
      b.CreateBr(next);
      b.SetInsertPoint(next);
      Value spread = position;
      if (spread.uniform()) spread = varying(lanes(spread));
      return access(view, array, spread, good);
    }
  }

  llvm::Value* good = nullptr;
  for (const Test& test : tests) {
    llvm::Value* one = in_range_all(test);
    good = good ? b.CreateAnd(good, one) : one;
  }
  llvm::BasicBlock* inside = frame.block("in_range");
  llvm::BasicBlock* failed = frame.block("out_of_range");
  llvm::BasicBlock* next = frame.block("read");
  frame.branch_likely(good, inside, failed);

  b.SetInsertPoint(inside);
  bool spread = !position.uniform();
  for (const Test& test : tests) spread = spread || !test.index.uniform() || !test.bound.uniform();
  Values result = access(view, array, position, mask);
  if (spread)
    for (Value& v : result) v = varying(lanes(v));
  llvm::BasicBlock* inside_end = b.GetInsertBlock();
  b.CreateBr(next);

  b.SetInsertPoint(failed);
  std::vector<llvm::Value*> harmless;
  if (!spread) {
    for (const Test& test : tests) record(check, test, b.CreateNot(in_range_all(test)), tests.size() == 1);
    for (const Value& v : result) harmless.push_back(llvm::Constant::getNullValue(v.v->getType()));
  } else {
    llvm::Value* sound = llvm::Constant::getAllOnesValue(vector_type(b.getInt1Ty()));
    for (const Test& test : tests) {
      llvm::Value* one = in_range(test);
      record(check, test, b.CreateNot(one), tests.size() == 1);
      sound = b.CreateAnd(sound, one);
    }
    Value places = position;
    if (places.uniform()) places = varying(lanes(places));
    for (const Value& v : access(view, array, places, sound)) harmless.push_back(v.v);
  }
  llvm::BasicBlock* failed_end = b.GetInsertBlock();
  b.CreateBr(next);

  b.SetInsertPoint(next);
  for (std::size_t c = 0; c < result.size(); ++c) {
    llvm::PHINode* phi = b.CreatePHI(result[c].v->getType(), 2);
    phi->addIncoming(result[c].v, inside_end);
    phi->addIncoming(harmless[c], failed_end);
    // Column numbers that were loaded as they lie are still in memory, unless the check failed.
    result[c] = spread ? varying(phi) : uniform(phi);
  }
  return result;
}

Values Emitter::access(const View& view, const ir::Node& array, const Value& position, llvm::Value* active) {
  Values out;
  const auto& scalars = array.type().scalars;
  for (std::size_t c = 0; c < scalars.size(); ++c)
    out.push_back(load(view.buffers[c], scalars[c], position, active));
  return out;
}

/// One bit: is the index in range in all lanes (of a full vector)?
llvm::Value* Emitter::in_range_all(const Test& test) {
  const Value& i = test.index;
  if (test.bound.uniform()) {
    if (i.uniform()) return b.CreateICmpULT(i.v, test.bound.v);
    if (i.kind == Value::Kind::affine && i.stride > 0) {
      // In range at both ends, and the far end not wrapped around: then everywhere between.
      llvm::Value* last = b.CreateAdd(i.v, frame.number((width - 1) * i.stride));
      return b.CreateAnd(b.CreateICmpULT(i.v, test.bound.v), b.CreateICmpULT(last, test.bound.v));
    }
  }
  if (width == 1) return b.CreateICmpULT(lanes(i), lanes(test.bound));
  llvm::Type* bits = b.getIntNTy(static_cast<unsigned>(width));
  return b.CreateICmpEQ(b.CreateBitCast(in_range(test), bits), llvm::Constant::getAllOnesValue(bits));
}

llvm::Value* Emitter::in_range(const Test& test) {
  if (test.index.narrow && test.bound.uniform()) {
    // A sign-extended int32 is in range exactly if its low half is, for bounds up to 2^31.
    llvm::Value* bound =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, test.bound.v, frame.number(std::int64_t{1} << 31));
    bound = b.CreateTrunc(bound, b.getInt32Ty());
    return b.CreateICmpULT(test.index.narrow, b.CreateVectorSplat(static_cast<unsigned>(width), bound));
  }
  return b.CreateICmpULT(lanes(test.index), lanes(test.bound));
}

/// Remembers the first lane of `bad` (a bit at width 1, or where all lanes share it), if there is one, as
/// there must be if this is the only test.
void Emitter::record(int check, const Test& test, llvm::Value* bad, bool only_test) {
  llvm::BasicBlock* next = nullptr;
  if (!only_test) {
    llvm::BasicBlock* found = frame.block("offence");
    next = frame.block("checked");
    b.CreateCondBr(bad->getType()->isVectorTy() ? any(bad) : bad, found, next);
    b.SetInsertPoint(found);
  }
  llvm::Value* lane = nullptr;
  const auto pick = [&](const Value& v) -> llvm::Value* {
    if (v.uniform()) return v.v;
    if (!lane) {
      llvm::Value* bits = b.CreateBitCast(bad, b.getIntNTy(static_cast<unsigned>(width)));
      lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue());
      lane = b.CreateZExtOrTrunc(lane, frame.i64());
    }
    return b.CreateExtractElement(lanes(v), lane);
  };
  if (width == 1)
    frame.record(check, pick(test.index), pick(test.bound));
  else
    frame.record_by_call(check, pick(test.index), pick(test.bound));
  if (only_test) return;
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

}  // namespace anabranch::cpu
