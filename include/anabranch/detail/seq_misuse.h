#pragma once

#include <anabranch/seq_items.h>
#include <anabranch/seq_state.h>
#include <anabranch/windows.h>

#include <anabranch/detail/transform_misuse.h>

/// As in array_misuse.h, for sequences with other items and what is cut into pieces: arguments in another order, arrays where
/// sequences are wanted.
namespace anabranch::detail {

template <class X>
inline constexpr bool is_seq_of_vectors = false;
template <class T>
inline constexpr bool is_seq_of_vectors<Seq<Vector<T>>> = true;

template <class... Xs>
inline constexpr bool fits_choice = false;
template <class F, class S, class... Xs>
  requires(is_seq<S> && !IsAcc<F>)
inline constexpr bool fits_choice<F, S, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_zip = sizeof...(Xs) >= 2 && sizeof...(Xs) <= 9 && (is_seq<Xs> && ...);
template <class... Xs>
inline constexpr bool fits_zip_with = false;
template <class F, class... Xs>
  requires(!is_seq<F> && !IsAcc<F>)
inline constexpr bool fits_zip_with<F, Xs...> = fits_zip<Xs...>;
template <class... Xs>
inline constexpr bool fits_count = false;
template <NumberLike N, class S, class... Xs>
  requires(is_seq<S>)
inline constexpr bool fits_count<N, S, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_append = false;
template <class S, class T, class... Xs>
  requires(is_seq<S> && std::same_as<S, T>)
inline constexpr bool fits_append<S, T, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_state = false;
template <class F, class Z, class S, class... Xs>
  requires(is_seq<S> && ItemOf<Z>::valid)
inline constexpr bool fits_state<F, Z, S, Xs...> = true;
template <class F, class Z, class T, class... Xs>
  requires(IsExp<Z> || IsElement<Z>)
inline constexpr bool fits_state<F, Z, Seq<Scalar<T>>, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_scan = false;
template <class F, class Z, class S, class... Xs>
  requires(is_seq<S> && ItemOf<Z>::valid)
inline constexpr bool fits_scan<F, Z, S, Xs...> = true;
template <class F, class Z, class T, class... Xs>
  requires(OperandOf<Z, T>)
inline constexpr bool fits_scan<F, Z, Seq<Scalar<T>>, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_fold_seq = false;
template <class F, class A, class... Xs>
inline constexpr bool fits_fold_seq<F, Acc<A>, Seq<A>, Xs...> = true;
template <class F, class Z, class T, class... Xs>
  requires(OperandOf<Z, T>)
inline constexpr bool fits_fold_seq<F, Z, Seq<Scalar<T>>, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_fold_batch = false;
template <class F, class G, class A, class B, class... Xs>
  requires requires { A::rank; }
inline constexpr bool fits_fold_batch<F, G, Acc<B>, Seq<A>, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_windows = false;
template <class A, NumberLike N, NumberLike H, class... Xs>
  requires(is_seq_of_vectors<A>)
inline constexpr bool fits_windows<A, N, H, Xs...> = true;
template <int N, class T, class S, NumberLike H, class... Xs>
  requires(N >= 2 && std::convertible_to<const S&, PerDimension<N>>)
inline constexpr bool fits_windows<Seq<Array<N, T>>, S, H, Xs...> = true;
template <ArrayWithRows A, NumberLike N, NumberLike H, class... Xs>
inline constexpr bool fits_windows<A, N, H, Xs...> = true;
template <ArrayWithRows A, ArrayWithRows S, ArrayWithRows L, class... Xs>
  requires(A::rank == 1 && S::rank == 1 && L::rank == 1 && IntegerElement<typename S::value_type> &&
           IntegerElement<typename L::value_type>)
inline constexpr bool fits_windows<A, S, L, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_count_behind = false;
template <ArrayWithRows A, NumberLike N, class... Xs>
inline constexpr bool fits_count_behind<A, N, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_segments = false;
template <class T, class... Xs>
inline constexpr bool fits_segments<Seq<Vector<T>>, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_consume = false;
template <class A, class... Xs>
inline constexpr bool fits_consume<Terminal<A>, Xs...> = true;
template <class X>
concept OfTheLanguage = IsAcc<X> || IsHostArray<X> || is_seq<X>;

}  // namespace anabranch::detail

namespace anabranch {

#define ANABRANCH_REFUSE_SEQ(name, fits, sentence)                       \
  template <class... Xs>                                                 \
    requires((detail::OfTheLanguage<Xs> || ...) && !detail::fits<Xs...>) \
  auto name(const Xs&...) {                                              \
    static_assert(sizeof...(Xs) == 0, "anabranch: " sentence);           \
    return detail::refused_array();                                      \
  }
ANABRANCH_REFUSE_SEQ(zip_with_seq, fits_zip_with,
                     "zip_with_seq takes a function and 2 to 9 sequences; rows(a) makes one of an array")
ANABRANCH_REFUSE_SEQ(zip_seq, fits_zip,
                     "zip_seq takes 2 to 9 sequences, of more zip_seq(zip_seq(s, t), u); zip is for arrays")
ANABRANCH_REFUSE_SEQ(
    filter_seq, fits_choice,
    "filter_seq takes a condition of an item and a sequence; filter is for the elements of an array")
ANABRANCH_REFUSE_SEQ(take_while_seq, fits_choice,
                     "take_while_seq takes a condition of an item and a sequence")
ANABRANCH_REFUSE_SEQ(flat_map_seq, fits_choice,
                     "flat_map_seq takes a function from an item to a sequence, and a sequence")
ANABRANCH_REFUSE_SEQ(drop_seq, fits_count, "the number comes first, as in drop_seq(3, s); drop is for arrays")
ANABRANCH_REFUSE_SEQ(append_seq, fits_append, "append_seq joins sequences of one type; concat joins arrays")
ANABRANCH_REFUSE_SEQ(scan_seq, fits_scan,
                     "write scan_seq(f, z, s): f takes the state and an item, z is an Acc, or a number where "
                     "the items are single "
                     "elements, and s a sequence; scans are for arrays")
ANABRANCH_REFUSE_SEQ(map_accum_seq, fits_state,
                     "write map_accum_seq(f, z, s): f takes the state and an item, z is an Acc, or a number "
                     "where the items are single "
                     "elements, and s a sequence")
ANABRANCH_REFUSE_SEQ(
    fold_seq, fits_fold_seq,
    "write fold_seq(f, z, s): f joins two arrays, z is an Acc of the items' type, or a number where the "
    "items are "
    "single elements, and s a sequence of single arrays; fold is for the elements of an array")
ANABRANCH_REFUSE_SEQ(fold_batch, fits_fold_batch,
                     "write fold_batch(f, combine, z, s): f takes a sequence and gives an Acc, z is an Acc "
                     "of that type, and s a "
                     "sequence of single arrays")
ANABRANCH_REFUSE_SEQ(
    windows, fits_windows,
    "write windows(a, size, hop) of an array or of a sequence of vectors, windows(s, {size, channels}, hop) "
    "of a sequence of matrices, or windows(v, starts, lengths) with vectors of integers")
ANABRANCH_REFUSE_SEQ(
    tiles, fits_rotate,
    "write tiles(a, shape): one number for each dimension, index_of(i, j), or, of a vector, an integer")
ANABRANCH_REFUSE_SEQ(slices, fits_count_behind,
                     "write slices(a, axis): an array with a dimension, and the number of one")
ANABRANCH_REFUSE_SEQ(
    segments, fits_segments,
    "write segments(s) of a sequence of vectors; of a sequence of scalars consume(elements(s)) is "
    "the vector")
ANABRANCH_REFUSE_SEQ(
    consume, fits_consume,
    "consume takes what is made of a whole sequence: consume(elements(s)), consume(tabulate(s)), "
    "consume(fold_seq(f, z, s)); an array is there already")
#undef ANABRANCH_REFUSE_SEQ

}  // namespace anabranch
