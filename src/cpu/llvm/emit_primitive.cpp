#include <algorithm>
#include <cmath>

#include <llvm/IR/Intrinsics.h>

#include "cpu/llvm/emitter.h"
#include "cpu/llvm/remainder.h"
#include "ir/views.h"
#include "kernel/check_error.h"
#include "kernel/primitive_recipe.h"

/// The primitives: the machine that their recipes are written for, one scalar or one vector at a time.
///
/// A half is its bits, so that nothing but its arithmetic has to know it: that is done on floats (fma on
/// doubles), and each result is rounded to a half. A float holds more than twice a half's bits, so that this
/// is what rounding once gives.
namespace anabranch::cpu {

using ir::Primitive;

class Emitter::PrimitiveBuilder {
 public:
  struct Scalar {
    llvm::Value* v;
    ScalarType type;
  };

  PrimitiveBuilder(Emitter& emitter, const ir::Node& node, llvm::Type* operand)
      : e_(emitter), b_(emitter.b), node_(node) {
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operand))
      lanes_ = vector->getNumElements();
  }

  Scalar constant(ScalarType type, std::uint64_t bits) const {
    llvm::Value* one = e_.constant(type, bits);
    return {lanes_ ? b_.CreateVectorSplat(lanes_, one) : one, type};
  }

  Scalar add(const Scalar& x, const Scalar& y) const {
    return ir::is_float(x.type) ? rounded(b_.CreateFAdd(real(x), real(y)), x.type)
                                : Scalar{b_.CreateAdd(x.v, y.v), x.type};
  }
  Scalar subtract(const Scalar& x, const Scalar& y) const {
    return ir::is_float(x.type) ? rounded(b_.CreateFSub(real(x), real(y)), x.type)
                                : Scalar{b_.CreateSub(x.v, y.v), x.type};
  }
  Scalar multiply(const Scalar& x, const Scalar& y) const {
    return ir::is_float(x.type) ? rounded(b_.CreateFMul(real(x), real(y)), x.type)
                                : Scalar{b_.CreateMul(x.v, y.v), x.type};
  }
  Scalar divide(const Scalar& x, const Scalar& y) const {
    return ir::is_float(x.type) ? rounded(b_.CreateFDiv(real(x), real(y)), x.type)
                                : Scalar{e_.quotient(x.type, x.v, y.v), x.type};
  }
  Scalar checked_divisor(const Scalar& x, const Scalar& y) const {
    return {e_.checked_divisor(node_, x.v, y.v), y.type};
  }

  Scalar float_negate(const Scalar& x) const { return rounded(b_.CreateFNeg(real(x)), x.type); }
  Scalar float_absolute(const Scalar& x) const { return of_real(llvm::Intrinsic::fabs, x); }
  Scalar float_remainder(const Scalar& x, const Scalar& y) const {
    const ScalarType type = x.type == ScalarType::float16 ? ScalarType::float32 : x.type;
    return rounded(e_.float_remainder(type, real(x), real(y)), x.type);
  }
  Scalar multiply_add(const Scalar& x, const Scalar& y, const Scalar& z) const {
    const auto fused = [&](llvm::Value* p, llvm::Value* q, llvm::Value* r) {
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {p->getType()}, {p, q, r});
    };
    if (x.type != ScalarType::float16) return {fused(x.v, y.v, z.v), x.type};
    const auto wide = [&](const Scalar& v) { return to_float(v, ScalarType::float64).v; };
    return to_float({fused(wide(x), wide(y), wide(z)), ScalarType::float64}, x.type);
  }
  Scalar square_root(const Scalar& x) const { return of_real(llvm::Intrinsic::sqrt, x); }
  Scalar mathematical(Primitive primitive, const Scalar& x, const Scalar& y) const {
    return {e_.mathematical(primitive, x.type, x.v, y.v), x.type};
  }

  Scalar equal(const Scalar& x, const Scalar& y) const {
    return compare(x, y, P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
  }
  Scalar not_equal(const Scalar& x, const Scalar& y) const {
    return compare(x, y, P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
  }
  Scalar less(const Scalar& x, const Scalar& y) const {
    return compare(x, y, P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
  }
  Scalar less_equal(const Scalar& x, const Scalar& y) const {
    return compare(x, y, P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
  }
  Scalar unordered(const Scalar& x) const {
    llvm::Value* v = real(x);
    return {b_.CreateFCmpUNO(v, v), ScalarType::boolean};
  }
  Scalar select(const Scalar& condition, const Scalar& x, const Scalar& y) const {
    return {b_.CreateSelect(condition.v, x.v, y.v), x.type};
  }

  Scalar bit_and(const Scalar& x, const Scalar& y) const { return {b_.CreateAnd(x.v, y.v), x.type}; }
  Scalar bit_or(const Scalar& x, const Scalar& y) const { return {b_.CreateOr(x.v, y.v), x.type}; }
  Scalar bit_xor(const Scalar& x, const Scalar& y) const { return {b_.CreateXor(x.v, y.v), x.type}; }
  Scalar logical_not(const Scalar& x) const { return {b_.CreateNot(x.v), x.type}; }

  Scalar shift_left(const Scalar& x, const Scalar& by) const { return {b_.CreateShl(x.v, by.v), x.type}; }
  Scalar shift_right(const Scalar& x, const Scalar& by) const {
    return {ir::is_signed(x.type) ? b_.CreateAShr(x.v, by.v) : b_.CreateLShr(x.v, by.v), x.type};
  }
  Scalar shift_right_unsigned(const Scalar& x, const Scalar& by) const {
    return {b_.CreateLShr(x.v, by.v), x.type};
  }
  Scalar count_ones(const Scalar& x) const { return of_one(llvm::Intrinsic::ctpop, x); }
  Scalar leading_zeros(const Scalar& x) const { return zeros(llvm::Intrinsic::ctlz, x); }
  Scalar trailing_zeros(const Scalar& x) const { return zeros(llvm::Intrinsic::cttz, x); }
  Scalar floor(const Scalar& x) const { return of_real(llvm::Intrinsic::floor, x); }
  Scalar ceiling(const Scalar& x) const { return of_real(llvm::Intrinsic::ceil, x); }
  Scalar truncate(const Scalar& x) const { return of_real(llvm::Intrinsic::trunc, x); }
  Scalar copy_sign(const Scalar& x, const Scalar& sign) const {
    return rounded(b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, real(x), real(sign)), x.type);
  }
  Scalar reinterpret(const Scalar& x, ScalarType to) const {
    return {b_.CreateBitCast(x.v, type_of(to)), to};
  }

  Scalar to_integer(const Scalar& x, ScalarType to) const {
    return {ir::is_signed(x.type) ? b_.CreateSExtOrTrunc(x.v, type_of(to))
                                  : b_.CreateZExtOrTrunc(x.v, type_of(to)),
            to};
  }
  Scalar to_float(const Scalar& x, ScalarType to) const {
    if (x.type == ScalarType::float64 && to == ScalarType::float16) return rounded(odd_float(x.v), to);
    // An integer that float does not hold is beyond all halves.
    llvm::Type* type = of_lanes(to == ScalarType::float16 ? b_.getFloatTy() : e_.type_of(to));
    if (ir::is_float(x.type)) return rounded(b_.CreateFPCast(real(x), type), to);
    return rounded(ir::is_signed(x.type) ? b_.CreateSIToFP(x.v, type) : b_.CreateUIToFP(x.v, type), to);
  }
  Scalar saturate(const Scalar& x, ScalarType to) const {
    const bool is_signed = ir::is_signed(to);
    llvm::Value* v = real(x);
    const auto cast = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    if (lanes_ == 0) return {b_.CreateIntrinsic(cast, {type_of(to), v->getType()}, {v}), to};
    // LLVM takes vectors of that apart, and is long about it.
    const unsigned bits = e_.type_of(to)->getIntegerBitWidth();
    llvm::Type* wide = of_lanes(b_.getIntNTy(std::max(bits, 32U)));
    llvm::Value* whole = is_signed || bits < 32 ? b_.CreateFPToSI(v, wide) : b_.CreateFPToUI(v, wide);
    const auto real_number = [&](double n) { return llvm::ConstantFP::get(v->getType(), n); };
    const auto number = [&](const llvm::APInt& n) { return llvm::ConstantInt::get(type_of(to), n); };
    const double beyond = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));
    llvm::Value* result = b_.CreateSelect(
        b_.CreateFCmpOLT(v, real_number(beyond)), b_.CreateTrunc(whole, type_of(to)),
        number(is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits)));
    result = b_.CreateSelect(b_.CreateFCmpOGE(v, real_number(is_signed ? -beyond : 0.0)), result,
                             number(is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0)));
    if (is_signed) result = b_.CreateSelect(b_.CreateFCmpORD(v, v), result, number(llvm::APInt(bits, 0)));
    return {result, to};
  }

 private:
  using P = llvm::CmpInst::Predicate;

  Scalar of_real(llvm::Intrinsic::ID intrinsic, const Scalar& x) const {
    return rounded(b_.CreateUnaryIntrinsic(intrinsic, real(x)), x.type);
  }
  Scalar of_one(llvm::Intrinsic::ID intrinsic, const Scalar& x) const {
    return {b_.CreateUnaryIntrinsic(intrinsic, x.v), x.type};
  }
  Scalar zeros(llvm::Intrinsic::ID intrinsic, const Scalar& x) const {
    return {b_.CreateBinaryIntrinsic(intrinsic, x.v, b_.getFalse()), x.type};  // defined for 0
  }
  Scalar compare(const Scalar& x, const Scalar& y, P of_floats, P of_signed, P of_unsigned) const {
    const P predicate = ir::is_float(x.type) ? of_floats : ir::is_signed(x.type) ? of_signed : of_unsigned;
    return {b_.CreateCmp(predicate, real(x), real(y)), ScalarType::boolean};
  }
  llvm::Type* of_lanes(llvm::Type* one) const {
    return lanes_ ? llvm::FixedVectorType::get(one, lanes_) : one;
  }
  llvm::Type* type_of(ScalarType type) const { return of_lanes(e_.type_of(type)); }

  /// As LLVM computes with it: a half as a float, all else as it is.
  llvm::Value* real(const Scalar& x) const {
    if (x.type != ScalarType::float16) return x.v;
    llvm::Value* number = b_.CreateBitCast(x.v, of_lanes(b_.getHalfTy()));
    return fenced(b_.CreateFPExt(number, of_lanes(b_.getFloatTy())));
  }
  /// What LLVM computed, as a scalar of that type: a float is rounded to a half, all else is as it is.
  Scalar rounded(llvm::Value* v, ScalarType type) const {
    if (type != ScalarType::float16) return {v, type};
    llvm::Value* number = b_.CreateFPTrunc(fenced(v), of_lanes(b_.getHalfTy()));
    return {b_.CreateBitCast(number, type_of(type)), type};
  }
  /// LLVM knows as well that it may compute in half instead, and takes vectors apart where the processor
  /// cannot.
  llvm::Value* fenced(llvm::Value* v) const {
    return e_.machine_.computes_halves ? v : b_.CreateArithmeticFence(v, v->getType());
  }
  /// A double as a float that rounds to the same half: cut, and odd where something was cut off (Boldo and
  /// Melquiond 2008).
  llvm::Value* odd_float(llvm::Value* x) const {
    llvm::Type* integer = of_lanes(b_.getInt64Ty());
    const auto number = [&](std::uint64_t n) { return llvm::ConstantInt::get(integer, n); };
    constexpr std::uint64_t last = std::uint64_t{1} << 29;  // the last bit that a float has
    llvm::Value* bits = b_.CreateBitCast(x, integer);
    llvm::Value* cut_off = b_.CreateICmpNE(b_.CreateAnd(bits, number(last - 1)), number(0));
    llvm::Value* cut = b_.CreateAnd(bits, number(~(last - 1)));
    llvm::Value* odd = b_.CreateSelect(cut_off, b_.CreateOr(cut, number(last)), cut);
    return b_.CreateFPTrunc(b_.CreateBitCast(odd, x->getType()), of_lanes(b_.getFloatTy()));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const ir::Node& node_;
  unsigned lanes_ = 0;  ///< 0: scalars
};

Value Emitter::primitive(const ir::Node& node) {
  Values operands;
  for (const auto& child : node.children()) operands.push_back(value(child));
  return apply(node, operands);
}

namespace {
/// Whether a uint32 is below 2^31 whatever the data are, by its last operation.
bool is_below_sign(const ir::Node& node) {
  if (node.op() != ir::Op::primitive) return false;
  const auto operands = ir::PrimitiveTerm(node).operands();
  const auto is_constant = [&](std::size_t i, std::uint64_t least, std::uint64_t most) {
    const ir::Node& operand = *operands[i];
    return operand.op() == ir::Op::constant && operand.payload().bits >= least &&
           operand.payload().bits <= most;
  };
  constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
  const Primitive primitive = node.payload().primitive;
  if (primitive == Primitive::shift_right) return is_constant(1, 1, 31);
  if (primitive == Primitive::bit_and) return is_constant(0, 0, most) || is_constant(1, 0, most);
  return primitive == Primitive::cast && size_of(ir::PrimitiveTerm(node).operand_type()) < 4 &&
         ir::scalar_info(ir::PrimitiveTerm(node).operand_type()).kind == ir::ScalarKind::unsigned_integer;
}
}  // namespace

Value Emitter::apply(const ir::Node& node, std::span<const Value> operands) {
  const Primitive primitive = node.payload().primitive;
  const ScalarType type = ir::PrimitiveTerm(node).operand_type();
  const ScalarType result_type = node.type().scalars[0];
  bool uniform_all = true;
  for (const Value& v : operands) uniform_all = uniform_all && v.uniform();

  // Index arithmetic stays symbolic as long as it is affine in the lane.
  if (kernel::is_index_arithmetic(primitive, type) && !uniform_all) {
    if (primitive == Primitive::add) return add(operands[0], operands[1]);
    if (primitive == Primitive::multiply) return multiply(operands[0], operands[1]);
    if (operands[1].uniform()) return add(operands[0], uniform(b.CreateNeg(operands[1].v)));
    return add(operands[0], multiply(operands[1], uniform(frame.number(-1))));
  }

  std::vector<PrimitiveBuilder::Scalar> x;
  for (const Value& v : operands) x.push_back({uniform_all ? v.v : lanes(v), type});
  PrimitiveBuilder builder(*this, node, x[0].v->getType());
  llvm::Value* result =
      kernel::build_primitive(builder, primitive, result_type, std::span(std::as_const(x))).v;
  if (uniform_all) return uniform(result);
  Value out = varying(result);
  if (primitive == Primitive::cast && result_type == ScalarType::int64) {
    if (type == ScalarType::int32) {
      out.memory = operands[0].memory;
      out.memory_type = operands[0].memory_type;
    }
    if (type == ScalarType::int32 ||
        (type == ScalarType::uint32 && is_below_sign(*ir::PrimitiveTerm(node).operands()[0])))
      out.narrow = x[0].v;
  }
  return out;
}

llvm::Value* Emitter::checked_divisor(const ir::Node& node, llvm::Value* x, llvm::Value* y) {
  const ScalarType type = ir::PrimitiveTerm(node).operand_type();
  const bool is_vector = x->getType()->isVectorTy();
  // Division of lanes that are not active must not trap.
  const auto of_active = [&] {
    return is_vector && mask ? b.CreateSelect(mask, y, llvm::ConstantInt::get(y->getType(), 1)) : y;
  };
  if (!ir::can_fail(node)) return y;  // whatever lanes that are not active have for x
  llvm::Value* bad = b.CreateICmpEQ(y, llvm::Constant::getNullValue(y->getType()));
  if (ir::is_signed(type)) {
    const auto bits = static_cast<unsigned>(ir::scalar_info(type).bits);
    llvm::Constant* least = llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(bits));
    llvm::Value* overflow = b.CreateAnd(b.CreateICmpEQ(x, least),
                                        b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType())));
    bad = b.CreateOr(bad, overflow);
  }
  if (is_vector && mask) bad = b.CreateAnd(bad, mask);
  const auto* certain = llvm::dyn_cast<llvm::Constant>(bad);
  if (!certain || !certain->isNullValue()) {
    llvm::BasicBlock *failed = frame.block("no_quotient"), *next = frame.block("divide");
    frame.branch_likely(b.CreateNot(is_vector ? any(bad) : bad), next, failed);
    b.SetInsertPoint(failed);
    llvm::Value *dividend = x, *by = y;
    if (is_vector) {
      llvm::Value* bits = b.CreateBitCast(bad, b.getIntNTy(static_cast<unsigned>(width)));
      llvm::Value* lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue());
      lane = b.CreateZExtOrTrunc(lane, frame.i64());
      dividend = b.CreateExtractElement(x, lane);
      by = b.CreateExtractElement(y, lane);
    }
    dividend =
        ir::is_signed(type) ? b.CreateSExt(dividend, frame.i64()) : b.CreateZExt(dividend, frame.i64());
    frame.leave(check_of(node), dividend,
                b.CreateSelect(b.CreateIsNull(by), frame.number(kernel::no_divisor(type)),
                               frame.number(kernel::division_overflow)));
    b.SetInsertPoint(next);
  }
  return of_active();
}

namespace {
/// In each lane the same one.
bool is_power_of_two(const llvm::Constant& vector) {
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(vector.getSplatValue());
  return number && number->getValue().isPowerOf2();
}
}  // namespace

llvm::Value* Emitter::quotient(ScalarType type, llvm::Value* x, llvm::Value* y) {
  const bool is_signed = ir::is_signed(type);
  const int bits = ir::scalar_info(type).bits;
  // By a constant of up to 32 bits it is a product, by a power of two a shift.
  const auto* by = llvm::dyn_cast<llvm::Constant>(y);
  const bool is_cheap = by && (bits <= 32 || is_power_of_two(*by));
  if (!x->getType()->isVectorTy() || is_cheap) return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
  if (bits > 32) return wide_quotient(is_signed, x, y);
  // No vector unit divides integers; quotients of 32 bits are exact in double after truncation, those of up
  // to 16 bits in float.
  llvm::Type* real =
      llvm::FixedVectorType::get(bits > 16 ? b.getDoubleTy() : b.getFloatTy(), static_cast<unsigned>(width));
  const auto to_real = [&](llvm::Value* v) {
    return is_signed ? b.CreateSIToFP(v, real) : b.CreateUIToFP(v, real);
  };
  llvm::Value* ratio = b.CreateFDiv(to_real(x), to_real(y));
  return is_signed ? b.CreateFPToSI(ratio, x->getType()) : b.CreateFPToUI(ratio, x->getType());
}

/// Of 64 bits: in double, which is exact after truncation where both are below 2^52; else lane by lane.
llvm::Value* Emitter::wide_quotient(bool is_signed, llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  const auto number = [&](int bit) { return llvm::ConstantInt::get(type, std::uint64_t{1} << bit); };
  const auto is_moderate = [&](llvm::Value* v) {
    return is_signed ? b.CreateICmpULT(b.CreateAdd(v, number(52)), number(53))
                     : b.CreateICmpULT(v, number(52));
  };
  const auto in_double = [&] {
    llvm::Type* real = llvm::FixedVectorType::get(b.getDoubleTy(), static_cast<unsigned>(width));
    return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, real), b.CreateSIToFP(y, real)), type);
  };
  const auto lane_by_lane = [&] {
    // In a lane that is not active y may be what an inner quotient has made of numbers that no double holds.
    llvm::Value* by = mask ? b.CreateSelect(mask, y, llvm::ConstantInt::get(type, 1)) : y;
    return is_signed ? b.CreateSDiv(x, by) : b.CreateUDiv(x, by);
  };
  return unless_any(b.CreateNot(b.CreateAnd(is_moderate(x), is_moderate(y))), in_double, lane_by_lane);
}

llvm::Value* Emitter::unless_any(llvm::Value* lanes, const std::function<llvm::Value*()>& usual,
                                 const std::function<llvm::Value*()>& other) {
  if (mask) lanes = b.CreateSelect(mask, lanes, llvm::Constant::getNullValue(lanes->getType()));
  llvm::BasicBlock *good = frame.block("usual"), *rare = frame.block("other"), *done = frame.block("either");
  frame.branch_likely(b.CreateNot(any(lanes)), good, rare);
  const auto in = [&](llvm::BasicBlock*& block, const std::function<llvm::Value*()>& emit) {
    b.SetInsertPoint(block);
    llvm::Value* value = emit();
    block = b.GetInsertBlock();
    b.CreateBr(done);
    return value;
  };
  llvm::Value* of_usual = in(good, usual);
  llvm::Value* of_other = in(rare, other);
  b.SetInsertPoint(done);
  llvm::PHINode* either = b.CreatePHI(of_usual->getType(), 2);
  either->addIncoming(of_usual, good);
  either->addIncoming(of_other, rare);
  return either;
}

llvm::Value* Emitter::float_remainder(ScalarType type, llvm::Value* x, llvm::Value* y) {
  // Operands and result of a remainder of floats are floats; the remainder in double is exact as well.
  const bool is_wide = type == ScalarType::float64;
  llvm::Type* given = x->getType();
  llvm::Type* real = llvm::Type::getDoubleTy(b.getContext());
  if (given->isVectorTy()) real = llvm::FixedVectorType::get(real, static_cast<unsigned>(width));
  if (!is_wide) {
    x = b.CreateFPExt(x, real);
    y = b.CreateFPExt(y, real);
  }
  llvm::Value* all = given->isVectorTy() ? double_remainders(x, y)
                                         : b.CreateCall(remainder_function(*frame.function()), {x, y});
  return is_wide ? all : b.CreateFPTrunc(all, given);
}

/// By the truncated quotient where that is below 2^52 in all active lanes, else lane by lane. The rounded quotient is at
/// most one above the true one, if it rounds up to an integer, and never below it; x less so many y is a multiple of y's
/// last bit and not larger than y, so that one rounding of both makes no error.
llvm::Value* Emitter::double_remainders(llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  const auto size = [&](llvm::Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* ratio = b.CreateFDiv(x, y);
  const auto by_quotient = [&]() -> llvm::Value* {
    const auto with_sign_of_x = [&](llvm::Value* v) {
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, v, x);
    };
    llvm::Value* whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, ratio);
    llvm::Value* rest = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {b.CreateFNeg(whole), y, x});
    // Of the other sign: one y too many.
    llvm::Value* too_many =
        b.CreateFCmpOLT(b.CreateFMul(with_sign_of_x(llvm::ConstantFP::get(type, 1.0)), rest),
                        llvm::ConstantFP::get(type, 0.0));
    rest = b.CreateSelect(too_many, b.CreateFAdd(rest, with_sign_of_x(y)), rest);
    // Of a smaller x it is x, also if y is infinite.
    return b.CreateSelect(b.CreateFCmpOLT(size(x), size(y)), x, with_sign_of_x(rest));
  };
  const auto lane_by_lane = [&] {
    llvm::Function* exact = remainder_function(*frame.function());
    llvm::Value* all = llvm::PoisonValue::get(type);
    for (int lane = 0; lane < width; ++lane) {
      const auto n = static_cast<std::uint64_t>(lane);
      llvm::Value* one = b.CreateCall(exact, {b.CreateExtractElement(x, n), b.CreateExtractElement(y, n)});
      all = b.CreateInsertElement(all, one, n);
    }
    return all;
  };
  // A NaN is far, too: of nothing by nothing, or of infinities.
  llvm::Value* far = b.CreateFCmpUGE(size(ratio), llvm::ConstantFP::get(type, 0x1p52));
  return unless_any(far, by_quotient, lane_by_lane);
}

}  // namespace anabranch::cpu
