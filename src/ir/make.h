#pragma once

#include <optional>
#include <span>
#include <vector>

#include <anabranch/detail/index_facts.h>

#include "ir/node.h"

/// The checked constructors: the only way to make nodes, and the meaning of every operation. The interpreter
/// executes what is said here; every back end agrees with it.
///
/// Each checks the types of its operands and throws ProgramError (with the place) on a mistake a C++ compiler
/// could not see. An array computation that would depend on a scalar parameter (nested parallelism in scalar
/// code) is refused, naming both places. RunErrors are those of the run. `label` is the library name that the
/// user wrote where it is not the operation's own.
namespace anabranch::ir {

using anabranch::detail::IndexFacts;

/// A function's argument, an element or an array, identified by the node itself.
Ref parameter(Type type, Place place = {});

// Scalar expressions. An element is a flat product of scalars.

/// One scalar, as its bytes, zero-extended.
Ref constant(ScalarType type, std::uint64_t bits, Place place = {});
/// See ir/primitive.h. Operands are scalars of one type that the primitive takes.
Ref primitive(Primitive primitive, std::vector<Ref> operands, Place place = {});
/// Primitive::cast; the value itself where it is of that type.
Ref cast(ScalarType to, Ref value, Place place = {});
/// Primitive::bitcast between numbers of one size; the value itself where it is of that type.
Ref bitcast(ScalarType to, Ref value, Place place = {});
/// The components of its parts, one after the other; a single part is itself.
Ref tuple(std::vector<Ref> parts, Place place = {});
/// Components [first, first + count). Looks through tuples and projections, so that taking apart what was
/// just put together leaves no trace.
Ref project(Ref value, int first, int count, Place place = {});
/// `then` if the condition holds, else `otherwise`, of one type; the other side is not evaluated observably.
Ref cond(Ref condition, Ref then, Ref otherwise, Place place = {});
/// The first of x, f(x), f(f(x)), ... for which p does not hold.
Ref while_loop(Ref predicate, Ref body, Ref initial, Place place = {});
/// The element of an array at an index, one int64 for each dimension; out of range is a RunError.
/// `in_bounds`: in range by construction, so that kernels do not check it (for passes). `injective`: each element is read
/// once at most by all positions of the array whose function it stands in.
Ref index(Ref array, Ref ix, Place place = {}, bool in_bounds = false, Symbol label = {},
          bool injective = false);
/// The element at a row-major position; out of range is a RunError.
Ref linear_index(Ref array, Ref position, Place place = {}, bool in_bounds = false, Symbol label = {});
/// The extents of an array, one int64 for each dimension, outermost first; no element of it is computed.
Ref shape(Ref array, Place place = {});

// Functions, of any stratum.

/// The results, computed with the parameters bound to arguments: a scalar function (elements to one element),
/// or one of arrays. A parameter belongs to one function.
Ref lambda(std::vector<Ref> parameters, std::vector<Ref> results, Place place = {}, Symbol label = {});

// Array computations. Extents are int64; a size that overflows is a RunError.

/// A host array, of rank 0 to 4.
Ref use(std::shared_ptr<anabranch::detail::ArrayData> array, Place place = {});
/// Rank 0: one element.
Ref unit(Ref element, Place place = {}, Symbol label = {});
/// The element at ix is f(ix). A negative extent is a RunError.
Ref generate(Ref shape, Ref function, Place place = {}, Symbol label = {});
/// f of the elements at equal positions of arrays of one rank. The shape is their intersection: the minimum
/// in each dimension.
Ref map(Ref function, std::vector<Ref> arrays, Place place = {}, Symbol label = {});
/// Reduces the innermost dimension in the canonical order of ir/fold_order.h. The seed is joined once, from
/// the left, and need not be neutral; an empty row gives it. Without a seed (a null handle) an empty row is a
/// RunError. `order`: of a function that a pass has made of another one, that one's; else the function's.
Ref fold(Ref function, Ref array, Ref seed /* may be null: fold1 */, Place place = {}, Symbol label = {},
         std::optional<fold_order::OperatorClass> order = {});
/// The prefixes of each row along dimension `axis` (-1: the innermost), in the canonical order of ir/scan_order.h: several
/// arrays. The first has the prefixes of the kind that is asked for; its rows are as long as those of `array`, or one
/// longer where it has all prefixes. With a seed there is a second: the last inclusive prefix of each row, of an empty
/// row the seed. Prefixes other than inclusive ones need a seed. From the right element i is xi o ... o seed: the scan of
/// the reversed row with the operands exchanged, reversed.
Ref scan(Ref function, Ref array, Ref seed /* may be null */, ScanKind kind, int axis = -1, Place place = {},
         Symbol label = {});
/// Along each row of the innermost dimension, from its first element on: the state after each element, which is what the
/// function makes of the state before it (the seed at first) and the element. Of the seed's type, which may be another
/// than that of the elements.
Ref scan_state(Ref function, Ref array, Ref seed, Place place = {}, Symbol label = {});
/// One of several arrays.
Ref project_array(Ref arrays, int which, Place place = {});
/// The element at ix is array[f(ix)]; out of range is a RunError. A negative extent is a RunError.
Ref backpermute(Ref shape, Ref function, Ref array, IndexFacts facts, Place place = {}, Symbol label = {});
/// The same elements in row-major order. Sizes must agree and extents not be negative (RunError).
Ref reshape(Ref shape, Ref array, Place place = {}, Symbol label = {});
/// The array of a sink.
Ref consume(Ref sink, Place place = {});
/// The first of x, f(x), f(f(x)), ... of which p does not hold, where x are the arrays of the state. p and f
/// are functions of these: p gives one Scalar<bool>, f arrays of the same types, whose extents may be others.
/// p is asked before each round. Arrays that p or f mention and that do not depend on the state are computed
/// before it.
/// `collects`: what f gives after the next state, vectors, so many; those of all rounds one after the other are what
/// the loop gives after its state.
Ref awhile(Ref predicate, Ref body, std::vector<Ref> state, Place place = {}, int collects = 0);
/// What `then` gives if the condition holds, else what `otherwise` gives: functions without parameters whose
/// results are of the same types. Arrays that only one of them mentions are computed only where that one is
/// taken.
Ref acond(Ref condition, Ref then, Ref otherwise, Place place = {});

// Rearrangements: where elements go is found by a routine of the library, no function of the user's runs.
// Their operands are stored.

/// The elements of `array` (of rank 1 or more) from row-major position `begin` on, which are there: a view, that is
/// not checked where it is read inside its own shape. `consecutive`: in a sequence, that of each item begins where the one
/// of the item before ends.
Ref part(Ref shape, Ref array, Ref begin, Place place = {}, Symbol label = {}, bool consecutive = false);
/// Each row of the innermost dimension in rising order, by the first component, then the second, ...: two arrays. The
/// first has the elements, the second where in its row each of them was (int64). Elements that are equal keep their
/// order. Floating point: -0 comes before 0, a NaN after all numbers; false before true.
Ref sort(Ref array, Place place = {}, Symbol label = {});
/// The elements of an array where the mask, of one scalar bool and of the same shape, holds, in row-major order: a
/// vector, whose extent is their number (else a RunError).
Ref select(Ref shape, Ref mask, Ref array, Place place = {}, Symbol label = {});
/// Of a vector of integers, the places 0 .. extent - 1 that elements go to: how many go to each place, and then the
/// numbers of the elements in the order of their places, those of one place in their own order (both int64). An
/// element whose place is -1 goes nowhere, if `drops`; the numbers of these come last. Any other place that is out of
/// range is a RunError.
Ref group(Ref shape, Ref places, bool drops, Place place = {}, Symbol label = {});
/// The number of the last element that goes to each place, -1 where there is none (int64); as for `group`.
Ref last_at(Ref shape, Ref places, bool drops, Place place = {}, Symbol label = {});
/// The elements that go to each place, joined: of a vector as long as `places` (else a RunError), of one component that is
/// an integer or bool, by a primitive for which the order then tells nothing (joins_in_any_order). Where none goes, its
/// neutral element. Places, of int64, as for `group`.
Ref accumulate(Primitive join, Ref shape, Ref places, Ref array, bool drops, Place place = {},
               Symbol label = {});
/// Number i as often as counts[i] says, for each i in turn (int64). A negative count is a RunError, and so is an extent
/// that is not their sum.
Ref repeat(Ref shape, Ref counts, Place place = {}, Symbol label = {});

// Arrays as they are.

/// The array, with all of its elements computed before any is read.
Ref compute(Ref array, Place place = {}, Symbol label = {});
/// The array, which is printed as soon as it is computed (RunOptions::print): that of each item, in its own line.
Ref trace(Symbol text, Ref array, Place place = {}, Symbol label = {});

// Sequences: items are tuples of arrays.

/// The items of a Source; a second pass over a single-pass source is a RunError.
Ref stream_in(std::shared_ptr<SourceBase> source, Place place = {});
/// Items f(0), ..., f(count - 1), where f takes an int64 scalar array. A negative count is a RunError.
Ref produce(Ref count, Ref function, Place place = {}, Symbol label = {});
/// The sub-arrays along the outermost dimension of an array of rank 1 or more.
Ref rows(Ref array, Place place = {});
/// f over the items of all sequences, their components one after the other; the shortest ends it.
Ref map_seq(Ref function, std::vector<Ref> sequences, Place place = {}, Symbol label = {});
/// Components [first, first + count) of every item.
Ref project_seq(Ref sequence, int first, int count, Place place = {});
/// The first `count` items, or all where there are fewer. Nothing of the pass goes beyond them: no source is
/// asked for a further item, no function applied to one. A negative count is a RunError.
Ref take_seq(Ref count, Ref sequence, Place place = {});

// Sequences with other items than the ones they are made of.

/// Of items whose last array is a Scalar<bool>: those where it holds, without it.
Ref filter_seq(Ref sequence, Place place = {});
/// Of such items those before the first where it does not hold. Nothing is asked for beyond that one.
Ref take_while_seq(Ref sequence, Place place = {});
/// All but the first `count` items, none where there are fewer; no function is applied to these: what is dropped
/// are items of sources. A negative count is a RunError.
Ref drop_seq(Ref count, Ref sequence, Place place = {});
/// The items of one sequence after the other, all of one type.
Ref append_seq(std::vector<Ref> sequences, Place place = {});
/// The items that items hold. An item of `sequence` is one vector for each array of `items`, the elements of all of
/// these, and then for each array and dimension a vector of int64, the extents of each.
Ref flatten_seq(Ref sequence, std::vector<ArrayType> items, Place place = {});
/// The items of `inner`, which depends on these parameters, for each item of `sequence`: a flatten_seq.
Ref flat_map_seq(std::vector<Ref> parameters, const Ref& inner, const Ref& sequence, Place place = {});
/// The rows of all items, which are single arrays of rank 1 or more, as one signal; a row is an element of a vector, of another
/// array what lies at one position of the outermost dimension. Of that signal the rows [k * hop, k * hop + shape[0]) for k = 0,
/// 1, ..., as far as there are that many. An item with elements whose rows are not of the other extents of `shape` is a
/// RunError; one below 1 too, and a hop.
Ref windows_seq(Ref sequence, Ref hop, std::vector<Ref> shape, Place place = {});

/// Items that a state passes through: function takes the arrays of the state, `state` at first, and then those of an item, and
/// gives the next state and the arrays of an item. From first to last.
Ref map_accum_seq(Ref sequence, Ref function, std::vector<Ref> state, Place place = {}, Symbol label = {});

// Sinks, to be consumed.

/// All elements of all items, which are single arrays, each in row-major order: one vector.
Ref elements(Ref sequence, Place place = {});
/// The items, single arrays of rank 0 to 3, stacked on a new outermost dimension, each other extent trimmed
/// to its minimum over the whole sequence. No items: all extents 0.
Ref tabulate(Ref sequence, Place place = {});
/// The items, all arrays of each, go to `sink` in their order; gives how many there were, an int64 scalar. The sink's
/// types are those of the items.
Ref write(Ref sequence, std::shared_ptr<SinkBase> sink, Place place = {});

/// Joins all items, which are single arrays, by f(left, right), an array of that type. In a tree over their numbers: those of 2k
/// and 2k + 1, then these pairs in the same way, as long as there are pairs; what remains is joined to the seed from left to
/// right, the largest trees first. No items: the seed.
Ref fold_seq(Ref sequence, Ref function, Ref seed, Place place = {});
/// Cuts the sequence, of single arrays, in batches (batch.h), makes an array of each by `batch`, a function of the
/// arrays that hold the batch, and joins them to the seed, from first to last, by combine(sum, array).
Ref fold_batch(Ref sequence, Ref batch, Ref combine, Ref seed, Place place = {});

/// The same node over other children (types may not change); returns `node` itself if they are the same.
/// For passes; types are checked again.
Ref rebuild(const Ref& node, std::vector<Ref> children);

// Conveniences that passes share.
template <class T>
Ref literal(T value, Place place = {});  ///< of any scalar type
inline Ref int64(std::int64_t value) {
  return constant(ScalarType::int64, static_cast<std::uint64_t>(value));
}
/// Component c of an element (the element itself when it has one).
Ref component(const Ref& element, int c);
/// All of them.
std::vector<Ref> components(const Ref& element);
/// Extent d of an array, int64.
Ref extent(const Ref& array, int d);
/// The product of int64 terms.
Ref product(std::span<const Ref> factors);
/// Row-major position of `ix` in an array with these extents.
Ref to_linear(std::span<const Ref> extents, std::span<const Ref> ix);

template <class T>
Ref literal(T value, Place place) {
  return constant(anabranch::detail::scalar_type<T>, anabranch::detail::bits_of(value), place);
}

}  // namespace anabranch::ir
