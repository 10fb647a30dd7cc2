#pragma once

#include <cstdint>

/// Seeing what was made of a program: Program::explain, and what may be expected of it: Program::require, RunOptions::require.
/// docs/explain.md goes through an example.
namespace anabranch {

/// As what Program::explain tells.
enum class Explain : std::uint8_t {
  text,  ///< for a person
  json,  ///< one object, with the same facts: docs/explain.md has its members
  dot,   ///< a graph for Graphviz: operations, a box for each kernel, how arrays are read
};

/// What may be expected of a program, one or several: `Expect::no_intermediates | Expect::one_pass`.
enum class Expect : std::uint8_t {
  nothing = 0,
  /// No array is stored by one kernel and read by another, nor kept from round to round by a loop. Inputs and results are
  /// stored as they have to be, whoever reads them; the sizes of items of a computed shape, one number each, do not count.
  no_intermediates = 1,
  /// No array is segmented: all items of a stream have arrays of one shape each.
  regular = 2,
  /// Each stream is read by one traversal, each array that is given by one kernel, and neither in every round of a loop. (A
  /// kernel for the chunks of a stream may read an array for every chunk.)
  one_pass = 4,
  /// There is a stream; what it gives is a result and not read again; and no stream is the rows of an array that is computed.
  /// So beside results and arrays that are given no array is as long as a stream.
  streaming = 8,
};

constexpr Expect operator|(Expect x, Expect y) {
  return static_cast<Expect>(static_cast<std::uint8_t>(x) | static_cast<std::uint8_t>(y));
}
constexpr Expect operator&(Expect x, Expect y) {
  return static_cast<Expect>(static_cast<std::uint8_t>(x) & static_cast<std::uint8_t>(y));
}

}  // namespace anabranch
