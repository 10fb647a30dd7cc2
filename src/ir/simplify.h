#pragma once

#include <memory>

#include "ir/node.h"

namespace anabranch::ir {

/// Makes equal scalar terms one node (hash-consing), and removes what depends on nothing: primitives of
/// integers and booleans on constants, on neutral elements (x * 1, x + 0) and on equal terms (min(x, x), x -
/// x), and conditionals on constants or between equal terms; x + 1 + 2 has one constant. Of floats it uses the
/// identities that hold for every value of IEEE arithmetic, NaN, infinities and both zeros (x * 1, x + -0, x / 8 is
/// x * 0.125), and no other: it keeps meanings bit for bit. It keeps every possible error: of `5 / x - 5 / x` nothing
/// is removed.
class Simplifier {
 public:
  Ref operator()(const Ref& root);
  /// The same for one node whose children are already simplified: for use inside another Rewriter's rule.
  Ref step(const Ref& node);
  /// `into_arrays` false: array computations are left as they are (later passes know them by address). Identities of
  /// floats are for these later passes only: contraction has to see the products as they were written.
  explicit Simplifier(bool into_arrays = true);
  ~Simplifier();
  Simplifier(const Simplifier&) = delete;
  Simplifier& operator=(const Simplifier&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Can evaluating this scalar term fail, or not end, where the arrays that it reads are there?
bool may_fail(const Ref& term);

}  // namespace anabranch::ir
