#include "cpu/llvm/skeleton.h"

#include <algorithm>
#include <unordered_map>

#include "ir/math_recipe.h"

namespace anabranch::cpu {

void enter_launch(Emitter& e, const kernel::Kernel& kernel) {
  const Value none = e.uniform(e.frame.number(0));
  for (const auto& array : kernel.arrays) {
    const bool avoided = array.form == kernel::Form::avoided;
    e.set_level(*array.parameter, avoided ? Level::launch : Level::item);
    if (avoided) e.set_view(*array.parameter, e.view(array, none));
  }
  for (const auto& scalar : kernel.scalars) {
    const bool same = scalar.value.same_for_all();
    e.set_level(*scalar.parameter, same ? Level::launch : Level::item);
    if (same) e.bind(*scalar.parameter, {e.extent(scalar.value, none)});
  }
  for (const auto& index : kernel.index) e.set_level(*index, Level::row);
  const auto map = [&](const kernel::Map&) {
    if (!kernel.index.empty()) e.set_level(*kernel.index.back(), Level::lane);
  };
  const auto operands = [&](const kernel::Reduction& reduction) {
    for (const auto& p : reduction.left) e.set_level(*p, Level::lane);
    for (const auto& p : reduction.right) e.set_level(*p, Level::lane);
  };
  const auto reduce = [&](const kernel::Reduce& form) {
    e.set_level(*form.row.index, Level::lane);
    for (const auto& reduction : form.reductions) operands(reduction);
  };
  const auto scan = [&](const kernel::Scan& form) {
    e.set_level(*form.row.index, Level::lane);
    operands(form.reduction);
  };
  const auto recurrence = [&](const kernel::Recurrence& form) {
    e.set_level(*form.row.index, Level::lane);
    for (const auto& p : form.state) e.set_level(*p, Level::lane);
  };
  std::visit(kernel::overloaded{map, reduce, scan, recurrence}, kernel.form);
  for (const auto& p : kernel.epilogue.results) e.set_level(*p, Level::lane);
}

void enter_item(Emitter& e, const kernel::Kernel& kernel, const Value& item) {
  for (const auto& array : kernel.arrays)
    if (array.form != kernel::Form::avoided) e.set_view(*array.parameter, e.view(array, item));
  bind_scalars(e, kernel, item);
}

void bind_scalars(Emitter& e, const kernel::Kernel& kernel, const Value& item) {
  for (const auto& scalar : kernel.scalars)
    if (!scalar.value.same_for_all()) e.bind(*scalar.parameter, {e.extent(scalar.value, item)});
}

std::vector<llvm::Value*> decode(Emitter& e, std::span<const Value> extents, llvm::Value* local) {
  std::vector<llvm::Value*> index(extents.size());
  for (std::size_t d = extents.size(); d-- > 1;) {
    index[d] = e.b.CreateURem(local, extents[d].v);
    local = e.b.CreateUDiv(local, extents[d].v);
  }
  if (!index.empty()) index[0] = local;
  return index;
}

llvm::Value* output_bias(Emitter& e, const kernel::Kernel& kernel) {
  if (kernel.domain.form != kernel::Form::segmented) return e.frame.number(0);
  return e.offset_at(kernel.domain.offsets, kernel.domain.offset_type, e.frame.number(0));
}

llvm::Value* item_start(Emitter& e, const kernel::Kernel& kernel, const ItemPart& positions) {
  if (kernel.domain.form == kernel::Form::segmented)
    return e.b.CreateSub(positions.base.v, output_bias(e, kernel));
  return positions.base.v;
}

llvm::Value* scratch_field(Frame& frame, llvm::Value* scratch, std::size_t offset, llvm::Type* type) {
  // Not constant: a kernel that calls another with one Scratch after the other may have it inlined.
  return frame.b.CreateAlignedLoad(type, frame.b.CreateConstGEP1_64(frame.b.getInt8Ty(), scratch, offset),
                                   llvm::Align(8));
}

void call_for_row(Frame& frame, const Run& run) {
  auto& b = frame.b;
  llvm::Value* scratch = frame.local(b.getInt8Ty(), sizeof(Scratch));
  b.CreateMemSet(scratch, b.getInt8(0), sizeof(Scratch), llvm::Align(8));
  llvm::Value* item = b.CreateConstGEP1_64(b.getInt8Ty(), scratch, offsetof(Scratch, first_item));
  b.CreateAlignedStore(run.item, item, llvm::Align(8));
  llvm::Type *number = frame.i64(), *pointer = b.getPtrTy();
  auto* entry = llvm::FunctionType::get(b.getVoidTy(), {pointer, number, number, pointer}, false);
  llvm::Value* next = b.CreateAdd(run.position, frame.number(1));
  b.CreateCall(entry, frame.any_rows(), {frame.args(), run.position, next, scratch});
  frame.leave_if_failed();
}

void each_run(Emitter& e, const kernel::Kernel& kernel, llvm::Value* begin, llvm::Value* end,
              llvm::Value* first_item, bool inner, const std::function<void(llvm::Value* item)>& in_item,
              const std::function<void(const Run&)>& body) {
  Frame& f = e.frame;
  auto& b = e.b;
  const std::size_t rank = kernel.domain.extents.size();
  const std::size_t outer_rank = inner ? rank - 1 : rank;

  if (kernel.domain.over_items && rank == 0) {
    f.each(begin, end, 1, "items", [&](llvm::Value* item) {
      in_item(item);
      body({item, {}, item, f.number(0), f.number(1)});
    });
    return;
  }

  // One item's runs from `position` on; gives the position after them.
  const auto runs_of_item = [&](llvm::Value* item, llvm::Value* position) -> llvm::Value* {
    const auto here = e.mark();
    const ItemPart positions = e.part(kernel.domain, e.uniform(item));
    llvm::Value* size = f.number(1);
    for (const Value& extent : positions.extents) size = b.CreateMul(size, extent.v);
    llvm::Value* start = kernel.domain.over_items ? item_start(e, kernel, positions) : f.number(0);
    llvm::Value* stop = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b.CreateAdd(start, size));
    llvm::BasicBlock* some = f.block("item_runs");
    llvm::BasicBlock* next = f.block("item_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpSLT(position, stop), some, next);

    b.SetInsertPoint(some);
    in_item(item);
    llvm::Value* local = b.CreateSub(position, start);
    llvm::Value* lo = f.number(0);
    llvm::Value* length = f.number(1);
    llvm::Value* row = local;
    if (inner) {
      length = positions.extents.back().v;
      lo = local;
      if (outer_rank > 0) {
        lo = b.CreateURem(local, length);
        row = b.CreateUDiv(local, length);
      }
    }
    const std::vector<llvm::Value*> index = decode(e, std::span(positions.extents).first(outer_rank), row);
    llvm::BasicBlock* entry = b.GetInsertBlock();
    llvm::BasicBlock* header = f.block("runs");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::PHINode* at = b.CreatePHI(f.i64(), 2, "position");
    at->addIncoming(position, entry);
    llvm::PHINode* low = b.CreatePHI(f.i64(), 2, "lo");
    low->addIncoming(lo, entry);
    std::vector<llvm::PHINode*> ix;
    for (llvm::Value* i : index) {
      ix.push_back(b.CreatePHI(f.i64(), 2, "ix"));
      ix.back()->addIncoming(i, entry);
    }
    llvm::Value* count = f.number(1);
    if (inner)
      count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(length, low), b.CreateSub(stop, at));
    body({item, {ix.begin(), ix.end()}, at, low, b.CreateAdd(low, count)});

    llvm::Value* after = b.CreateAdd(at, count);
    // Counting up with carries costs no divisions.
    std::vector<llvm::Value*> following(outer_rank);
    llvm::Value* carry = b.getTrue();
    for (std::size_t d = outer_rank; d-- > 0;) {
      llvm::Value* up = b.CreateAdd(ix[d], b.CreateZExt(carry, f.i64()));
      llvm::Value* over = d == 0 ? b.getFalse() : b.CreateICmpEQ(up, positions.extents[d].v);
      following[d] = b.CreateSelect(over, f.number(0), up);
      carry = over;
    }
    llvm::BasicBlock* latch = b.GetInsertBlock();
    at->addIncoming(after, latch);
    low->addIncoming(f.number(0), latch);
    for (std::size_t d = 0; d < outer_rank; ++d) ix[d]->addIncoming(following[d], latch);
    b.CreateCondBr(b.CreateICmpSLT(after, stop), header, next);

    b.SetInsertPoint(next);
    llvm::PHINode* reached = b.CreatePHI(f.i64(), 2);
    reached->addIncoming(position, before);
    reached->addIncoming(after, latch);
    e.undo(here);
    return reached;
  };

  if (!kernel.domain.over_items) {
    runs_of_item(f.number(0), begin);
    return;
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* header = f.block("items");
  llvm::BasicBlock* round = f.block("item");
  llvm::BasicBlock* done = f.block("items_done");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* item = b.CreatePHI(f.i64(), 2, "item");
  llvm::PHINode* position = b.CreatePHI(f.i64(), 2, "position");
  item->addIncoming(first_item, before);
  position->addIncoming(begin, before);
  b.CreateCondBr(b.CreateICmpSLT(position, end), round, done);
  b.SetInsertPoint(round);
  llvm::Value* reached = runs_of_item(item, position);
  item->addIncoming(b.CreateAdd(item, f.number(1)), b.GetInsertBlock());
  position->addIncoming(reached, b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(done);
}

int suitable_lanes(std::span<const ir::Ref> bodies, const Machine& machine) {
  // Addresses are int64 nearly everywhere; they count only where nothing else is computed. Numbers of 8 and 16
  // bits count where nothing wider is.
  std::size_t wide = 0, narrow = 0;
  bool loops = false, fast = false;
  const auto nodes = kernel::reachable(bodies);
  for (const ir::Node* node : nodes) {
    loops = loops || node->op() == ir::Op::while_loop;
    fast = fast || (node->op() == ir::Op::primitive && ir::has_fast_path(node->payload().primitive));
    for (const ScalarType type : node->type().scalars) {
      if (ir::is_float(type) || (size_of(type) >= 4 && type != ScalarType::int64))
        wide = std::max(wide, type == ScalarType::float16 ? sizeof(float) : size_of(type));
      else
        narrow = std::max(narrow, size_of(type));
    }
  }
  for (const auto& body : bodies)
    for (const ScalarType type : body->type().scalars)
      wide = std::max(wide, type == ScalarType::int64 ? size_of(type) : 0);
  const std::size_t size = wide ? wide : std::max<std::size_t>(narrow, 1);
  int lanes = static_cast<int>(static_cast<std::size_t>(machine.vector_bytes) / size);
  // Rounds of a divergent loop depend on each other: several registers' worth of lanes hide the latency. There are 32
  // of the wide ones, and 16 of the others.
  if (loops && nodes.size() < 64) lanes *= machine.vector_bytes == 64 ? 4 : 2;
  // One question for two registers, whether an operand of a mathematical function is rare.
  else if (fast && nodes.size() < 64 && machine.vector_bytes == 64)
    lanes *= 2;
  return std::clamp(lanes, 1, 64);
}

int registers_side_by_side(std::span<const ir::Ref> bodies, const Machine& machine) {
  // What a processor does at once, at least; shorter chains are hidden by those of the next vector.
  constexpr std::size_t at_once = 4, long_chain = 128;
  std::unordered_map<const ir::Node*, std::size_t> chains;
  std::size_t longest = 0, operations = 0;
  for (const ir::Node* node : kernel::reachable(bodies)) {
    std::size_t chain = 0;
    for (const auto& child : node->children())
      if (const auto found = chains.find(child.get()); found != chains.end())
        chain = std::max(chain, found->second);
    if (node->op() == ir::Op::primitive) {
      ++chain;
      ++operations;
    }
    chains[node] = chain;
    longest = std::max(longest, chain);
  }
  if (longest < long_chain || operations >= at_once * longest) return 1;
  return machine.vector_bytes == 64 ? 4 : 2;
}

}  // namespace anabranch::cpu
