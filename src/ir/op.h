#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

/// The operations of the core language, one enumeration for each stratum. An operation is named once, here;
/// what every pass asks of it is its row in ir/op_info.h, its meaning stands at its constructor in
/// ir/make.h. A function of one stratum switches over that stratum's enumeration, so that the compiler
/// (-Wswitch-enum) names each place that has to know a new operation, and no other place.
namespace anabranch::ir {

enum class Stratum : std::uint8_t { scalar, function, array, source, sequence, sink };
const char* name_of(Stratum stratum);

/// An element from elements.
enum class ScalarOp : std::uint8_t {
  constant,
  primitive,
  tuple,
  project,
  cond,
  while_loop,
  index,
  linear_index,
  shape,
};

/// What functions are made of: any stratum's.
enum class FunctionOp : std::uint8_t { parameter, lambda };

/// An array, or several of which project_array takes one.
enum class ArrayOp : std::uint8_t {
  use,
  unit,
  generate,
  map,
  fold,
  scan,
  scan_state,
  backpermute,
  reshape,
  consume,
  project_array,
  awhile,
  acond,
  part,
  sort,
  select,
  group,
  last_at,
  accumulate,
  repeat,
  compute,
  trace,
};

/// A sequence from something else: where the items of a stage come from.
enum class SourceOp : std::uint8_t { stream_in, produce, rows };

/// A sequence from sequences. Those from `filter_seq` on have other items than the sequences they are made of, or pass a
/// state from item to item: `is_fed`.
enum class SequenceOp : std::uint8_t {
  map_seq,
  project_seq,
  take_seq,
  filter_seq,
  take_while_seq,
  drop_seq,
  append_seq,
  flatten_seq,
  windows_seq,
  map_accum_seq,
};

/// An array from a whole sequence, which users know as a terminal; `consume` makes it an array computation.
enum class SinkOp : std::uint8_t { elements, tabulate, fold_seq, fold_batch, write };

constexpr Stratum stratum_of(ScalarOp) { return Stratum::scalar; }
constexpr Stratum stratum_of(FunctionOp) { return Stratum::function; }
constexpr Stratum stratum_of(ArrayOp) { return Stratum::array; }
constexpr Stratum stratum_of(SourceOp) { return Stratum::source; }
constexpr Stratum stratum_of(SequenceOp) { return Stratum::sequence; }
constexpr Stratum stratum_of(SinkOp) { return Stratum::sink; }

template <class E>
concept StratumOp = requires(E op) {
  { stratum_of(op) } -> std::same_as<Stratum>;
};

/// An operation of any stratum. Switches are over as<ArrayOp>() and its like; comparisons may be with the
/// operation itself: `node.op() == Op::fold`.
class Op {
 public:
  // Not `using enum`: g++ 12 breaks down over such names in templates.
  static constexpr auto constant = ScalarOp::constant;
  static constexpr auto primitive = ScalarOp::primitive;
  static constexpr auto tuple = ScalarOp::tuple;
  static constexpr auto project = ScalarOp::project;
  static constexpr auto cond = ScalarOp::cond;
  static constexpr auto while_loop = ScalarOp::while_loop;
  static constexpr auto index = ScalarOp::index;
  static constexpr auto linear_index = ScalarOp::linear_index;
  static constexpr auto shape = ScalarOp::shape;
  static constexpr auto parameter = FunctionOp::parameter;
  static constexpr auto lambda = FunctionOp::lambda;
  static constexpr auto use = ArrayOp::use;
  static constexpr auto unit = ArrayOp::unit;
  static constexpr auto generate = ArrayOp::generate;
  static constexpr auto map = ArrayOp::map;
  static constexpr auto fold = ArrayOp::fold;
  static constexpr auto scan = ArrayOp::scan;
  static constexpr auto scan_state = ArrayOp::scan_state;
  static constexpr auto backpermute = ArrayOp::backpermute;
  static constexpr auto reshape = ArrayOp::reshape;
  static constexpr auto consume = ArrayOp::consume;
  static constexpr auto project_array = ArrayOp::project_array;
  static constexpr auto awhile = ArrayOp::awhile;
  static constexpr auto acond = ArrayOp::acond;
  static constexpr auto part = ArrayOp::part;
  static constexpr auto sort = ArrayOp::sort;
  static constexpr auto select = ArrayOp::select;
  static constexpr auto group = ArrayOp::group;
  static constexpr auto last_at = ArrayOp::last_at;
  static constexpr auto accumulate = ArrayOp::accumulate;
  static constexpr auto repeat = ArrayOp::repeat;
  static constexpr auto compute = ArrayOp::compute;
  static constexpr auto trace = ArrayOp::trace;
  static constexpr auto stream_in = SourceOp::stream_in;
  static constexpr auto produce = SourceOp::produce;
  static constexpr auto rows = SourceOp::rows;
  static constexpr auto map_seq = SequenceOp::map_seq;
  static constexpr auto project_seq = SequenceOp::project_seq;
  static constexpr auto take_seq = SequenceOp::take_seq;
  static constexpr auto filter_seq = SequenceOp::filter_seq;
  static constexpr auto take_while_seq = SequenceOp::take_while_seq;
  static constexpr auto drop_seq = SequenceOp::drop_seq;
  static constexpr auto append_seq = SequenceOp::append_seq;
  static constexpr auto flatten_seq = SequenceOp::flatten_seq;
  static constexpr auto windows_seq = SequenceOp::windows_seq;
  static constexpr auto map_accum_seq = SequenceOp::map_accum_seq;
  static constexpr auto elements = SinkOp::elements;
  static constexpr auto tabulate = SinkOp::tabulate;
  static constexpr auto fold_seq = SinkOp::fold_seq;
  static constexpr auto fold_batch = SinkOp::fold_batch;
  static constexpr auto write = SinkOp::write;

  template <StratumOp E>
  constexpr Op(E op)  // NOLINT: implicit, so that a node's operation is compared with one of any stratum
      : stratum_(stratum_of(op)), number_(static_cast<std::uint8_t>(op)) {}

  constexpr Stratum stratum() const { return stratum_; }
  /// Among the operations of its stratum.
  constexpr std::uint8_t number() const { return number_; }
  /// Differs from every other operation's.
  constexpr int code() const { return static_cast<int>(stratum_) * 32 + number_; }

  template <StratumOp E>
  constexpr bool is_a() const {
    return stratum_ == stratum_of(E{});
  }
  /// The operation as one of its stratum. InternalError if it is of another.
  template <StratumOp E>
  constexpr E as() const {
    if (!is_a<E>()) wrong_stratum(*this, stratum_of(E{}));
    return static_cast<E>(number_);
  }

  /// f of the operation as one of its stratum.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    switch (stratum_) {
      case Stratum::scalar:
        return f(static_cast<ScalarOp>(number_));
      case Stratum::function:
        return f(static_cast<FunctionOp>(number_));
      case Stratum::array:
        return f(static_cast<ArrayOp>(number_));
      case Stratum::source:
        return f(static_cast<SourceOp>(number_));
      case Stratum::sequence:
        return f(static_cast<SequenceOp>(number_));
      case Stratum::sink:
        break;
    }
    return f(static_cast<SinkOp>(number_));
  }

  friend constexpr auto operator<=>(const Op&, const Op&) = default;

 private:
  [[noreturn]] static void wrong_stratum(Op op, Stratum expected);

  Stratum stratum_;
  std::uint8_t number_;
};

const char* name_of(Op op);

/// Is it a sequence whose items are made of other sequences' chunks, not item by item? A stage ends before it, and feeds
/// the one that it is a source of (StageSource::feeds).
constexpr bool is_fed(Op op) {
  return op.is_a<SequenceOp>() && op.number() >= static_cast<std::uint8_t>(SequenceOp::filter_seq);
}

}  // namespace anabranch::ir
