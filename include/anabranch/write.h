#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <anabranch/detail/core.h>
#include <anabranch/seq.h>
#include <anabranch/sink.h>

/// Streams that are written as they pass: results larger than memory.
namespace anabranch {

/// Writes the items, in order, to a sink: a `Sink<A>`, or what becomes one, as `io::write_npy_rows(path)`. Gives how many
/// there were, which `consume` makes an array of: run(consume(write(s, io::write_npy_rows("y.npy")))).
///
/// Items are written as chunks are computed, beside the computation of further ones, in bounded memory. A program may
/// have several of these, and other terminals, over one sequence: they share its pass. Everything that was written
/// appears when the whole run has succeeded; of a run that fails or is stopped nothing does.
///
/// A program writes to a sink once in a run, and not inside of a loop, a branch or the function of a sequence
/// (ProgramError).
template <class A, class S>
  requires std::convertible_to<const S&, Sink<A>>
Terminal<Scalar<std::int64_t>> write(const Seq<A>& s, const S& sink,
                                     detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::write(s.handle(), static_cast<Sink<A>>(sink).erased(), at)};
}

/// Of items that the sink does not take: a sentence.
template <class A, class S>
  requires(!std::convertible_to<const S&, Sink<A>>)
Terminal<Scalar<std::int64_t>> write(const Seq<A>&, const S&) {
  static_assert(
      detail::always_false<S>,
      "anabranch: this sink does not take the items of this sequence; what each sink takes stands at the "
      "function that makes it");
  return {detail::FromHandle{}, {}};
}

}  // namespace anabranch
