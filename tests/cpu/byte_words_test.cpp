#include "kernel/byte_words.h"

#include <algorithm>
#include <vector>

#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;

namespace {

/// Vectors of bytes, and a position in them.
struct Bytes {
  Bytes() : k(kernel::Map{}) {
    const auto n = k.uniform_extent(100);
    const std::vector<std::uint8_t> data(100);
    text = k.array(kernel::Form::avoided, {ScalarType::uint8}, {n}, k.buffer(data));
    other = k.array(kernel::Form::avoided, {ScalarType::uint8}, {n}, k.buffer(data));
    numbers = k.array(kernel::Form::avoided, {ScalarType::int8}, {n}, k.buffer(data));
    k.output(kernel::Form::avoided, {ScalarType::uint32}, {n}, 100);
    i = k.kernel().index[0];
  }
  /// The byte at i + `at` of `array`, as the byte `place` of a number.
  static Ref byte(const Ref& array, const Ref& at, std::int64_t place, ScalarType type = ScalarType::uint32) {
    const Ref wide = ir::cast(type, ir::index(array, at, {}, true));
    return place == 0 ? wide : shifted(wide, 8 * place);
  }
  static Ref shifted(const Ref& x, std::int64_t by) {
    return ir::primitive(Primitive::shift_left,
                         {x, ir::constant(x->type().scalars[0], static_cast<std::uint64_t>(by))});
  }
  Ref byte(std::int64_t at, std::int64_t place, ScalarType type = ScalarType::uint32) const {
    return byte(text, at == 0 ? i : plus(i, ir::int64(at)), place, type);
  }

  KernelBuilder k;
  Ref text, other, numbers, i;
};

Ref any(const std::vector<Ref>& terms) {
  Ref all = terms[0];
  for (std::size_t t = 1; t < terms.size(); ++t) all = ir::primitive(Primitive::bit_or, {all, terms[t]});
  return all;
}

/// Of the word's first byte, as far as it is one.
Ref position_of(const Ref& word) {
  const ir::Node* const first = kernel::first_of_byte_word(*word);
  return first ? ir::Read(*first).at() : Ref();
}

}  // namespace

TEST_CASE("numbers put together of bytes that lie one behind the other, in any order and of any width") {
  const Bytes b;
  std::vector<int> order{0, 1, 2, 3};
  do {
    std::vector<Ref> terms;
    for (const int place : order) terms.push_back(b.byte(place, place));
    CHECK(position_of(any(terms)) == b.i);
  } while (std::ranges::next_permutation(order).found);
  const auto halves = ir::primitive(Primitive::bit_or,
                                    {any({b.byte(3, 3), b.byte(0, 0)}), any({b.byte(1, 1), b.byte(2, 2)})});
  CHECK(position_of(halves) == b.i);
  for (const auto& [type, bytes] : {std::pair(ScalarType::uint16, 2), std::pair(ScalarType::int32, 4),
                                    std::pair(ScalarType::uint64, 8), std::pair(ScalarType::int64, 8)}) {
    std::vector<Ref> terms;
    for (int place = 0; place < bytes; ++place) terms.push_back(b.byte(place, place, type));
    CHECK(position_of(any(terms)) == b.i);
    terms.pop_back();
    CHECK(position_of(any(terms)) == Ref());
  }
}

TEST_CASE("words that begin elsewhere than at the index") {
  const Bytes b;
  const auto word = [&](std::int64_t first) {
    return any({b.byte(first, 0), b.byte(first + 1, 1), b.byte(first + 2, 2), b.byte(first + 3, 3)});
  };
  for (const std::int64_t first : {-2, 1, 40}) {
    INFO(first);
    CHECK(position_of(word(first)) != Ref());
  }
  const auto at = [&](std::int64_t k) { return Bytes::byte(b.text, ir::int64(k), k - 4); };
  CHECK(position_of(any({at(4), at(5), at(6), at(7)})) != Ref());
  const auto down = [&](std::int64_t place) {
    return Bytes::byte(b.text, minus(b.i, ir::int64(4 - place)), place);
  };
  CHECK(position_of(any({down(0), down(1), down(2), down(3)})) != Ref());
}

TEST_CASE("what is no number as it lies in memory is computed") {
  const Bytes b;
  const auto first_three = [&](const Ref& fourth) {
    return any({b.byte(0, 0), b.byte(1, 1), b.byte(2, 2), fourth});
  };
  REQUIRE(position_of(first_three(b.byte(3, 3))) == b.i);
  const std::vector<std::pair<const char*, Ref>> no_words{
      {"the high byte first", any({b.byte(3, 0), b.byte(2, 1), b.byte(1, 2), b.byte(0, 3)})},
      {"a gap between the bytes", first_three(b.byte(4, 3))},
      {"one byte twice", first_three(b.byte(2, 3))},
      {"one place twice", first_three(b.byte(3, 2))},
      {"a place beyond the number", first_three(b.byte(3, 4))},
      {"another array", first_three(Bytes::byte(b.other, plus(b.i, ir::int64(3)), 3))},
      {"bytes with a sign",
       any({Bytes::byte(b.numbers, b.i, 0), Bytes::byte(b.numbers, plus(b.i, ir::int64(1)), 1),
            Bytes::byte(b.numbers, plus(b.i, ir::int64(2)), 2),
            Bytes::byte(b.numbers, plus(b.i, ir::int64(3)), 3)})},
      {"a position that has nothing to do with the others",
       first_three(Bytes::byte(b.text, times(b.i, ir::int64(3)), 3))},
      {"moved by bits, not by bytes", first_three(Bytes::shifted(b.byte(3, 0), 25))},
      {"moved by what is not known",
       first_three(ir::primitive(Primitive::shift_left, {b.byte(3, 0), ir::cast(ScalarType::uint32, b.i)}))},
      {"added", plus(any({b.byte(0, 0), b.byte(1, 1), b.byte(2, 2)}), b.byte(3, 3))},
      {"one byte", b.byte(0, 0)}};
  for (const auto& [what, number] : no_words) {
    INFO(what);
    CHECK(kernel::first_of_byte_word(*number) == nullptr);
  }
}
