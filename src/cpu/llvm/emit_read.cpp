#include <algorithm>

#include "cpu/llvm/emitter.h"
#include "ir/views.h"
#include "kernel/byte_words.h"

/// Reads of arrays, and the checks of their indices. A failed check never traps: it is recorded and the entry
/// left. The common path is a compare and a branch that is never taken.
namespace anabranch::cpu {

int Emitter::check_of(const ir::Node& node) const {
  const auto found = checks_.find(&node);
  if (found == checks_.end()) throw InternalError(std::string("kernel: no check for ") + node.label());
  return found->second;
}

Values Emitter::read(const ir::Node& node) {
  const ir::Node& array = *ir::Read(node).array();
  if (is_pointwise && is_pointwise(node)) {
    View flat = views_.at(&array);
    return access(flat, array, flat_position, mask);
  }
  const View& view = views_.at(&array);
  const Values& index = values(*ir::Read(node).at());

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
  if (const auto known = assumed ? assumed->find(&node) : Assumed::const_iterator();
      assumed && known != assumed->end()) {
    const bool all = known->second == kernel::all_in_range;
    std::erase_if(tests, [&](const Test& test) { return all || !test.index.uniform(); });
  }
  Value position = add(view.base, linear);
  if (!node.payload().in_bounds && !tests.empty()) require(check_of(node), tests);
  if (known_gather_ && known_gather_->read == &node && width > 1) fetch_ahead(view, array);
  if (may_rest && position.uniform()) position = varying(lanes(position));  // for a load under the mask
  return access(view, array, position, mask);
}

/// Looks up where the gather that is known beforehand will read, some elements from here, and asks for what is there. So far the
/// processor does not look: its window holds some vectors of this row, and where the row ends it foresees nothing. Positions
/// have not been checked; what is asked for need not be memory.
void Emitter::fetch_ahead(const View& from, const ir::Node& array) {
  constexpr std::int64_t elements = 128;  // measured: docs/notebook.md
  const View& positions = views_.at(known_gather_->positions->parameter.get());
  const Value at = add(positions.base, value(kernel::row_of(kernel_)->index));
  if (at.kind != Value::Kind::affine || at.stride != 1) return;
  const auto component = static_cast<std::size_t>(known_gather_->component);
  llvm::Type* type = type_of(known_gather_->positions->type.scalars[component]);
  llvm::Value* later =
      frame.element(type, positions.buffers[component], b.CreateAdd(at.v, frame.number(elements)));
  llvm::Value* last = frame.element(type, frame.positions_end(), frame.number(-width));
  later = b.CreateSelect(b.CreateICmpULT(later, last), later, last);
  for (int lane = 0; lane < width; ++lane) {
    llvm::Value* index = frame.load_element(type, frame.element(type, later, frame.number(lane)),
                                            static_cast<unsigned>(type->getIntegerBitWidth() / 8));
    llvm::Value* place = b.CreateAdd(from.base.v, b.CreateSExt(index, frame.i64()));
    for (std::size_t c = 0; c < from.buffers.size(); ++c)
      frame.prefetch(frame.element(memory_type_of(array.type().scalars[c]), from.buffers[c], place));
  }
}

llvm::Value* Emitter::only_element(const ir::Node& parameter) {
  const View& view = views_.at(&parameter);
  return load(view.buffers[0], parameter.type().scalars[0], view.base, nullptr).v;
}

Values Emitter::access(const View& view, const ir::Node& array, const Value& position, llvm::Value* active) {
  Values out;
  const auto& scalars = array.type().scalars;
  for (std::size_t c = 0; c < scalars.size(); ++c)
    out.push_back(load(view.buffers[c], scalars[c], position, active));
  return out;
}

/// A number of bytes that lie one behind the other, which have been read, so that they are in range: it is read as a whole.
bool Emitter::emit_byte_word(const ir::Node& node) {
  const ir::Node* const first = width > 1 ? kernel::first_of_byte_word(node) : nullptr;
  if (!first || (is_pointwise && is_pointwise(*first))) return false;
  const ir::Read read(*first);
  const View& view = views_.at(read.array().get());
  const Value position = add(view.base, values(*read.at())[0]);
  const ScalarType type = node.type().scalars[0];
  const bool is_gathered =
      position.kind != Value::Kind::affine || position.stride != static_cast<std::int64_t>(size_of(type));
  // Less than 32 bits are not gathered under a mask.
  if (position.uniform() || (is_gathered && mask && size_of(type) < 4)) return false;
  bind(node, {load_byte_word(view.buffers[0], type, position)});
  return true;
}

/// One bit: is the index in range in all lanes (of a full vector)?
llvm::Value* Emitter::in_range_all(const Test& test) {
  const Value& i = test.index;
  if (test.bound.uniform()) {
    if (i.uniform()) return b.CreateICmpULT(i.v, test.bound.v);
    if (i.kind == Value::Kind::affine) {
      // In range at both ends, without wrap-around: then everywhere between.
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

/// What follows runs only if all active lanes pass. Of several tests the first that a lane fails is
/// remembered, with the first such lane.
void Emitter::require(int check, std::span<const Test> tests) {
  const auto is_uniform = [](const Test& test) { return test.index.uniform() && test.bound.uniform(); };
  const bool all_uniform = std::all_of(tests.begin(), tests.end(), is_uniform);
  llvm::Value* good = nullptr;
  const auto also = [&](llvm::Value* one) { good = good ? b.CreateAnd(good, one) : one; };
  if (mask && !all_uniform) {
    for (const Test& test : tests) also(in_range(test));
    good = b.CreateNot(any(b.CreateAnd(mask, b.CreateNot(good))));
  } else {
    for (const Test& test : tests) also(in_range_all(test));
  }
  const bool of_none = may_rest && all_uniform;  // a test that fails may be that of no active lane
  if (tests.size() == 1 && all_uniform && !of_none)
    return frame.leave_unless(good, check, tests[0].index.v, tests[0].bound.v);

  llvm::BasicBlock *failed = frame.block("out_of_range"), *next = frame.block("read");
  frame.branch_likely(good, next, failed);
  b.SetInsertPoint(failed);
  if (of_none) {
    llvm::BasicBlock* active = frame.block("active");
    b.CreateCondBr(any(mask), active, next);
    b.SetInsertPoint(active);
  }
  for (const Test& test : tests) {
    const bool last = &test == &tests.back();
    llvm::Value* bad = b.CreateNot(is_uniform(test) ? in_range_all(test) : in_range(test));
    if (mask && !is_uniform(test)) bad = b.CreateAnd(mask, bad);
    llvm::BasicBlock* other = last ? nullptr : frame.block("other_test");
    if (!last) {
      llvm::BasicBlock* found = frame.block("offence");
      b.CreateCondBr(is_uniform(test) ? bad : any(bad), found, other);
      b.SetInsertPoint(found);
    }
    llvm::Value* lane = nullptr;
    if (!is_uniform(test)) {
      llvm::Value* bits = b.CreateBitCast(bad, b.getIntNTy(static_cast<unsigned>(width)));
      lane =
          b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue()), frame.i64());
    }
    frame.leave(check, in_lane(test.index, lane), in_lane(test.bound, lane));
    if (!last) b.SetInsertPoint(other);
  }
  b.SetInsertPoint(next);
}

/// The int64 of one lane.
llvm::Value* Emitter::in_lane(const Value& value, llvm::Value* lane) {
  if (value.uniform()) return value.v;
  if (value.kind == Value::Kind::affine)
    return b.CreateAdd(value.v, b.CreateMul(lane, frame.number(value.stride)));
  if (value.narrow) return b.CreateSExt(b.CreateExtractElement(value.narrow, lane), frame.i64());
  if (!value.memory) return b.CreateExtractElement(value.v, lane);
  llvm::Type* stored = type_of(value.memory_type);
  llvm::Value* v = frame.load_element(stored, frame.element(stored, value.memory, lane),
                                      static_cast<unsigned>(size_of(value.memory_type)));
  v = b.CreateSExt(v, frame.i64());
  return value.offset ? b.CreateAdd(v, value.offset) : v;
}

}  // namespace anabranch::cpu
