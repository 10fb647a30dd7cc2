#pragma once

#include <functional>
#include <utility>

#include <anabranch/filter.h>
#include <anabranch/seq.h>

/// A vector cut into segments: rows of different lengths inside one array. Each segment is computed as an array of its
/// own, so its bits are those of `fold`, `scanl` ... of it alone. Segments without elements keep their place.
namespace anabranch {

/// Where a vector is cut: made by segments_of_lengths or segments_of_offsets. Where a Segments is taken, a vector of
/// lengths, of any integer type, is taken too.
class Segments {
 public:
  /// A number of segment s.
  using Of = std::function<Exp<std::int64_t>(const Exp<std::int64_t>& s)>;

  template <detail::IntegerElement I>
  Segments(const Acc<Vector<I>>& lengths, detail::Loc at = detail::Loc::current())
      : lengths_(detail::as_numbers(lengths, at)),
        length_([lengths, at](const Exp<std::int64_t>& s) { return cast<std::int64_t>(lengths[s], at); }),
        begin_(
            [begins = detail::sums_before(lengths_, at)](const Exp<std::int64_t>& s) { return begins[s]; }) {}
  Segments(const Acc<Vector<std::int64_t>>& lengths, Of length, Of begin)
      : lengths_(lengths), length_(std::move(length)), begin_(std::move(begin)) {}

  /// A negative length is a RunError.
  const Acc<Vector<std::int64_t>>& lengths() const { return lengths_; }
  /// How long a segment is, and where it begins.
  Exp<std::int64_t> length(const Exp<std::int64_t>& s) const { return length_(s); }
  Exp<std::int64_t> begin(const Exp<std::int64_t>& s) const { return begin_(s); }

 private:
  Acc<Vector<std::int64_t>> lengths_;
  Of length_, begin_;  ///< as terms, so that what the user has given is read where it lies
};

/// How long each segment is.
template <detail::IntegerElement I>
Segments segments_of_lengths(const Acc<Vector<I>>& lengths, detail::Loc at = detail::Loc::current()) {
  return Segments(lengths, at);
}
/// Where each segment begins, and where the last one ends: one more than there are segments, the first 0.
template <detail::IntegerElement I>
Segments segments_of_offsets(const Acc<Vector<I>>& offsets, detail::Loc at = detail::Loc::current()) {
  const auto cut = [offsets, at](const Exp<std::int64_t>& s) { return cast<std::int64_t>(offsets[s], at); };
  const auto length = [cut](const Exp<std::int64_t>& s) { return cut(s + 1) - cut(s); };
  const auto begin = [cut](const Exp<std::int64_t>& s) { return cut(s) - cut(Exp<std::int64_t>(0)); };
  return Segments(generate(max(size(offsets, at) - 1, 0), length, at), length, begin);
}

namespace detail {
/// How many elements segments of these lengths have together: a number that no vector has where a length is negative or
/// the sum overflows. One traversal.
template <std::same_as<std::int64_t> I>
Exp<I> size_of_segments(const Acc<Vector<I>>& lengths, Loc at) {
  const auto least =
      the(fold([](const auto& x, const auto& y) { return min(x, y); }, I{0}, lengths, 0, at), at);
  return cond(least < 0, least, sum_of_extents(lengths, at));
}
/// The segments of a vector, for an operation of this name.
template <class T>
Seq<Vector<T>> segments_of(Symbol label, const Segments& segments, const Acc<Vector<T>>& values, Loc at) {
  const auto& lengths = segments.lengths();
  const Handle whole = reshape(size_of_segments(lengths, at).handle(), values.handle(), at, label);
  return produce(
      size(lengths, at),
      [&](const Exp<std::int64_t>& s) {
        return acc<1, T>(
            part(segments.length(s).handle(), whole, segments.begin(s).handle(), true, at, label));
      },
      at);
}
}  // namespace detail

/// The segments of a vector as a sequence, which has as many elements as they have together (else a RunError, as where a
/// length is negative). They are read where they lie in the vector, or, of a vector that nothing else reads and a map or
/// generate makes, computed there.
template <class T>
Seq<Vector<T>> from_segments(const Segments& segments, const Acc<Vector<T>>& values,
                             detail::Loc at = detail::Loc::current()) {
  return detail::segments_of("from_segments", segments, values, at);
}

/// The items of a sequence as segments of one vector, as the functions below take them: both are computed in one pass.
template <class T>
std::pair<Segments, Acc<Vector<T>>> segments(const Seq<Vector<T>>& s,
                                             detail::Loc at = detail::Loc::current()) {
  const auto length = [&](const Acc<Vector<T>>& item) { return unit(size(item, at), at); };
  return {Segments(consume(elements(map_seq(length, s, at), at), at), at), consume(elements(s, at), at)};
}

/// Reduces each segment: z o x0 o x1 o ..., z of one without elements.
template <class F, class T>
Acc<Vector<T>> fold_seg(F f, const std::type_identity_t<Located<T>>& z, const Acc<Vector<T>>& a,
                        const Segments& segments, detail::Loc at = detail::Loc::current()) {
  const auto one = [&](const Acc<Vector<T>>& s) { return fold(f, z, s, 0, at); };
  return consume(elements(map_seq(one, detail::segments_of("fold_seg", segments, a, at), at), at), at);
}
/// Without a seed: a segment without elements is a RunError.
template <class F, class T>
Acc<Vector<T>> fold1_seg(F f, const Acc<Vector<T>>& a, const Segments& segments,
                         detail::Loc at = detail::Loc::current()) {
  const auto one = [&](const Acc<Vector<T>>& s) { return fold1(f, s, 0, at); };
  return consume(elements(map_seq(one, detail::segments_of("fold1_seg", segments, a, at), at), at), at);
}

/// The scans of each segment, one after the other (scan.h). Those of scanl_seg and scanr_seg are one element longer
/// than their segments.
#define ANABRANCH_SCAN_SEG(name, scan)                                                               \
  template <class F, class T>                                                                        \
  Acc<Vector<T>> name(F f, const std::type_identity_t<Located<T>>& z, const Acc<Vector<T>>& a,       \
                      const Segments& segments, detail::Loc at = detail::Loc::current()) {           \
    const auto one = [&](const Acc<Vector<T>>& s) { return scan(f, z, s, 0, at); };                  \
    return consume(elements(map_seq(one, detail::segments_of(#name, segments, a, at), at), at), at); \
  }
#define ANABRANCH_SCAN1_SEG(name, scan)                                                              \
  template <class F, class T>                                                                        \
  Acc<Vector<T>> name(F f, const Acc<Vector<T>>& a, const Segments& segments,                        \
                      detail::Loc at = detail::Loc::current()) {                                     \
    const auto one = [&](const Acc<Vector<T>>& s) { return scan(f, s, 0, at); };                     \
    return consume(elements(map_seq(one, detail::segments_of(#name, segments, a, at), at), at), at); \
  }
ANABRANCH_SCAN_SEG(scanl_seg, scanl)
ANABRANCH_SCAN_SEG(prescanl_seg, prescanl)
ANABRANCH_SCAN_SEG(postscanl_seg, postscanl)
ANABRANCH_SCAN_SEG(scanr_seg, scanr)
ANABRANCH_SCAN_SEG(prescanr_seg, prescanr)
ANABRANCH_SCAN_SEG(postscanr_seg, postscanr)
ANABRANCH_SCAN1_SEG(scanl1_seg, scanl1)
ANABRANCH_SCAN1_SEG(scanr1_seg, scanr1)
#undef ANABRANCH_SCAN_SEG
#undef ANABRANCH_SCAN1_SEG

/// Each segment sorted (sort.h).
template <class T>
Acc<Vector<T>> sort_seg(const Acc<Vector<T>>& a, const Segments& segments,
                        detail::Loc at = detail::Loc::current()) {
  const auto one = [&](const Acc<Vector<T>>& s) {
    return detail::acc<1, T>(detail::sort(s.handle(), 0, at, "sort_seg")[0]);
  };
  return consume(elements(map_seq(one, detail::segments_of("sort_seg", segments, a, at), at), at), at);
}

}  // namespace anabranch
