#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/detail/index_facts.h>
#include <anabranch/detail/primitive.h>
#include <anabranch/detail/scan_kind.h>
#include <anabranch/error.h>
#include <anabranch/explain.h>
#include <anabranch/export.h>
#include <anabranch/run_options.h>
#include <anabranch/run_report.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>
#include <anabranch/symbol.h>

/// The erased core under the typed rim: an opaque, counted handle to an immutable node of the program, one
/// function per kind of node, and what compiles and runs programs. The templates of exp.h, acc.h, seq.h and
/// run.h check types and call these, and so can a front end of another language: all of the language is here,
/// without templates, and the core checks types again (ProgramError with the place it is given).
namespace anabranch::detail {

class ANABRANCH_API Handle {
 public:
  constexpr Handle() = default;
  Handle(const Handle& other) noexcept;
  constexpr Handle(Handle&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  constexpr ~Handle() {
    if (node_) release();
  }
  /// Adopts a node of the core (retains it).
  static Handle adopt(const void* node) noexcept;
  const void* node() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  void release() noexcept;
  const void* node_ = nullptr;
};

using Handles = std::vector<Handle>;

/// Throw ProgramError "<what>: ..." naming the numbers and the place.
ANABRANCH_API void check_dimension(const char* what, int d, int rank, Place at);
ANABRANCH_API void check_permutation(std::span<const int> permutation, Place at);

// Scalar expressions.
ANABRANCH_API Handle element_parameter(std::span<const ScalarType> scalars, Place at);
ANABRANCH_API Handle constant(ScalarType type, std::uint64_t bits, Place at);
ANABRANCH_API Handle primitive(Primitive op, Handles operands, Place at);
ANABRANCH_API Handle cast(ScalarType to, const Handle& value, Place at);
ANABRANCH_API Handle bitcast(ScalarType to, const Handle& value, Place at);
ANABRANCH_API Handle tuple(Handles parts, Place at);
ANABRANCH_API Handle project(const Handle& value, int first, int count, Place at);
ANABRANCH_API Handle cond(const Handle& c, const Handle& then, const Handle& otherwise, Place at);
ANABRANCH_API Handle while_loop(const Handle& predicate, const Handle& body, const Handle& initial, Place at);
ANABRANCH_API Handle index(const Handle& array, const Handle& ix, Place at, Symbol label = {});
ANABRANCH_API Handle linear_index(const Handle& array, const Handle& position, Place at);
ANABRANCH_API Handle shape(const Handle& array, Place at);
ANABRANCH_API Handle lambda(Handles parameters, Handles results, Place at, Symbol label);

// Array computations.
ANABRANCH_API Handle array_parameter(int rank, std::span<const ScalarType> scalars, Place at);
ANABRANCH_API Handle use(std::shared_ptr<ArrayData> array, Place at);
ANABRANCH_API Handle unit(const Handle& element, Place at);
ANABRANCH_API Handle generate(const Handle& shape, const Handle& function, Place at, Symbol label);
ANABRANCH_API Handle map(const Handle& function, Handles arrays, Place at, Symbol label);
/// Reduces dimension `axis`; an empty seed handle means fold1.
ANABRANCH_API Handle fold(const Handle& function, const Handle& seed, const Handle& array, int axis, Place at,
                          Symbol label);
/// The prefixes along dimension `axis`, and with a seed (no empty handle) the last inclusive element of each
/// row.
ANABRANCH_API Handles scan(const Handle& function, const Handle& seed, const Handle& array, int axis,
                           ScanKind kind, Place at, Symbol label);
/// The states along dimension `axis`, from the first, `seed`: function(state, element) is the next.
ANABRANCH_API Handle scan_state(const Handle& function, const Handle& seed, const Handle& array, int axis,
                                Place at);
/// The array as it is: stored; stored and printed.
ANABRANCH_API Handle compute(const Handle& array, Place at);
ANABRANCH_API Handle trace(Symbol text, const Handle& array, Place at);
/// `facts`: what is known where the library itself builds the reordering.
ANABRANCH_API Handle backpermute(const Handle& shape, const Handle& function, const Handle& array,
                                 IndexFacts facts, Place at, Symbol label);
ANABRANCH_API Handle reshape(const Handle& shape, const Handle& array, Place at, Symbol label);
/// Rearrangements, whose operands are stored. The elements of `array` from position `begin` on, which are there.
/// `consecutive`: in a sequence those of each item begin where those of the item before end.
ANABRANCH_API Handle part(const Handle& shape, const Handle& array, const Handle& begin, bool consecutive,
                          Place at, Symbol label);
/// The rows along dimension `axis`, sorted, and where in its row each element was.
ANABRANCH_API Handles sort(const Handle& array, int axis, Place at, Symbol label);
/// Where the mask holds; `shape` is how many that are.
ANABRANCH_API Handle select(const Handle& shape, const Handle& mask, const Handle& array, Place at,
                            Symbol label);
/// How many elements go to each place, and the elements' numbers by place. `drops`: place -1 is none.
ANABRANCH_API Handles group(const Handle& shape, const Handle& places, bool drops, Place at, Symbol label);
/// The last element that goes to each place, or -1.
ANABRANCH_API Handle last_at(const Handle& shape, const Handle& places, bool drops, Place at, Symbol label);
/// The elements that go to each place, joined by a primitive.
ANABRANCH_API Handle accumulate(Primitive join, const Handle& shape, const Handle& places,
                                const Handle& array, bool drops, Place at, Symbol label);
/// The primitive that an operator on scalars is, where it joins them in any order to the same bits.
ANABRANCH_API std::optional<Primitive> primitive_in_any_order(const Handle& function);
/// Number i counts[i] times; `shape` is the sum of these.
ANABRANCH_API Handle repeat(const Handle& shape, const Handle& counts, Place at, Symbol label);
ANABRANCH_API Handle consume(const Handle& terminal, Place at);
/// Loops and branches give arrays: one handle for each.
ANABRANCH_API Handles awhile(const Handle& predicate, const Handle& body, Handles state, Place at);
ANABRANCH_API Handles acond(const Handle& condition, const Handle& then, const Handle& otherwise, Place at);

// Sequence computations.
ANABRANCH_API Handle stream_in(std::shared_ptr<SourceBase> source, Place at);
ANABRANCH_API Handle produce(const Handle& count, const Handle& function, Place at, Symbol label = {});
ANABRANCH_API Handle rows(const Handle& array, Place at);
ANABRANCH_API Handle map_seq(const Handle& function, Handles sequences, Place at, Symbol label);
ANABRANCH_API Handle project_seq(const Handle& sequence, int first, int count, Place at);
ANABRANCH_API Handle take_seq(const Handle& count, const Handle& sequence, Place at);
/// Of items whose last array is a Scalar<bool> those where it holds, and those before the first where it does not.
ANABRANCH_API Handle filter_seq(const Handle& sequence, Place at);
ANABRANCH_API Handle take_while_seq(const Handle& sequence, Place at);
ANABRANCH_API Handle drop_seq(const Handle& count, const Handle& sequence, Place at);
ANABRANCH_API Handle append_seq(Handles sequences, Place at);
/// The items of `inner`, a sequence that depends on these parameters, for each item of `sequence`.
ANABRANCH_API Handle flat_map_seq(Handles parameters, const Handle& inner, const Handle& sequence, Place at);
/// Windows of this shape, whose first extent is how many rows of the signal one has.
ANABRANCH_API Handle windows_seq(const Handle& sequence, const Handle& hop, Handles shape, Place at);
ANABRANCH_API Handle map_accum_seq(const Handle& sequence, const Handle& function, Handles state, Place at,
                                   Symbol label);
ANABRANCH_API Handle fold_seq(const Handle& sequence, const Handle& function, const Handle& seed, Place at);
/// What a function of a batch of items takes, and the items as a sequence.
struct BatchParameters {
  Handles parameters;
  Handle sequence;
};
ANABRANCH_API BatchParameters batch_parameters(int rank, std::span<const ScalarType> scalars, Place at);
ANABRANCH_API Handle fold_batch(const Handle& sequence, const Handle& batch, const Handle& combine,
                                const Handle& seed, Place at);
ANABRANCH_API Handle elements(const Handle& sequence, Place at);
ANABRANCH_API Handle tabulate(const Handle& sequence, Place at);
ANABRANCH_API Handle write(const Handle& sequence, std::shared_ptr<SinkBase> sink, Place at);

// What a computation gives: an element, an array, or a sequence of one or several arrays.

struct ArrayOf {
  int rank = 0;
  std::vector<ScalarType> scalars;  ///< of an element
};
ANABRANCH_API bool is_element(const Handle& computation);
/// The scalars of an element or of the elements of an array.
ANABRANCH_API std::vector<ScalarType> scalars_of(const Handle& computation);
/// One array; the arrays of an item of a sequence; none of an element.
ANABRANCH_API std::vector<ArrayOf> arrays_of(const Handle& computation);

// Programs.

class ProgramImpl;

/// Compiles closed array computations into one reusable program.
ANABRANCH_API std::shared_ptr<ProgramImpl> compile(const Handles& results, const Handles& parameters);
/// Where results are when a run has ended: on a GPU, if that has computed them, with a Residence each.
enum class ResultsIn { host, device };
ANABRANCH_API void prepare(ProgramImpl& program, const RunOptions& options);
ANABRANCH_API std::vector<std::shared_ptr<ArrayData>> run(
    ProgramImpl& program, const std::vector<std::shared_ptr<ArrayData>>& arguments, const RunOptions& options,
    RunReport* report, const std::vector<std::shared_ptr<ArrayData>>& into = {},
    ResultsIn results = ResultsIn::host);
ANABRANCH_API std::string explain(const ProgramImpl& program, Explain form = Explain::text);
/// Throws ProgramError where the program is not as expected.
ANABRANCH_API void require(const ProgramImpl& program, Expect expected);

/// Items of a sequence, computed chunk by chunk as they are asked for, or ahead.
class ANABRANCH_API ItemReader {
 public:
  /// `ahead`: nothing: the defaults, where sources allow to be read ahead.
  ItemReader(const Handle& sequence, const RunOptions& options, const std::optional<ReadAhead>& ahead = {});
  ~ItemReader();
  ItemReader(ItemReader&&) noexcept;
  ItemReader& operator=(ItemReader&&) noexcept;
  /// The arrays of the next item; false at the end.
  bool next(std::vector<std::shared_ptr<ArrayData>>& item);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::detail
