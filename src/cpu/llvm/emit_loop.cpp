#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "cpu/llvm/emitter.h"
#include "ir/views.h"
#include "ir/walk.h"

/// Loops inside of an element's computation. Where lanes may end after different numbers of rounds the loop goes on until
/// all have ended, in several registers' worth of lanes, as one round waits for the one before.
namespace anabranch::cpu {

namespace {

/// Lanes in pieces as wide as registers: a mask of more of them would be joined and taken apart in every round.
class Pieces {
 public:
  Pieces(llvm::IRBuilder<>& b, int width, int count) : b_(b), width_(width), count_(count) {}

  std::vector<llvm::Value*> of(llvm::Value* v) const {
    if (count_ == 1) return {v};
    const int size = width_ / count_;
    std::vector<llvm::Value*> out;
    for (int p = 0; p < count_; ++p) out.push_back(b_.CreateShuffleVector(v, lanes(p * size, size)));
    return out;
  }
  llvm::Value* joined(std::vector<llvm::Value*> pieces) const {
    for (; pieces.size() > 1; pieces.resize(pieces.size() / 2)) {
      const int size = 2 * width_ / static_cast<int>(pieces.size());
      for (std::size_t p = 0; p + 1 < pieces.size(); p += 2)
        pieces[p / 2] = b_.CreateShuffleVector(pieces[p], pieces[p + 1], lanes(0, size));
    }
    return pieces[0];
  }
  llvm::Value* select(const std::vector<llvm::Value*>& masks, llvm::Value* x, llvm::Value* y) const {
    std::vector<llvm::Value*> out = of(x), other = of(y);
    for (std::size_t p = 0; p < out.size(); ++p) out[p] = b_.CreateSelect(masks[p], out[p], other[p]);
    return joined(std::move(out));
  }
  llvm::Value* any_of(const std::vector<llvm::Value*>& pieces) const {
    llvm::Value* all = pieces[0];
    for (std::size_t p = 1; p < pieces.size(); ++p) all = b_.CreateOr(all, pieces[p]);
    return all;
  }

 private:
  static std::vector<int> lanes(int first, int count) {
    std::vector<int> out;
    for (int lane = 0; lane < count; ++lane) out.push_back(first + lane);
    return out;
  }

  llvm::IRBuilder<>& b_;
  int width_, count_;
};

/// What a condition of all lanes is made of: `a && b && c`, those apart that are the same for all lanes.
struct Conjunction {
  std::vector<llvm::Value*> varying, uniform;

  explicit Conjunction(llvm::Value* condition) { add(condition); }

 private:
  void add(llvm::Value* v) {
    if (!v->getType()->isVectorTy()) return uniform.push_back(v);  // the condition of a choice for all lanes
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(v);
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(v)) {
      const auto* otherwise = llvm::dyn_cast<llvm::Constant>(choice->getFalseValue());
      if (otherwise && otherwise->isNullValue()) {
        add(choice->getCondition());
        return add(choice->getTrueValue());
      }
    }
    if (instruction && instruction->getOpcode() == llvm::Instruction::And) {
      add(instruction->getOperand(0));
      return add(instruction->getOperand(1));
    }
    if (llvm::Value* scalar = llvm::getSplatValue(v))
      uniform.push_back(scalar);
    else
      varying.push_back(v);
  }
};

}  // namespace

/// How many registers the lanes of values of this type need: of its widest component.
int Emitter::registers_of(const ir::Type& type) const {
  std::size_t bytes = 4;
  for (const ScalarType s : type.scalars) bytes = std::max(bytes, size_of(s));
  return std::max(1, width * static_cast<int>(bytes) / machine_.vector_bytes);
}

Values Emitter::loop(const Regions& regions, int region, const ir::Node& node) {
  const Values initial = values(*ir::WhileLoop(node).initial());
  bool divergent = varies(node);
  for (const Value& v : initial) divergent = divergent || !v.uniform();
  const auto here = mark();
  llvm::Value* const outside = mask;
  const Values out = divergent ? divergent_loop(regions, region, node, initial)
                               : uniform_loop(regions, region, node, initial);
  mask = outside;
  undo(here);
  return out;
}

Values Emitter::uniform_loop(const Regions& regions, int region, const ir::Node& node,
                             const Values& initial) {
  const int inner = regions.inner(region, node);
  const ir::Node& predicate = *ir::WhileLoop(node).predicate();
  const ir::Node& body = *ir::WhileLoop(node).body();
  llvm::BasicBlock *header = frame.block("while"), *round = frame.block("do"), *after = frame.block("ended");
  Frame::Rounds rounds(frame);
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(header);

  b.SetInsertPoint(header);
  rounds.enter(before);
  std::vector<llvm::PHINode*> state;
  Values current;
  for (const Value& v : initial) {
    state.push_back(b.CreatePHI(v.v->getType(), 2));
    state.back()->addIncoming(v.v, before);
    current.push_back(uniform(state.back()));
  }
  bind(*predicate.parameters()[0], current);
  emit_region(regions, inner);
  b.CreateCondBr(value(predicate.result()).v, round, after);

  // Regions are laid out so that the body needs nothing that the predicate computed.
  b.SetInsertPoint(round);
  bind(*body.parameters()[0], current);
  emit_region(regions, inner + 1);
  const Values next = values(*body.result());
  rounds.next();
  for (std::size_t c = 0; c < state.size(); ++c) state[c]->addIncoming(next[c].v, b.GetInsertBlock());
  b.CreateBr(header);

  b.SetInsertPoint(after);
  rounds.leave();
  return current;
}

Values Emitter::divergent_loop(const Regions& regions, int region, const ir::Node& node,
                               const Values& initial) {
  const int inner = regions.inner(region, node);
  const ir::Node& predicate = *ir::WhileLoop(node).predicate();
  const ir::Node& body = *ir::WhileLoop(node).body();
  const std::vector<bool>& live_after = regions.live_components(node);
  std::vector<bool> same_at_first;
  for (const Value& v : initial) same_at_first.push_back(v.uniform());
  const std::vector<bool> same =
      kernel::in_step(node, std::move(same_at_first), [this](const ir::Node& term) { return varies(term); });
  const Pieces pieces(b, width, registers_of(node.type()));
  llvm::BasicBlock *header = frame.block("while"), *round = frame.block("do"), *after = frame.block("ended");

  // Of a component that is in step: the scalar, and what lanes have kept of it.
  std::vector<llvm::Value*> start;
  for (const Value& v : initial) start.push_back(lanes(v));
  const std::vector<llvm::Value*> all =
      pieces.of(mask ? mask : llvm::Constant::getAllOnesValue(vector_type(b.getInt1Ty())));
  Frame::Rounds rounds(frame);
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(header);

  b.SetInsertPoint(header);
  rounds.enter(before);
  const auto enter = [&](llvm::Value* v) {
    llvm::PHINode* phi = b.CreatePHI(v->getType(), 2);
    phi->addIncoming(v, before);
    return phi;
  };
  std::vector<llvm::PHINode*> state(start.size()), scalars(start.size()), live;
  Values current, kept;
  for (std::size_t c = 0; c < start.size(); ++c) {
    if (same[c]) scalars[c] = enter(initial[c].v);
    if (!same[c] || live_after[c]) state[c] = enter(start[c]);
    current.push_back(same[c] ? uniform(scalars[c]) : varying(state[c]));
    kept.push_back(state[c] ? varying(state[c]) : current[c]);
  }
  for (llvm::Value* piece : all) live.push_back(enter(piece));
  mask = pieces.joined({live.begin(), live.end()});
  bind(*predicate.parameters()[0], current);
  emit_region(regions, inner);
  const Conjunction wanted(lanes(value(predicate.result())));
  std::vector<llvm::Value*> still(live.begin(), live.end());
  for (llvm::Value* condition : wanted.varying) {
    const std::vector<llvm::Value*> of_lanes = pieces.of(condition);
    for (std::size_t p = 0; p < still.size(); ++p) still[p] = b.CreateAnd(still[p], of_lanes[p]);
  }
  llvm::Value* goes_on = any(pieces.any_of(still));
  for (llvm::Value* condition : wanted.uniform) goes_on = b.CreateAnd(goes_on, condition);
  b.CreateCondBr(goes_on, round, after);

  b.SetInsertPoint(round);
  mask = pieces.joined(still);
  bind(*body.parameters()[0], current);
  emit_region(regions, inner + 1);
  const Values next = values(*body.result());
  std::vector<llvm::Value*> then(start.size());
  for (std::size_t c = 0; c < start.size(); ++c) {
    if (!state[c]) continue;
    // Lanes that have ended keep what is read afterwards; the rest of their state may run on.
    then[c] = live_after[c] ? pieces.select(still, lanes(next[c]), state[c]) : lanes(next[c]);
  }
  rounds.next();
  llvm::BasicBlock* end = b.GetInsertBlock();
  for (std::size_t c = 0; c < start.size(); ++c) {
    if (scalars[c]) scalars[c]->addIncoming(next[c].v, end);
    if (state[c]) state[c]->addIncoming(then[c], end);
  }
  for (std::size_t p = 0; p < live.size(); ++p) live[p]->addIncoming(still[p], end);
  b.CreateBr(header);

  b.SetInsertPoint(after);
  rounds.leave();
  return kept;
}

}  // namespace anabranch::cpu
