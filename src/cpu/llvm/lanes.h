#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "math/machine.h"

/// The machine of mathematical recipes (kernels/math/machine.h) as LLVM IR: a value is a scalar or a vector
/// of any number of lanes, an operation appends instructions where its operands' builder stands.
namespace anabranch::cpu {

template <class T>
class Lanes;

/// A condition per lane.
struct LaneMask {
  llvm::IRBuilder<>* b;
  llvm::Value* v;

  friend LaneMask operator&(const LaneMask& p, const LaneMask& q) { return {p.b, p.b->CreateAnd(p.v, q.v)}; }
  friend LaneMask operator|(const LaneMask& p, const LaneMask& q) { return {p.b, p.b->CreateOr(p.v, q.v)}; }
  friend LaneMask operator!(const LaneMask& p) { return {p.b, p.b->CreateNot(p.v)}; }
  friend LaneMask select(const LaneMask& p, const LaneMask& q, const LaneMask& r) {
    return {p.b, p.b->CreateSelect(p.v, q.v, r.v)};
  }
};

namespace lanes {

/// An operand: lanes, or a literal that every lane has.
template <class X, class Literal>
class Operand {
 public:
  Operand(const X& x) : x_(&x) {}                  // NOLINT: `x + 1.0f` is how recipes are written
  Operand(Literal literal) : literal_(literal) {}  // NOLINT
  llvm::IRBuilder<>* builder() const { return x_ ? x_->b : nullptr; }
  llvm::Type* type() const { return x_ ? x_->v->getType() : nullptr; }
  llvm::Value* value(llvm::Type* type) const { return x_ ? x_->v : X::constant(type, literal_); }

 private:
  const X* x_ = nullptr;
  Literal literal_{};
};

/// The builder and the type that several operands share; one of them at least is no literal.
struct Shared {
  llvm::IRBuilder<>* b = nullptr;
  llvm::Type* type = nullptr;

  template <class... Operands>
  explicit Shared(const Operands&... operands) {
    (take(operands.builder(), operands.type()), ...);
  }

 private:
  void take(llvm::IRBuilder<>* builder, llvm::Type* its_type) {
    if (builder) b = builder, type = its_type;
  }
};

inline llvm::Type* with_element(llvm::Type* like, llvm::Type* element) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

}  // namespace lanes

/// The bits of floats: unsigned integers of 32 or 64 bits.
template <std::unsigned_integral U>
struct LaneBits {
  llvm::IRBuilder<>* b;
  llvm::Value* v;

  static llvm::Value* constant(llvm::Type* type, U literal) { return llvm::ConstantInt::get(type, literal); }
  static llvm::Type* type_like(llvm::IRBuilder<>& b, llvm::Type* like) {
    return lanes::with_element(like, b.getIntNTy(8 * sizeof(U)));
  }

 private:
  using Operand = lanes::Operand<LaneBits, U>;
  using Op = llvm::Instruction::BinaryOps;
  using P = llvm::CmpInst::Predicate;
  static LaneBits binary(Op op, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateBinOp(op, x.value(at.type), y.value(at.type))};
  }
  static LaneMask compare(P predicate, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateICmp(predicate, x.value(at.type), y.value(at.type))};
  }

 public:
  friend LaneBits operator+(const Operand& x, const Operand& y) { return binary(Op::Add, x, y); }
  friend LaneBits operator-(const Operand& x, const Operand& y) { return binary(Op::Sub, x, y); }
  friend LaneBits operator*(const Operand& x, const Operand& y) { return binary(Op::Mul, x, y); }
  friend LaneBits operator&(const Operand& x, const Operand& y) { return binary(Op::And, x, y); }
  friend LaneBits operator|(const Operand& x, const Operand& y) { return binary(Op::Or, x, y); }
  friend LaneBits operator^(const Operand& x, const Operand& y) { return binary(Op::Xor, x, y); }
  friend LaneBits operator~(const LaneBits& x) { return {x.b, x.b->CreateNot(x.v)}; }
  friend LaneBits operator<<(const Operand& x, const Operand& n) { return binary(Op::Shl, x, n); }
  friend LaneBits operator>>(const Operand& x, const Operand& n) { return binary(Op::LShr, x, n); }
  friend LaneBits shift_signed(const LaneBits& x, int n) {
    return {x.b, x.b->CreateAShr(x.v, static_cast<std::uint64_t>(n))};
  }
  friend LaneMask operator<(const Operand& x, const Operand& y) { return compare(P::ICMP_ULT, x, y); }
  friend LaneMask operator==(const Operand& x, const Operand& y) { return compare(P::ICMP_EQ, x, y); }
  friend LaneMask operator!=(const Operand& x, const Operand& y) { return compare(P::ICMP_NE, x, y); }
  friend LaneMask less_signed(const Operand& x, const Operand& y) { return compare(P::ICMP_SLT, x, y); }
  friend LaneBits select(const LaneMask& p, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateSelect(p.v, x.value(at.type), y.value(at.type))};
  }
  friend LaneBits multiply_high(const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    llvm::IRBuilder<>& b = *at.b;
    llvm::Type* wide = lanes::with_element(at.type, b.getIntNTy(16 * sizeof(U)));
    llvm::Value* product =
        b.CreateMul(b.CreateZExt(x.value(at.type), wide), b.CreateZExt(y.value(at.type), wide));
    return {at.b, b.CreateTrunc(b.CreateLShr(product, std::uint64_t{8 * sizeof(U)}), at.type)};
  }
  /// Only in code that is linked: the table is a constant outside of the function.
  template <int n>
  friend LaneBits lookup(const U (&table)[n], const LaneBits& x) {
    llvm::IRBuilder<>& b = *x.b;
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    llvm::Constant* content = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<U>(table, n));
    auto* place = new llvm::GlobalVariable(module, content->getType(), true,
                                           llvm::GlobalValue::PrivateLinkage, content, "table");
    place->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    llvm::Type* element = b.getIntNTy(8 * sizeof(U));
    llvm::Value* position = b.CreateZExt(x.v, lanes::with_element(x.v->getType(), b.getInt64Ty()));
    llvm::Value* address = b.CreateGEP(element, place, position);
    if (!x.v->getType()->isVectorTy()) return {x.b, b.CreateLoad(element, address)};
    return {x.b, b.CreateMaskedGather(x.v->getType(), address, llvm::Align(sizeof(U)))};
  }
};

/// Floats or doubles.
template <class T>
class Lanes {
 public:
  using U = std::conditional_t<sizeof(T) == 4, math::u32, math::u64>;
  llvm::IRBuilder<>* b;
  llvm::Value* v;

  Lanes(llvm::IRBuilder<>* builder, llvm::Value* value) : b(builder), v(value) {}
  static llvm::Value* constant(llvm::Type* type, T literal) {
    return llvm::ConstantFP::get(type, llvm::APFloat(literal));
  }

 private:
  using Operand = lanes::Operand<Lanes, T>;
  using Op = llvm::Instruction::BinaryOps;
  using P = llvm::CmpInst::Predicate;
  static Lanes binary(Op op, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateBinOp(op, x.value(at.type), y.value(at.type))};
  }
  static LaneMask compare(P predicate, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateFCmp(predicate, x.value(at.type), y.value(at.type))};
  }

 public:
  friend Lanes operator+(const Operand& x, const Operand& y) { return binary(Op::FAdd, x, y); }
  friend Lanes operator-(const Operand& x, const Operand& y) { return binary(Op::FSub, x, y); }
  friend Lanes operator*(const Operand& x, const Operand& y) { return binary(Op::FMul, x, y); }
  friend Lanes operator/(const Operand& x, const Operand& y) { return binary(Op::FDiv, x, y); }
  friend Lanes operator-(const Lanes& x) { return {x.b, x.b->CreateFNeg(x.v)}; }
  friend LaneMask operator<(const Operand& x, const Operand& y) { return compare(P::FCMP_OLT, x, y); }
  friend LaneMask operator<=(const Operand& x, const Operand& y) { return compare(P::FCMP_OLE, x, y); }
  friend LaneMask operator>(const Operand& x, const Operand& y) { return compare(P::FCMP_OGT, x, y); }
  friend LaneMask operator>=(const Operand& x, const Operand& y) { return compare(P::FCMP_OGE, x, y); }
  friend LaneMask operator==(const Operand& x, const Operand& y) { return compare(P::FCMP_OEQ, x, y); }
  friend LaneMask operator!=(const Operand& x, const Operand& y) { return compare(P::FCMP_UNE, x, y); }
  friend Lanes select(const LaneMask& p, const Operand& x, const Operand& y) {
    const lanes::Shared at(x, y);
    return {at.b, at.b->CreateSelect(p.v, x.value(at.type), y.value(at.type))};
  }
  friend Lanes fma(const Operand& x, const Operand& y, const Operand& z) {
    const lanes::Shared at(x, y, z);
    return {at.b, at.b->CreateIntrinsic(llvm::Intrinsic::fma, {at.type},
                                        {x.value(at.type), y.value(at.type), z.value(at.type)})};
  }
  friend Lanes sqrt(const Lanes& x) { return {x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.v)}; }
  friend Lanes absolute(const Lanes& x) {
    return {x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.v)};
  }
  friend LaneBits<U> bits(const Lanes& x) {
    return {x.b, x.b->CreateBitCast(x.v, LaneBits<U>::type_like(*x.b, x.v->getType()))};
  }
};

/// `real<F>(bits)`.
template <class F, class U>
F real(const LaneBits<U>& u) {
  llvm::Type* element = sizeof(U) == 4 ? u.b->getFloatTy() : u.b->getDoubleTy();
  return {u.b, u.b->CreateBitCast(u.v, lanes::with_element(u.v->getType(), element))};
}

}  // namespace anabranch::cpu

template <class T>
struct anabranch::math::Types<anabranch::cpu::Lanes<T>> {
  using Bits = cpu::LaneBits<typename cpu::Lanes<T>::U>;
  using Mask = cpu::LaneMask;
  static constexpr int width = 8 * sizeof(T);
};
