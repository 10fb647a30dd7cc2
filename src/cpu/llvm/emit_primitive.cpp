#include <llvm/IR/Intrinsics.h>

#include "cpu/llvm/emitter.h"
#include "cpu/llvm/remainder.h"
#include "ir/transcendental.h"
#include "plan/check_error.h"

/// The primitives, with the meanings of ir/primitive.h.
namespace anabranch::cpu {

using ir::Primitive;
using llvm::Intrinsic::ID;

Value Emitter::primitive(const ir::Node& node) {
  Values operands;
  for (const auto& child : node.children()) operands.push_back(value(child));
  return apply(node, operands);
}

Value Emitter::apply(const ir::Node& node, std::span<const Value> operands) {
  const Primitive primitive = node.payload().primitive;
  const ScalarType type = node.child(0)->type().scalars[0];
  const ScalarType result_type = node.type().scalars[0];
  bool uniform_all = true;
  for (const Value& v : operands) uniform_all = uniform_all && v.uniform();

  // Index arithmetic stays symbolic as long as it is affine in the lane.
  if (type == ScalarType::int64 && !uniform_all) {
    if (primitive == Primitive::add) return add(operands[0], operands[1]);
    if (primitive == Primitive::subtract && operands[1].uniform())
      return add(operands[0], uniform(b.CreateNeg(operands[1].v)));
    if (primitive == Primitive::subtract)
      return add(operands[0], multiply(operands[1], uniform(frame.number(-1))));
    if (primitive == Primitive::multiply) return multiply(operands[0], operands[1]);
  }

  std::vector<llvm::Value*> x;
  for (const Value& v : operands) x.push_back(uniform_all ? v.v : lanes(v));
  const auto wrap = [&](llvm::Value* v) { return uniform_all ? uniform(v) : varying(v); };
  switch (primitive) {
    case Primitive::cast: {
      Value out = wrap(convert(type, result_type, x[0]));
      if (!uniform_all && type == ScalarType::int32 && result_type == ScalarType::int64) {
        out.memory = operands[0].memory;
        out.memory_type = operands[0].memory_type;
        out.narrow = x[0];
      }
      return out;
    }
    case Primitive::equal:
    case Primitive::not_equal:
    case Primitive::less:
    case Primitive::less_equal:
      return wrap(compare(primitive, type, x[0], x[1]));
    case Primitive::divide:
    case Primitive::remainder:
      if (ir::is_integer(type)) return wrap(divide(node, x[0], x[1]));
      return wrap(primitive == Primitive::divide ? b.CreateFDiv(x[0], x[1])
                                                 : float_remainder(type, x[0], x[1]));
    case Primitive::exponential:
    case Primitive::logarithm:
    case Primitive::sine:
    case Primitive::cosine:
      return wrap(transcendental(primitive, type, x[0]));
    case Primitive::add:
    case Primitive::subtract:
    case Primitive::multiply:
    case Primitive::negate:
    case Primitive::absolute:
    case Primitive::minimum:
    case Primitive::maximum:
    case Primitive::fma:
    case Primitive::logical_not:
    case Primitive::bit_and:
    case Primitive::bit_or:
    case Primitive::bit_xor:
    case Primitive::square_root:
      return wrap(arithmetic(primitive, type, x));
  }
  throw InternalError("unknown primitive");
}

llvm::Value* Emitter::arithmetic(Primitive primitive, ScalarType type, std::span<llvm::Value* const> x) {
  const bool floating = ir::is_float(type);
  const bool is_signed = ir::is_signed(type);
  const auto either = [&](ID of_signed, ID of_unsigned) {
    return b.CreateBinaryIntrinsic(is_signed ? of_signed : of_unsigned, x[0], x[1]);
  };
  // (x before y or x is NaN) ? x : y, as the language has it.
  const auto float_choice = [&](llvm::Value* before) {
    llvm::Value* chosen = b.CreateSelect(before, x[0], x[1]);
    return b.CreateSelect(b.CreateFCmpUNO(x[0], x[0]), x[0], chosen);
  };
  switch (primitive) {
    case Primitive::add:
      return floating ? b.CreateFAdd(x[0], x[1]) : b.CreateAdd(x[0], x[1]);
    case Primitive::subtract:
      return floating ? b.CreateFSub(x[0], x[1]) : b.CreateSub(x[0], x[1]);
    case Primitive::multiply:
      return floating ? b.CreateFMul(x[0], x[1]) : b.CreateMul(x[0], x[1]);
    case Primitive::negate:
      return floating ? b.CreateFNeg(x[0]) : b.CreateNeg(x[0]);
    case Primitive::absolute:
      if (floating) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x[0]);
      return is_signed ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], b.getFalse()) : x[0];
    case Primitive::minimum:
      if (floating) return float_choice(b.CreateFCmpOLT(x[0], x[1]));
      return either(llvm::Intrinsic::smin, llvm::Intrinsic::umin);
    case Primitive::maximum:
      if (floating) return float_choice(b.CreateFCmpOGT(x[0], x[1]));
      return either(llvm::Intrinsic::smax, llvm::Intrinsic::umax);
    case Primitive::fma:
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
    case Primitive::logical_not:
      return b.CreateNot(x[0]);
    case Primitive::bit_and:
      return b.CreateAnd(x[0], x[1]);
    case Primitive::bit_or:
      return b.CreateOr(x[0], x[1]);
    case Primitive::bit_xor:
      return b.CreateXor(x[0], x[1]);
    case Primitive::square_root:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
    case Primitive::divide:
    case Primitive::remainder:
    case Primitive::equal:
    case Primitive::not_equal:
    case Primitive::less:
    case Primitive::less_equal:
    case Primitive::exponential:
    case Primitive::logarithm:
    case Primitive::sine:
    case Primitive::cosine:
    case Primitive::cast:
      break;
  }
  throw InternalError("not an arithmetic primitive");
}

llvm::Value* Emitter::compare(Primitive primitive, ScalarType type, llvm::Value* x, llvm::Value* y) {
  using P = llvm::CmpInst::Predicate;
  const bool floating = ir::is_float(type);
  const bool is_signed = ir::is_signed(type);
  if (primitive == Primitive::equal) return floating ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y);
  if (primitive == Primitive::not_equal) return floating ? b.CreateFCmpUNE(x, y) : b.CreateICmpNE(x, y);
  if (primitive == Primitive::less)
    return floating ? b.CreateFCmpOLT(x, y) : b.CreateICmp(is_signed ? P::ICMP_SLT : P::ICMP_ULT, x, y);
  return floating ? b.CreateFCmpOLE(x, y) : b.CreateICmp(is_signed ? P::ICMP_SLE : P::ICMP_ULE, x, y);
}

llvm::Value* Emitter::convert(ScalarType from, ScalarType to, llvm::Value* x) {
  if (from == to) return x;
  llvm::Type* target = type_of(to);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType()))
    target = llvm::FixedVectorType::get(target, vector->getNumElements());
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  if (to == ScalarType::boolean)
    return ir::is_float(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  if (ir::is_float(from)) {
    if (ir::is_float(to)) return b.CreateFPCast(x, target);
    const ID saturating = ir::is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(saturating, {target, x->getType()}, {x});
  }
  if (ir::is_float(to)) return ir::is_signed(from) ? b.CreateSIToFP(x, target) : b.CreateUIToFP(x, target);
  return ir::is_signed(from) ? b.CreateSExtOrTrunc(x, target) : b.CreateZExtOrTrunc(x, target);
}

llvm::Value* Emitter::divide(const ir::Node& node, llvm::Value* x, llvm::Value* y) {
  const ScalarType type = node.child(0)->type().scalars[0];
  const bool is_vector = x->getType()->isVectorTy();
  llvm::Constant* zero = llvm::Constant::getNullValue(y->getType());
  llvm::Constant* one = llvm::ConstantInt::get(y->getType(), 1);

  llvm::Value* bad = b.CreateICmpEQ(y, zero);
  if (ir::is_signed(type)) {
    const unsigned bits = type == ScalarType::int32 ? 32 : 64;
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
                b.CreateSelect(b.CreateIsNull(by), frame.number(plan::division_by_zero),
                               frame.number(plan::division_overflow)));
    b.SetInsertPoint(next);
  }
  // Division of lanes that are not active must not trap.
  llvm::Value* divisor = is_vector && mask ? b.CreateSelect(mask, y, one) : y;

  llvm::Value* quotient = nullptr;
  if (is_vector && type != ScalarType::int64) {
    // No vector unit divides integers; quotients of 32 bits are exact in double after truncation, of 8 bits
    // in float.
    llvm::Type* real = llvm::FixedVectorType::get(
        type == ScalarType::int32 ? b.getDoubleTy() : b.getFloatTy(), static_cast<unsigned>(width));
    const bool is_signed = ir::is_signed(type);
    const auto to_real = [&](llvm::Value* v) {
      return is_signed ? b.CreateSIToFP(v, real) : b.CreateUIToFP(v, real);
    };
    llvm::Value* ratio = b.CreateFDiv(to_real(x), to_real(divisor));
    quotient = is_signed ? b.CreateFPToSI(ratio, x->getType()) : b.CreateFPToUI(ratio, x->getType());
  } else {
    quotient = ir::is_signed(type) ? b.CreateSDiv(x, divisor) : b.CreateUDiv(x, divisor);
  }
  if (node.payload().primitive == Primitive::divide) return quotient;
  return b.CreateSub(x, b.CreateMul(quotient, divisor));
}

llvm::Value* Emitter::float_remainder(ScalarType type, llvm::Value* x, llvm::Value* y) {
  llvm::Function* exact = remainder_function(*frame.function());
  const auto one = [&](llvm::Value* p, llvm::Value* q) -> llvm::Value* {
    // Operands and result of a float remainder are floats; the remainder in double is exact as well.
    if (type == ScalarType::float64) return b.CreateCall(exact, {p, q});
    llvm::Value* wide =
        b.CreateCall(exact, {b.CreateFPExt(p, b.getDoubleTy()), b.CreateFPExt(q, b.getDoubleTy())});
    return b.CreateFPTrunc(wide, b.getFloatTy());
  };
  if (!x->getType()->isVectorTy()) return one(x, y);
  llvm::Value* all = llvm::PoisonValue::get(x->getType());
  for (int lane = 0; lane < width; ++lane) {
    const auto n = static_cast<std::uint64_t>(lane);
    all = b.CreateInsertElement(all, one(b.CreateExtractElement(x, n), b.CreateExtractElement(y, n)), n);
  }
  return all;
}

llvm::Value* Emitter::transcendental(Primitive primitive, ScalarType type, llvm::Value* x) {
  const int number = ir::routine_number(primitive, type);
  if (number < 0) throw InternalError("no library routine for " + std::string(info(primitive).name));
  const int lanes_of_routine = ir::routine(number).lanes;
  if (lanes_of_routine * static_cast<int>(size_of(type)) > std::max(machine_.vector_bytes, 16))
    throw BackendUnavailable("cpu: the library routine " + std::string(ir::routine(number).symbol) +
                             " needs wider vectors than the code is generated for");
  const auto n = static_cast<unsigned>(lanes_of_routine);
  llvm::Type* scalar = type_of(type);
  llvm::Type* packed = n == 1 ? scalar : llvm::FixedVectorType::get(scalar, n);
  auto* signature = llvm::FunctionType::get(packed, {packed}, false);
  llvm::Value* routine = frame.routine(number);
  const auto call = [&](llvm::Value* argument) -> llvm::Value* {
    llvm::CallInst* result = b.CreateCall(signature, routine, {argument});
    result->addFnAttr(llvm::Attribute::NoUnwind);
    result->addFnAttr(llvm::Attribute::WillReturn);
    result->setDoesNotAccessMemory();
    return result;
  };
  if (!x->getType()->isVectorTy()) {
    if (n == 1) return call(x);
    // Idle lanes repeat the value: they take no slow path that the value itself does not take.
    return b.CreateExtractElement(call(b.CreateVectorSplat(n, x)), std::uint64_t{0});
  }
  if (mask) {
    llvm::Constant* easy = llvm::ConstantFP::get(x->getType(), 1.0);
    x = b.CreateSelect(mask, x, easy);
  }
  llvm::Value* all = nullptr;
  if (n == 1) {
    all = llvm::PoisonValue::get(x->getType());
    for (int lane = 0; lane < width; ++lane)
      all = b.CreateInsertElement(all, call(b.CreateExtractElement(x, static_cast<std::uint64_t>(lane))),
                                  static_cast<std::uint64_t>(lane));
    return all;
  }
  // Parts of n lanes; the last is filled up by repeating lanes.
  std::vector<llvm::Value*> parts;
  for (int from = 0; from < width; from += lanes_of_routine) {
    std::vector<int> pick;
    for (int lane = 0; lane < lanes_of_routine; ++lane)
      pick.push_back(from + lane % std::min(width, lanes_of_routine));
    parts.push_back(call(width == lanes_of_routine ? x : b.CreateShuffleVector(x, pick)));
  }
  while (parts.size() > 1) {
    std::vector<llvm::Value*> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      const auto half = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      std::vector<int> pick;
      for (unsigned lane = 0; lane < 2 * half; ++lane) pick.push_back(static_cast<int>(lane));
      pairs.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], pick));
    }
    parts = std::move(pairs);
  }
  if (width >= lanes_of_routine) return parts[0];
  std::vector<int> head;
  for (int lane = 0; lane < width; ++lane) head.push_back(lane);
  return b.CreateShuffleVector(parts[0], head);
}

}  // namespace anabranch::cpu
