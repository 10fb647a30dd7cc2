#pragma once

#include <string_view>

#include <anabranch/acc.h>

/// Arrays that are stored in full, where else their elements might be computed where they are read.
namespace anabranch {

/// The same array, whose elements are computed and stored before any of them is read: no map before it is fused with
/// what reads it. For an array that is read often at places that the library cannot see to be the same, or to find out
/// what fusion brings. The results are the same. Cost: memory for the array, and a pass that writes it.
template <int N, class T>
Acc<Array<N, T>> compute(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::compute(a.handle(), at));
}

/// The same array, which is also printed when it is computed: a line with the text, the number of the item (of an array
/// that depends on the item of a stream), the extents and the elements, of more than 1000 the first and last three along
/// each dimension. Lines go to RunOptions::print, else to standard error; items in their order (with
/// Backend::cpu_and_cuda chunk by chunk as each is computed), those of a sequence inside of an item without their number.
/// An array that nothing needs is not computed, and not printed; equal traces of one array are one. For finding faults:
/// it stores the array and copies it, on a GPU by way of the host.
template <int N, class T>
Acc<Array<N, T>> trace(std::string_view text, const Acc<Array<N, T>>& a,
                       detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::trace(Symbol(text), a.handle(), at));
}

}  // namespace anabranch
