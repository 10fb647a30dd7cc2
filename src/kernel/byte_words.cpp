#include "kernel/byte_words.h"

#include <array>
#include <cstdint>
#include <vector>

#include "ir/views.h"

namespace anabranch::kernel {

namespace {

using ir::Node;
using ir::Primitive;

constexpr std::size_t most_bytes = 8;

bool is(const Node& node, Primitive primitive) {
  return node.op() == ir::Op::primitive && node.payload().primitive == primitive;
}

bool is_number(const Node& node) {
  return node.type().is_element() && node.type().components() == 1 && ir::is_integer(node.type().scalars[0]);
}

/// term + number, where `term` is null if there is a number only.
struct Position {
  const Node* term = nullptr;
  std::uint64_t number = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

Position position_of(const Node& index) {
  if (index.op() == ir::Op::constant) return {nullptr, index.payload().bits};
  if (is(index, Primitive::add) || is(index, Primitive::subtract)) {
    const auto operands = ir::PrimitiveTerm(index).operands();
    const Node &x = *operands[0], &y = *operands[1];
    if (y.op() == ir::Op::constant)
      return {&x, is(index, Primitive::add) ? y.payload().bits : 0 - y.payload().bits};
    if (x.op() == ir::Op::constant && is(index, Primitive::add)) return {&y, x.payload().bits};
  }
  return {&index, 0};
}

/// The read of a byte that is moved to byte `place` of a number, if `node` is one.
const Node* byte_at(const Node& node, std::size_t& place) {
  const Node* byte = &node;
  place = 0;
  if (is(node, Primitive::shift_left)) {
    const auto operands = ir::PrimitiveTerm(node).operands();
    const Node& by = *operands[1];
    if (by.op() != ir::Op::constant || by.payload().bits % 8 != 0) return nullptr;
    place = by.payload().bits / 8;
    byte = operands[0].get();
  }
  if (!is(*byte, Primitive::cast)) return nullptr;
  const Node& read = *ir::PrimitiveTerm(*byte).operands()[0];
  if (!ir::is_read(read.op())) return nullptr;
  const ir::Type& array = ir::Read(read).array()->type();
  const bool fits = array.rank == 1 && array.scalars.size() == 1 && array.scalars[0] == ScalarType::uint8;
  return fits ? &read : nullptr;
}

}  // namespace

const ir::Node* first_of_byte_word(const ir::Node& node) {
  if (!is(node, Primitive::bit_or) || !is_number(node)) return nullptr;
  const std::size_t bytes = size_of(node.type().scalars[0]);
  if (bytes < 2) return nullptr;
  std::array<const Node*, most_bytes> reads{};
  std::size_t found = 0;
  std::vector<const Node*> terms{&node};
  while (!terms.empty()) {
    const Node& term = *terms.back();
    terms.pop_back();
    if (is(term, Primitive::bit_or)) {
      if (terms.size() > 2 * most_bytes) return nullptr;
      for (const auto& child : term.children()) terms.push_back(child.get());
      continue;
    }
    std::size_t place = 0;
    const Node* const read = byte_at(term, place);
    if (!read || place >= bytes || reads[place]) return nullptr;
    reads[place] = read;
    ++found;
  }
  if (found != bytes) return nullptr;
  const ir::Read first(*reads[0]);
  const Position begin = position_of(*first.at());
  for (std::size_t k = 1; k < bytes; ++k) {
    const ir::Read read(*reads[k]);
    if (read.array() != first.array() || reads[k]->op() != reads[0]->op() ||
        position_of(*read.at()) != Position{begin.term, begin.number + k})
      return nullptr;
  }
  return reads[0];
}

}  // namespace anabranch::kernel
