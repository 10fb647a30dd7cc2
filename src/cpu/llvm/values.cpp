#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/IR/Constants.h>

#include "cpu/llvm/emitter.h"

/// Values across lanes: types, conversions between the three kinds, address arithmetic, loads and stores.
namespace anabranch::cpu {

namespace {
const llvm::fltSemantics& float_format(const ir::ScalarInfo& facts) {
  if (facts.bits == 32) return llvm::APFloat::IEEEsingle();
  if (facts.bits == 64) return llvm::APFloat::IEEEdouble();
  throw InternalError(std::string("cpu: no floating-point format for ") + facts.name);
}
}  // namespace

kernel::Motion Value::motion() const {
  switch (kind) {
    case Kind::uniform:
      if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(v); number && number->getBitWidth() == 64)
        return kernel::Motion::same(number->getSExtValue());
      return kernel::Motion::same();
    case Kind::affine:
      return kernel::Motion::steady(stride);
    case Kind::varying:
      break;
  }
  return {};
}

llvm::Type* Emitter::type_of(ScalarType type) const {
  const ir::ScalarInfo& facts = ir::scalar_info(type);
  if (facts.kind != ir::ScalarKind::floating || type == ScalarType::float16)
    return b.getIntNTy(static_cast<unsigned>(facts.bits));
  return llvm::Type::getFloatingPointTy(b.getContext(), float_format(facts));
}

llvm::Type* Emitter::memory_type_of(ScalarType type) const {
  return type == ScalarType::boolean ? b.getInt8Ty() : type_of(type);
}

llvm::Type* Emitter::vector_type(llvm::Type* scalar) const {
  return width == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(width));
}

llvm::Value* Emitter::constant(ScalarType type, std::uint64_t bits) const {
  const ir::ScalarInfo& facts = ir::scalar_info(type);
  const llvm::APInt value(static_cast<unsigned>(facts.bits), bits & facts.identities.bit_and);
  if (facts.kind != ir::ScalarKind::floating || type == ScalarType::float16)
    return llvm::ConstantInt::get(b.getContext(), value);
  return llvm::ConstantFP::get(b.getContext(), llvm::APFloat(float_format(facts), value));
}

Value Emitter::affine(llvm::Value* v, std::int64_t stride) const {
  if (width == 1 || stride == 0) return uniform(v);
  return {Value::Kind::affine, v, stride};
}

Value Emitter::varying(llvm::Value* v) const {
  if (width == 1) return uniform(v);
  return {Value::Kind::varying, v};
}

llvm::Value* Emitter::lanes(const Value& value) {
  if (width == 1 || value.kind == Value::Kind::varying) return value.v;
  llvm::Value* splat = b.CreateVectorSplat(static_cast<unsigned>(width), value.v);
  if (value.uniform()) return splat;
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < width; ++lane)
    steps.push_back(
        llvm::ConstantInt::get(value.v->getType(), static_cast<std::uint64_t>(lane * value.stride)));
  return b.CreateAdd(splat, llvm::ConstantVector::get(steps));
}

Value Emitter::add(const Value& x, const Value& y) {
  const auto is_zero = [](const Value& v) {
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v.v);
    return v.uniform() && c && c->isZero();
  };
  if (is_zero(x)) return y;
  if (is_zero(y)) return x;
  if (const kernel::Motion motion = kernel::sum(x.motion(), y.motion());
      motion.is_same() || motion.kind == kernel::Motion::Kind::steady)
    return affine(b.CreateAdd(x.v, y.v), motion.step);
  Value sum = varying(b.CreateAdd(lanes(x), lanes(y)));
  const Value& lane_wise = x.uniform() ? y : x;
  const Value& common = x.uniform() ? x : y;
  if (lane_wise.memory && common.uniform()) {
    sum.memory = lane_wise.memory;
    sum.memory_type = lane_wise.memory_type;
    sum.offset = lane_wise.offset ? b.CreateAdd(lane_wise.offset, common.v) : common.v;
  }
  return sum;
}

Value Emitter::multiply(const Value& x, const Value& y) {
  const kernel::Motion motion = kernel::product(x.motion(), y.motion());
  if (motion.is_same() || motion.kind == kernel::Motion::Kind::steady)
    return affine(b.CreateMul(x.v, y.v), motion.step);
  return varying(b.CreateMul(lanes(x), lanes(y)));
}

llvm::Value* Emitter::any(llvm::Value* lanes_mask) { return width == 1 ? lanes_mask : any_lane(lanes_mask); }

llvm::Value* Emitter::any_lane(llvm::Value* lanes_mask) {
  llvm::Type* bits = b.getIntNTy(llvm::cast<llvm::FixedVectorType>(lanes_mask->getType())->getNumElements());
  return b.CreateICmpNE(b.CreateBitCast(lanes_mask, bits), llvm::ConstantInt::get(bits, 0));
}

llvm::Value* Emitter::to_memory(ScalarType type, llvm::Value* v) {
  if (type != ScalarType::boolean) return v;
  llvm::Type* byte = b.getInt8Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType()))
    return b.CreateZExt(v, llvm::FixedVectorType::get(byte, vector->getNumElements()));
  return b.CreateZExt(v, byte);
}

llvm::Value* Emitter::from_memory(ScalarType type, llvm::Value* v) {
  if (type != ScalarType::boolean) return v;
  return b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
}

Value Emitter::load(llvm::Value* buffer, ScalarType type, const Value& position, llvm::Value* active) {
  llvm::Type* cell = memory_type_of(type);
  const auto size = static_cast<unsigned>(size_of(type));
  switch (kernel::pattern_of(position.motion())) {
    case kernel::AccessPattern::broadcast:
      return uniform(
          from_memory(type, frame.load_element(cell, frame.element(cell, buffer, position.v), size)));
    case kernel::AccessPattern::backwards:
      return load_backwards(buffer, type, position.v, active);
    case kernel::AccessPattern::strided:
      if (position.kind == Value::Kind::affine && position.stride == 2 && !active)
        return load_every_other(buffer, type, position.v);
      return gather(buffer, type, position, active);
    case kernel::AccessPattern::gathered:
      return gather(buffer, type, position, active);
    case kernel::AccessPattern::contiguous:
      break;
  }
  llvm::Type* cells = vector_type(cell);
  llvm::Value* address = frame.element(cell, buffer, position.v);
  if (ahead) frame.prefetch(frame.element(cell, address, ahead));
  if (active) {
    return varying(from_memory(type, b.CreateMaskedLoad(cells, address, llvm::Align(size), active,
                                                        llvm::Constant::getNullValue(cells))));
  }
  Value value = varying(from_memory(type, frame.load_element(cells, address, size)));
  if (type == ScalarType::int64 || type == ScalarType::int32) {
    value.memory = address;
    value.memory_type = type;
  }
  return value;
}

llvm::Value* Emitter::turned(llvm::Value* v) {
  return b.CreateShuffleVector(v, llvm::to_vector(llvm::reverse(llvm::seq(0, width))));
}

/// Lane j from position - j: a load from the last lane's on, and turned around.
Value Emitter::load_backwards(llvm::Value* buffer, ScalarType type, llvm::Value* position,
                              llvm::Value* active) {
  llvm::Type* cell = memory_type_of(type);
  llvm::Value* first = frame.element(cell, buffer, b.CreateSub(position, frame.number(width - 1)));
  llvm::Value* const forwards = std::exchange(ahead, nullptr);
  if (forwards) frame.prefetch(frame.element(cell, first, b.CreateNeg(forwards)));
  const Value lanes_in_memory =
      load(first, type, affine(frame.number(0), 1), active ? turned(active) : nullptr);
  ahead = forwards;
  return varying(turned(lanes_in_memory.v));
}

/// Lane j from position + 2 j: every other element of two vectors, of which the second begins with the first's last element, so
/// that nothing is read beyond the last lane's.
Value Emitter::load_every_other(llvm::Value* buffer, ScalarType type, llvm::Value* position) {
  llvm::Type* cell = memory_type_of(type);
  const auto size = static_cast<unsigned>(size_of(type));
  llvm::Value* first = frame.element(cell, buffer, position);
  llvm::Value* second = frame.element(cell, first, frame.number(width - 1));
  llvm::SmallVector<int> chosen;
  for (int lane = 0; lane < width; ++lane) chosen.push_back(2 * lane < width ? 2 * lane : 2 * lane + 1);
  return varying(
      from_memory(type, b.CreateShuffleVector(frame.load_element(vector_type(cell), first, size),
                                              frame.load_element(vector_type(cell), second, size), chosen)));
}

Value Emitter::gather(llvm::Value* buffer, ScalarType type, const Value& position, llvm::Value* active) {
  llvm::Type* cell = memory_type_of(type);
  const auto size = static_cast<unsigned>(size_of(type));
  llvm::Type* cells = vector_type(cell);
  if (active) {
    llvm::Value* addresses = frame.element(cell, buffer, lanes(position));
    llvm::Value* all = size < 4 ? gather_narrow(cells, addresses, active)
                                : b.CreateMaskedGather(cells, addresses, llvm::Align(size), active,
                                                       llvm::Constant::getNullValue(cells));
    return varying(from_memory(type, all));
  }
  // Scalar loads put together: what a hardware gather does, only faster outside the first cache level.
  llvm::Value* all = llvm::PoisonValue::get(cells);
  llvm::Value* from = buffer;
  const bool in_memory = position.memory != nullptr;
  if (position.kind == Value::Kind::affine)
    from = frame.element(cell, buffer, position.v);
  else if (in_memory && position.offset)
    from = frame.element(cell, buffer, position.offset);
  for (int lane = 0; lane < width; ++lane) {
    llvm::Value* index = nullptr;
    if (position.kind == Value::Kind::affine) {
      index = frame.number(lane * position.stride);
    } else if (in_memory) {
      llvm::Type* stored = type_of(position.memory_type);
      index = frame.load_element(stored, frame.element(stored, position.memory, frame.number(lane)),
                                 static_cast<unsigned>(size_of(position.memory_type)));
      index = b.CreateSExt(index, frame.i64());
    } else {
      index = b.CreateExtractElement(position.v, static_cast<std::uint64_t>(lane));
    }
    llvm::Value* one = frame.load_element(cell, frame.element(cell, from, index), size);
    all = b.CreateInsertElement(all, one, static_cast<std::uint64_t>(lane));
  }
  return varying(from_memory(type, all));
}

/// No processor gathers less than 32 bits; LLVM would take a branch for each lane. The aligned 32 bits that an element is in are
/// on its page.
llvm::Value* Emitter::gather_narrow(llvm::Type* cells, llvm::Value* addresses, llvm::Value* active) {
  llvm::Type *numbers = vector_type(b.getInt64Ty()), *words = vector_type(b.getInt32Ty());
  llvm::Value* address = b.CreatePtrToInt(addresses, numbers);
  llvm::Value* aligned = b.CreateAnd(address, llvm::ConstantInt::get(numbers, ~std::uint64_t{3}));
  llvm::Value* all = b.CreateMaskedGather(words, b.CreateIntToPtr(aligned, addresses->getType()),
                                          llvm::Align(4), active, llvm::Constant::getNullValue(words));
  llvm::Value* low = b.CreateAnd(b.CreateTrunc(address, words), llvm::ConstantInt::get(words, 3));
  return b.CreateTrunc(b.CreateLShr(all, b.CreateShl(low, llvm::ConstantInt::get(words, 3))), cells);
}

/// From the byte at each lane's position on, wherever that is.
Value Emitter::load_byte_word(llvm::Value* buffer, ScalarType type, const Value& position) {
  llvm::Type *byte = b.getInt8Ty(), *number = type_of(type);
  llvm::Type* numbers = vector_type(number);
  llvm::Constant* none = llvm::Constant::getNullValue(numbers);
  if (position.kind == Value::Kind::affine && position.stride == static_cast<std::int64_t>(size_of(type))) {
    llvm::Value* address = frame.element(byte, buffer, position.v);
    if (mask) return varying(b.CreateMaskedLoad(numbers, address, llvm::Align(1), mask, none));
    return varying(b.CreateAlignedLoad(numbers, address, llvm::Align(1)));
  }
  llvm::Value* addresses = frame.element(byte, buffer, lanes(position));
  if (mask) return varying(b.CreateMaskedGather(numbers, addresses, llvm::Align(1), mask, none));
  llvm::Value* all = llvm::PoisonValue::get(numbers);
  for (int lane = 0; lane < width; ++lane) {
    const auto n = static_cast<std::uint64_t>(lane);
    llvm::Value* one = b.CreateAlignedLoad(number, b.CreateExtractElement(addresses, n), llvm::Align(1));
    all = b.CreateInsertElement(all, one, n);
  }
  return varying(all);
}

void Emitter::store(llvm::Value* buffer, ScalarType type, const Value& position, const Value& value) {
  llvm::Type* cell = memory_type_of(type);
  const llvm::Align align(size_of(type));
  if (position.uniform()) {
    b.CreateAlignedStore(to_memory(type, value.v), frame.element(cell, buffer, position.v), align);
    return;
  }
  llvm::Value *all = to_memory(type, lanes(value)), *active = mask;
  Value from = position;
  if (position.kind == Value::Kind::affine && position.stride == -1 && width > 1) {
    all = turned(all);
    if (mask) active = turned(mask);
    from = affine(b.CreateSub(position.v, frame.number(width - 1)), 1);
  }
  if (from.kind != Value::Kind::affine || from.stride != 1)
    b.CreateMaskedScatter(all, frame.element(cell, buffer, lanes(from)), align, active);
  else if (active)
    b.CreateMaskedStore(all, frame.element(cell, buffer, from.v), align, active);
  else
    b.CreateAlignedStore(all, frame.element(cell, buffer, from.v), align);
}

llvm::Value* Emitter::offset_at(int slot, OffsetType type, llvm::Value* index) {
  const Value loaded =
      load(frame.buffer(slot), type == OffsetType::int32 ? ScalarType::int32 : ScalarType::int64,
           uniform(index), nullptr);
  return b.CreateSExt(loaded.v, frame.i64());
}

Value Emitter::extent(const kernel::KernelExtent& extent, const Value& item) {
  using Kind = kernel::KernelExtent::Kind;
  switch (extent.kind) {
    case Kind::constant:
      return uniform(frame.number(extent.value));
    case Kind::uniform:
      return uniform(frame.scalar(extent.slot));
    case Kind::per_item:
      return load(frame.buffer(extent.slot), ScalarType::int64, item, mask);
    case Kind::number:
      return add(uniform(frame.scalar(extent.slot)), item);
    case Kind::ragged:
      break;
  }
  const ScalarType stored = extent.offsets == OffsetType::int32 ? ScalarType::int32 : ScalarType::int64;
  const auto offset = [&](std::int64_t further) {
    llvm::Value* from = frame.element(type_of(stored), frame.buffer(extent.slot), frame.number(further));
    const Value v = load(from, stored, item, mask);
    llvm::Value* wide = b.CreateSExt(v.v, v.uniform() ? frame.i64() : vector_type(frame.i64()));
    return v.uniform() ? uniform(wide) : varying(wide);
  };
  const Value begin = offset(0);
  const Value end = offset(1);
  const auto combine = [&](auto&& f, const Value& x, const Value& y) {
    return x.uniform() && y.uniform() ? uniform(f(x.v, y.v)) : varying(f(lanes(x), lanes(y)));
  };
  const Value size = combine([&](auto* x, auto* y) { return b.CreateSub(x, y); }, end, begin);
  if (extent.divisor_kind == Kind::constant && extent.divisor == 1) return size;
  // An inner extent of zero leaves no elements; any outer extent would do.
  llvm::Value* divisor = extent.divisor_kind == Kind::constant
                             ? frame.number(extent.divisor)
                             : frame.scalar(static_cast<int>(extent.divisor));
  divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, divisor, frame.number(1));
  return combine([&](auto* x, auto* y) { return b.CreateSDiv(x, y); }, size, uniform(divisor));
}

View Emitter::view(const kernel::KernelArray& array, const Value& item) {
  View view;
  for (int c = 0; c < static_cast<int>(array.type.scalars.size()); ++c)
    view.buffers.push_back(frame.buffer(array.first_buffer + c));
  static_cast<ItemPart&>(view) = part(array, item);
  return view;
}

ItemPart Emitter::part(const kernel::Layout& layout, const Value& item) {
  ItemPart part;
  for (const auto& e : layout.extents) part.extents.push_back(extent(e, item));
  switch (layout.form) {
    case kernel::Form::avoided:
      part.base = uniform(frame.number(0));
      break;
    case kernel::Form::regular: {
      Value size = uniform(frame.number(1));
      for (const Value& e : part.extents) size = multiply(size, e);
      // Whole items may lie far apart: lanes that are items then have their addresses one by one.
      part.base = layout.extents.empty() ? item : multiply(item, size);
      break;
    }
    case kernel::Form::segmented: {
      const ScalarType stored =
          layout.offset_type == OffsetType::int32 ? ScalarType::int32 : ScalarType::int64;
      const Value offset = load(frame.buffer(layout.offsets), stored, item, mask);
      llvm::Value* wide = b.CreateSExt(offset.v, offset.uniform() ? frame.i64() : vector_type(frame.i64()));
      part.base = offset.uniform() ? uniform(wide) : varying(wide);
      break;
    }
  }
  return part;
}

}  // namespace anabranch::cpu
