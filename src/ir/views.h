#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "ir/node.h"
#include "ir/op_info.h"

/// Operands by name: `Fold(node).seed()`. A view is made where it is used and costs nothing but a look at the
/// node's operation: InternalError if it is another. Where a name stands among the children is in the table
/// of operations (ir/op_info.h). What a view returns lives as long as the node.
namespace anabranch::ir {

[[noreturn]] void wrong_view(const Node& node, std::initializer_list<Op> expected);

/// Of one of several operations, whose operands of one name stand at one position.
template <auto... ops>
class View {
 public:
  explicit View(const Node& node) : node_(node) {
    if (((node.op() != ops) && ...)) wrong_view(node, {ops...});
  }
  explicit View(const Ref& node) : View(*node) {}

 protected:
  const Node& node() const { return node_; }
  const Ref& at(std::size_t position) const { return node_.child(position); }
  std::span<const Ref> from(std::size_t position) const { return node_.children().subspan(position); }
  static consteval std::size_t position(std::string_view operand) {
    const std::size_t found[] = {find_operand(ops, operand)...};
    for (const std::size_t each : found)
      if (each != found[0]) throw "the operand stands at different positions";
    return found[0];
  }

 private:
  const Node& node_;
};

/// f(the operand's row, the operand) for each operand that the table names.
template <class F>
void each_operand(const Node& node, F&& f) {
  const OpInfo& row = info(node.op());
  std::size_t child = 0;
  for (std::size_t i = 0; i < row.operands; ++i) {
    const std::size_t end = row.operand[i].count == Count::many ? node.children().size()
                                                                : std::min(child + 1, node.children().size());
    for (; child < end; ++child) f(row.operand[i], node.child(child));
  }
}

// Scalar expressions.

class PrimitiveTerm : public View<Op::primitive> {
 public:
  using View::View;
  std::span<const Ref> operands() const { return from(position("operands")); }
  /// All operands are of one.
  ScalarType operand_type() const { return operands()[0]->type().scalars[0]; }
};

/// May this primitive fail, whatever its operands are? An integer division, but by a divisor that is never 0 nor -1: a
/// literal, or what is at least a positive one.
bool can_fail(const Node& primitive);

class Project : public View<Op::project> {
 public:
  using View::View;
  const Ref& value() const { return at(position("value")); }
  int first() const { return node().payload().first; }
  int count() const { return node().payload().count; }
};

class Cond : public View<Op::cond> {
 public:
  using View::View;
  const Ref& condition() const { return at(position("condition")); }
  const Ref& then() const { return at(position("then")); }
  const Ref& otherwise() const { return at(position("otherwise")); }
};

class WhileLoop : public View<Op::while_loop> {
 public:
  using View::View;
  const Ref& predicate() const { return at(position("predicate")); }
  const Ref& body() const { return at(position("body")); }
  const Ref& initial() const { return at(position("initial")); }
};

/// Of an element: `index` or `linear_index`.
constexpr bool is_read(Op op) { return op == Op::index || op == Op::linear_index; }

class Read : public View<Op::index, Op::linear_index> {
 public:
  using View::View;
  const Ref& array() const { return View::at(position("array")); }
  /// An index, or a row-major position.
  const Ref& at() const { return View::at(position("at")); }
  /// By construction, so that nobody checks it.
  bool in_bounds() const { return node().payload().in_bounds; }
  /// By the positions of the array in whose function it stands each element once at most.
  bool injective() const { return node().payload().injective; }
};

class ShapeOf : public View<Op::shape> {
 public:
  using View::View;
  const Ref& array() const { return at(position("array")); }
};

/// Extent `dimension` of an array, as a term.
struct ExtentOf {
  Ref array;
  int dimension = 0;
};
/// Whether a term is that: the shape of a vector, or one component of a shape.
std::optional<ExtentOf> as_extent(const Node& term);

// Array computations.

class Unit : public View<Op::unit> {
 public:
  using View::View;
  const Ref& value() const { return at(position("value")); }
};

class Generate : public View<Op::generate> {
 public:
  using View::View;
  const Ref& shape() const { return at(position("shape")); }
  const Ref& function() const { return at(position("function")); }
};

class Map : public View<Op::map> {
 public:
  using View::View;
  const Ref& function() const { return at(position("function")); }
  std::span<const Ref> arrays() const { return from(position("arrays")); }
};

/// An operator on the elements of an array's rows.
template <auto op>
class AlongRows : public View<op> {
 public:
  using View<op>::View;
  const Ref& function() const { return this->at(View<op>::position("function")); }
  const Ref& array() const { return this->at(View<op>::position("array")); }
  /// Empty if there is none.
  Ref seed() const { return has_seed() ? this->at(View<op>::position("seed")) : Ref(); }
  bool has_seed() const { return this->node().children().size() > View<op>::position("seed"); }
};

class Fold : public AlongRows<Op::fold> {
 public:
  using AlongRows::AlongRows;
  fold_order::OperatorClass order() const { return node().payload().order; }
};

class Scan : public AlongRows<Op::scan> {
 public:
  using AlongRows::AlongRows;
  const ScanKind& kind() const { return node().payload().scan; }
  /// The dimension that its rows lie along.
  int axis() const { return node().payload().first; }
};

/// Its function is of the state and an element, its seed is always there.
class ScanState : public AlongRows<Op::scan_state> {
 public:
  using AlongRows::AlongRows;
};

/// The array that another one is, element by element.
class Unchanged : public View<Op::compute, Op::trace> {
 public:
  using View::View;
  const Ref& array() const { return at(position("array")); }
};

/// One of several arrays.
class ProjectArray : public View<Op::project_array> {
 public:
  using View::View;
  const Ref& arrays() const { return at(position("arrays")); }
  int which() const { return node().payload().first; }
};

/// The operation that makes an array: of one of several, the one that gives them all.
inline const Node& maker_of(const Node& array) {
  return array.op() == Op::project_array ? *ProjectArray(array).arrays() : array;
}

class Backpermute : public View<Op::backpermute> {
 public:
  using View::View;
  const Ref& shape() const { return at(position("shape")); }
  const Ref& function() const { return at(position("function")); }
  const Ref& array() const { return at(position("array")); }
  /// No element is read twice; every index is in range.
  bool injective() const { return node().payload().injective; }
  bool in_bounds() const { return node().payload().in_bounds; }
};

class Reshape : public View<Op::reshape> {
 public:
  using View::View;
  const Ref& shape() const { return at(position("shape")); }
  const Ref& array() const { return at(position("array")); }
};

class PartOf : public View<Op::part> {
 public:
  using View::View;
  const Ref& shape() const { return at(position("shape")); }
  const Ref& array() const { return at(position("array")); }
  /// The row-major position of the first element.
  const Ref& begin() const { return at(position("begin")); }
};

class Consume : public View<Op::consume> {
 public:
  using View::View;
  const Ref& sink() const { return at(position("sink")); }
};

class Awhile : public View<Op::awhile> {
 public:
  using View::View;
  const Ref& predicate() const { return at(position("predicate")); }
  const Ref& body() const { return at(position("body")); }
  std::span<const Ref> state() const { return from(position("state")); }
  /// Of the body's results the last so many.
  int collects() const { return node().payload().count; }
};

class Acond : public View<Op::acond> {
 public:
  using View::View;
  const Ref& condition() const { return at(position("condition")); }
  const Ref& then() const { return at(position("then")); }
  const Ref& otherwise() const { return at(position("otherwise")); }
};

// Sequences.

class Produce : public View<Op::produce> {
 public:
  using View::View;
  const Ref& count() const { return at(position("count")); }
  const Ref& function() const { return at(position("function")); }
};

class Rows : public View<Op::rows> {
 public:
  using View::View;
  const Ref& array() const { return at(position("array")); }
};

class MapSeq : public View<Op::map_seq> {
 public:
  using View::View;
  const Ref& function() const { return at(position("function")); }
  std::span<const Ref> sequences() const { return from(position("sequences")); }
};

class ProjectSeq : public View<Op::project_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
  int first() const { return node().payload().first; }
  int count() const { return node().payload().count; }
};

class TakeSeq : public View<Op::take_seq> {
 public:
  using View::View;
  const Ref& count() const { return at(position("count")); }
  const Ref& sequence() const { return at(position("sequence")); }
};

class FilterSeq : public View<Op::filter_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
};

class TakeWhileSeq : public View<Op::take_while_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
};

class DropSeq : public View<Op::drop_seq> {
 public:
  using View::View;
  const Ref& count() const { return at(position("count")); }
  const Ref& sequence() const { return at(position("sequence")); }
};

class AppendSeq : public View<Op::append_seq> {
 public:
  using View::View;
  std::span<const Ref> sequences() const { return from(position("sequences")); }
};

class FlattenSeq : public View<Op::flatten_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
};

class WindowsSeq : public View<Op::windows_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
  const Ref& hop() const { return at(position("hop")); }
  /// Of a window.
  std::span<const Ref> shape() const { return from(position("shape")); }
};

class MapAccumSeq : public View<Op::map_accum_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
  const Ref& function() const { return at(position("function")); }
  std::span<const Ref> state() const { return from(position("state")); }
};

class FoldSeq : public View<Op::fold_seq> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
  const Ref& function() const { return at(position("function")); }
  const Ref& seed() const { return at(position("seed")); }
};

class FoldBatch : public View<Op::fold_batch> {
 public:
  using View::View;
  const Ref& sequence() const { return at(position("sequence")); }
  const Ref& batch() const { return at(position("batch")); }
  const Ref& combine() const { return at(position("combine")); }
  const Ref& seed() const { return at(position("seed")); }
};

/// Of what takes a whole sequence: of `write` all arrays of its items, of others the only one.
class SinkTerm : public View<Op::elements, Op::tabulate, Op::fold_seq, Op::fold_batch, Op::write> {
 public:
  using View::View;
  SinkOp kind() const { return node().op().as<SinkOp>(); }
  const Ref& sequence() const { return at(position("sequence")); }
  /// write: where the items go.
  const std::shared_ptr<SinkBase>& sink() const { return node().payload().sink; }
};

/// Is it the consumed `write` of a sequence?
inline bool is_write(const Node& node) {
  return node.op() == Op::consume && SinkTerm(Consume(node).sink()).kind() == Op::write;
}

}  // namespace anabranch::ir
