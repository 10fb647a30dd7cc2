#include "cpu/llvm/interior.h"

#include "ir/views.h"

namespace anabranch::cpu {

namespace {
/// Numbers up to this size, and sums of some of them, do not wrap around.
constexpr std::int64_t moderate = std::int64_t{1} << 60;
}  // namespace

Interior::Interior(const Emitter& e, const Regions& regions, std::span<const ir::Ref> bodies,
                   const ir::Node& inner, bool rows)
    : kernel::Interior(
          [&e](const ir::Node& node) { return e.level_of(node) < Level::lane; }, regions, bodies, inner,
          rows ? Predicate([&e](const ir::Node& node) { return e.level_of(node) == Level::row; }) : nullptr) {
}

/// A number that has a slope, at this inner index.
llvm::Value* Interior::at(Emitter& e, const ir::Node* node, llvm::Value* inner, Known& known) const {
  if (!node) return e.frame.number(0);
  if (node == &this->inner()) return inner;
  if (node->op() == ir::Op::constant) return e.constant(ScalarType::int64, node->payload().bits);
  if (e.level_of(*node) < Level::lane && !is_computed(*node)) return e.values(*node)[0].v;
  if (const auto found = known.find(node); found != known.end()) return found->second;
  if (const ir::Node* other = chosen(*node)) return at(e, other, inner, known);
  if (node->op() == ir::Op::index) return e.only_element(*ir::Read(*node).array());
  const auto operands = ir::PrimitiveTerm(*node).operands();
  llvm::Value *x = at(e, operands[0].get(), inner, known), *y = at(e, operands[1].get(), inner, known);
  const ir::Primitive primitive = node->payload().primitive;
  return known[node] = primitive == ir::Primitive::add        ? e.b.CreateAdd(x, y)
                       : primitive == ir::Primitive::multiply ? e.b.CreateMul(x, y)
                                                              : e.b.CreateSub(x, y);
}

Interior::Range Interior::range(Emitter& e, llvm::Value* lo, llvm::Value* hi,
                                std::span<const Requirement> requirements) const {
  auto& b = e.b;
  llvm::Value *from = lo, *to = hi, *good = b.getTrue();
  Known known;
  const auto is_moderate = [&](llvm::Value* v) {
    return b.CreateICmpULT(b.CreateAdd(v, e.frame.number(moderate)), e.frame.number(2 * moderate));
  };
  for (const Requirement& r : requirements) {
    llvm::Value* x = at(e, r.x, lo, known);
    llvm::Value* y = r.array ? e.extents_of(*r.array)[r.dimension].v : at(e, r.y, lo, known);
    good = b.CreateAnd(good, b.CreateAnd(is_moderate(x), is_moderate(y)));
    // How far inside the first position is.
    llvm::Value* inside = b.CreateSub(b.CreateSub(y, x), e.frame.number(r.at_least));
    if (r.slope > 0)
      from = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, from, b.CreateSub(lo, inside));
    else
      to = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, to,
                                   b.CreateAdd(b.CreateAdd(lo, inside), e.frame.number(1)));
  }
  from = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, from, hi);
  to = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, to, hi);
  return {from, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, to, from), good};
}

llvm::Value* Interior::row_is_inside(Emitter& e) const {
  auto& b = e.b;
  llvm::Value* good = b.getTrue();
  Known known;
  const auto value = [&](const ir::Node& comparison) -> llvm::Value* {
    if (e.knows(comparison)) return e.values(comparison)[0].v;
    const auto operands = ir::PrimitiveTerm(comparison).operands();
    llvm::Value *x = at(e, operands[0].get(), nullptr, known), *y = at(e, operands[1].get(), nullptr, known);
    const ir::Primitive primitive = comparison.payload().primitive;
    if (primitive == ir::Primitive::less) return b.CreateICmpSLT(x, y);
    if (primitive == ir::Primitive::less_equal) return b.CreateICmpSLE(x, y);
    if (primitive == ir::Primitive::equal) return b.CreateICmpEQ(x, y);
    return b.CreateICmpNE(x, y);
  };
  for (const RowQuestion& question : row_questions()) {
    llvm::Value* v = value(*question.comparison);
    good = b.CreateAnd(good, question.answer ? v : b.CreateNot(v));
  }
  for (const RowIndex& index : row_indices())
    good = b.CreateAnd(good, b.CreateICmpULT(at(e, index.component, nullptr, known),
                                             e.extents_of(*index.array)[index.dimension].v));
  return good;
}

void Interior::enter_row(Emitter& e) const {
  for (const auto& [node, truth] : row_truths())
    if (e.knows(*node)) e.bind(*node, {e.uniform(e.b.getInt1(truth))});
}

}  // namespace anabranch::cpu
