#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

#include "ir/op.h"

/// The table of operations: what passes ask of any operation without knowing it. Lifting takes the rule for
/// its extents from here, fusion how its operands are read and whether it can be computed inside its readers,
/// views (ir/views.h) the positions of its operands. A new enumerator without a row does not compile.
namespace anabranch::ir {

/// What an operand is.
enum class Role : std::uint8_t { element, shape, function, array, arrays, sequence, sink };

/// How an operation reads an operand.
enum class Access : std::uint8_t {
  value,        ///< an element: evaluated with the operation
  if_taken,     ///< an element: evaluated where its side is taken. A function: a body, run if it is taken
  applied,      ///< a function: per element, round or item
  repeated,     ///< a function of arrays: a body, run once a round
  shape_only,   ///< no element of it
  own_element,  ///< an array: the element at the reader's own position
  own_row,      ///< each element of the reader's own row, once
  by_position,  ///< the element at the reader's own row-major position
  mapped,       ///< at an index that the operation's function gives (Backpermute::injective, in_bounds)
  computed,     ///< at positions that scalar code computes, each any number of times
  taken,        ///< several arrays: one of them is the result
  per_item,     ///< a sequence: item by item. An array: as items, along its outermost dimension
  stored,       ///< all of it, in memory, within the operation's own stage
  whole,        ///< all of it, before the operation
};

enum class Count : std::uint8_t { one, optional, many /* one or more; zero of a tuple or a function */ };

struct Operand {
  std::string_view name;
  Role role = Role::element;
  Access access = Access::value;
  Count count = Count::one;
};

/// When the elements of an array exist.
enum class Storage : std::uint8_t {
  no_array,
  given,    ///< before any kernel runs
  stored,   ///< a kernel of its own computes all of them
  delayed,  ///< may be computed where they are read
};

/// How the extents of an array follow from its operands.
enum class ExtentRule : std::uint8_t {
  no_array,
  atoms,              ///< they are its own: asked of the array itself
  none,               ///< rank 0
  as_given,           ///< the components of the operand `shape`; a negative one is a RunError
  intersection,       ///< the minimum of the arrays', dimension by dimension
  same,               ///< those of the array
  of_prefixes,        ///< those of the array, one more along a scan's axis where it gives all prefixes
  of_totals,          ///< those of the array but that of a scan's axis
  without_innermost,  ///< those of the array but for its last
  of_result,          ///< of one of several arrays: as the operation says that gives them
};

struct OpInfo {
  const char* name = nullptr;
  std::array<Operand, 4> operand{};  ///< the first `operands` of them
  std::size_t operands = 0;
  Storage storage = Storage::no_array;
  ExtentRule extents = ExtentRule::no_array;        ///< of the array, or of the first of several
  ExtentRule other_extents = ExtentRule::no_array;  ///< of the others
  const char* why = "";                             ///< why it is stored or given, for the user

  constexpr OpInfo() = default;
  template <std::same_as<Operand>... Operands>
  constexpr explicit OpInfo(const char* op_name, Operands... its)
      : name(op_name), operand{its...}, operands(sizeof...(its)) {}
  constexpr OpInfo array(Storage when, ExtentRule rule, const char* reason = "") const {
    OpInfo row = *this;
    row.storage = when;
    row.extents = rule;
    row.why = reason;
    return row;
  }
  constexpr OpInfo arrays(Storage when, ExtentRule first, ExtentRule others, const char* reason) const {
    OpInfo row = array(when, first, reason);
    row.other_extents = others;
    return row;
  }
};

namespace op_rows {

constexpr Operand element(std::string_view name, Access access = Access::value, Count count = Count::one) {
  return {name, Role::element, access, count};
}
constexpr Operand shape(std::string_view name = "shape") { return {name, Role::shape, Access::value}; }
constexpr Operand function(std::string_view name = "function") {
  return {name, Role::function, Access::applied};
}
constexpr Operand body(std::string_view name, Access access) { return {name, Role::function, access}; }
constexpr Operand array(Access access, std::string_view name = "array", Count count = Count::one) {
  return {name, Role::array, access, count};
}
constexpr Operand sequence(std::string_view name = "sequence", Count count = Count::one) {
  return {name, Role::sequence, Access::per_item, count};
}

constexpr OpInfo row(ScalarOp op) {
  switch (op) {
    case ScalarOp::constant:
      return OpInfo("constant");
    case ScalarOp::primitive:
      return OpInfo("primitive", element("operands", Access::value, Count::many));
    case ScalarOp::tuple:
      return OpInfo("tuple", element("parts", Access::value, Count::many));
    case ScalarOp::project:
      return OpInfo("project", element("value"));
    case ScalarOp::cond:
      return OpInfo("cond", element("condition"), element("then", Access::if_taken),
                    element("otherwise", Access::if_taken));
    case ScalarOp::while_loop:
      return OpInfo("while_loop", function("predicate"), function("body"), element("initial"));
    case ScalarOp::index:
      return OpInfo("index", array(Access::computed), element("at"));
    case ScalarOp::linear_index:
      return OpInfo("linear_index", array(Access::computed), element("at"));
    case ScalarOp::shape:
      return OpInfo("shape", array(Access::shape_only));
  }
  return {};
}

constexpr OpInfo row(FunctionOp op) {
  switch (op) {
    case FunctionOp::parameter:
      return OpInfo("parameter").array(Storage::given, ExtentRule::atoms);
    case FunctionOp::lambda:
      return OpInfo("lambda");  // parameters and results: Node::parameters(), Node::results()
  }
  return {};
}

constexpr OpInfo row(ArrayOp op) {
  switch (op) {
    case ArrayOp::use:
      return OpInfo("use").array(Storage::given, ExtentRule::atoms, "given by the host");
    case ArrayOp::unit:
      return OpInfo("unit", element("value")).array(Storage::delayed, ExtentRule::none);
    case ArrayOp::generate:
      return OpInfo("generate", shape(), function()).array(Storage::delayed, ExtentRule::as_given);
    case ArrayOp::map:
      return OpInfo("map", function(), array(Access::own_element, "arrays", Count::many))
          .array(Storage::delayed, ExtentRule::intersection);
    case ArrayOp::fold:
      return OpInfo("fold", function(), array(Access::own_row),
                    element("seed", Access::value, Count::optional))
          .array(Storage::stored, ExtentRule::without_innermost, "a reduction");
    case ArrayOp::scan:
      return OpInfo("scan", function(), array(Access::own_row),
                    element("seed", Access::value, Count::optional))
          .arrays(Storage::stored, ExtentRule::of_prefixes, ExtentRule::of_totals, "a scan");
    case ArrayOp::scan_state:
      return OpInfo("scan_state", function(), array(Access::own_row), element("seed"))
          .array(Storage::stored, ExtentRule::same, "states, one from the other");
    case ArrayOp::backpermute:
      return OpInfo("backpermute", shape(), function(), array(Access::mapped))
          .array(Storage::delayed, ExtentRule::as_given);
    case ArrayOp::reshape:
      return OpInfo("reshape", shape(), array(Access::by_position))
          .array(Storage::delayed, ExtentRule::as_given);
    case ArrayOp::consume:
      return OpInfo("consume", Operand{"sink", Role::sink, Access::whole})
          .array(Storage::given, ExtentRule::atoms, "result of a stream");
    case ArrayOp::project_array:  // stored as the operation is that gives it: ir::maker_of
      return OpInfo("project_array", Operand{"arrays", Role::arrays, Access::taken})
          .array(Storage::no_array, ExtentRule::of_result);
    case ArrayOp::awhile:
      return OpInfo("awhile", body("predicate", Access::repeated), body("body", Access::repeated),
                    array(Access::whole, "state", Count::many))
          .arrays(Storage::given, ExtentRule::atoms, ExtentRule::atoms, "result of a loop");
    case ArrayOp::acond:
      return OpInfo("acond", element("condition"), body("then", Access::if_taken),
                    body("otherwise", Access::if_taken))
          .arrays(Storage::given, ExtentRule::atoms, ExtentRule::atoms, "result of a branch");
    case ArrayOp::part:
      return OpInfo("part", shape(), array(Access::stored), element("begin"))
          .array(Storage::delayed, ExtentRule::as_given);
    case ArrayOp::sort:
      return OpInfo("sort", array(Access::stored))
          .arrays(Storage::stored, ExtentRule::same, ExtentRule::same, "sorted");
    case ArrayOp::select:
      return OpInfo("select", shape(), array(Access::stored, "mask"), array(Access::stored))
          .array(Storage::stored, ExtentRule::as_given, "selected elements");
    case ArrayOp::group:
      return OpInfo("group", shape(), array(Access::stored, "places"))
          .arrays(Storage::stored, ExtentRule::as_given, ExtentRule::same, "grouped by place");
    case ArrayOp::last_at:
      return OpInfo("last_at", shape(), array(Access::stored, "places"))
          .array(Storage::stored, ExtentRule::as_given, "the last element at each place");
    case ArrayOp::accumulate:
      return OpInfo("accumulate", shape(), array(Access::stored, "places"), array(Access::stored))
          .array(Storage::stored, ExtentRule::as_given, "what meets at a place is joined");
    case ArrayOp::repeat:
      return OpInfo("repeat", shape(), array(Access::stored, "counts"))
          .array(Storage::stored, ExtentRule::as_given, "numbers repeated");
    case ArrayOp::compute:
      return OpInfo("compute", array(Access::own_element))
          .array(Storage::stored, ExtentRule::same, "asked for by compute");
    case ArrayOp::trace:
      return OpInfo("trace", array(Access::stored)).array(Storage::stored, ExtentRule::same, "traced");
  }
  return {};
}

constexpr OpInfo row(SourceOp op) {
  switch (op) {
    case SourceOp::stream_in:
      return OpInfo("stream_in");
    case SourceOp::produce:
      return OpInfo("produce", element("count"), function());
    case SourceOp::rows:
      return OpInfo("rows", array(Access::per_item));
  }
  return {};
}

constexpr OpInfo row(SequenceOp op) {
  switch (op) {
    case SequenceOp::map_seq:
      return OpInfo("map_seq", function(), sequence("sequences", Count::many));
    case SequenceOp::project_seq:
      return OpInfo("project_seq", sequence());
    case SequenceOp::take_seq:
      return OpInfo("take_seq", element("count"), sequence());
    case SequenceOp::filter_seq:
      return OpInfo("filter_seq", sequence());
    case SequenceOp::take_while_seq:
      return OpInfo("take_while_seq", sequence());
    case SequenceOp::drop_seq:
      return OpInfo("drop_seq", element("count"), sequence());
    case SequenceOp::append_seq:
      return OpInfo("append_seq", sequence("sequences", Count::many));
    case SequenceOp::flatten_seq:
      return OpInfo("flat_map_seq", sequence());
    case SequenceOp::windows_seq:
      return OpInfo("windows", sequence(), element("hop"), element("shape", Access::value, Count::many));
    case SequenceOp::map_accum_seq:
      return OpInfo("map_accum_seq", sequence(), body("function", Access::repeated),
                    array(Access::whole, "state", Count::many));
  }
  return {};
}

constexpr OpInfo row(SinkOp op) {
  switch (op) {
    case SinkOp::elements:
      return OpInfo("elements", sequence());
    case SinkOp::tabulate:
      return OpInfo("tabulate", sequence());
    case SinkOp::fold_seq:
      return OpInfo("fold_seq", sequence(), body("function", Access::repeated), array(Access::whole, "seed"));
    case SinkOp::fold_batch:
      return OpInfo("fold_batch", sequence(), body("batch", Access::repeated),
                    body("combine", Access::repeated), array(Access::whole, "seed"));
    case SinkOp::write:
      return OpInfo("write", sequence());
  }
  return {};
}

/// How many enumerators a stratum has: those with a row.
template <StratumOp E>
constexpr std::size_t count() {
  std::size_t n = 0;
  while (row(static_cast<E>(n)).name) ++n;
  return n;
}

template <StratumOp E>
constexpr auto rows() {
  std::array<OpInfo, count<E>()> table;
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = row(static_cast<E>(n));
  return table;
}

}  // namespace op_rows

/// The rows of one stratum, in the order of its enumeration.
template <StratumOp E>
inline constexpr auto op_table = op_rows::rows<E>();

inline constexpr std::size_t op_count = op_table<ScalarOp>.size() + op_table<FunctionOp>.size() +
                                        op_table<ArrayOp>.size() + op_table<SourceOp>.size() +
                                        op_table<SequenceOp>.size() + op_table<SinkOp>.size();

constexpr const OpInfo& info(Op op) {
  return op.visit([&]<StratumOp E>(E) -> const OpInfo& { return op_table<E>[op.number()]; });
}

constexpr bool has_operand(Op op, Access access) {
  const OpInfo& row = info(op);
  for (std::size_t i = 0; i < row.operands; ++i)
    if (row.operand[i].access == access) return true;
  return false;
}

/// Does it run bodies, functions that are programs of their own? A loop or a branch, or what is done with a sequence.
constexpr bool runs_bodies(Op op) {
  const OpInfo& row = info(op);
  for (std::size_t i = 0; i < row.operands; ++i)
    if (row.operand[i].role == Role::function && row.operand[i].access != Access::applied) return true;
  return false;
}

/// A loop or a branch?
constexpr bool has_bodies(Op op) { return op.is_a<ArrayOp>() && runs_bodies(op); }

/// Where an operand of this name stands among the children.
constexpr std::size_t find_operand(Op op, std::string_view name) {
  const OpInfo& row = info(op);
  for (std::size_t i = 0; i < row.operands; ++i) {
    if (row.operand[i].name == name) return i;
    if (row.operand[i].count == Count::many) break;
  }
  throw "the operation has no operand of this name, or none at a fixed position";
}

/// A name that the operation lacks does not compile.
consteval std::size_t position_of(Op op, std::string_view name) { return find_operand(op, name); }

}  // namespace anabranch::ir
