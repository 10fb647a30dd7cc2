#pragma once

#include <cstdint>

/// Entries of a sparse matrix on their way to its rows.
namespace anabranch::io::detail {

/// One entry, counted from 0. A double is summed with others at its place; other values (bits that mean something to
/// somebody else) are kept apart. 16 bytes with 32-bit indices.
template <class I, class V = double>
struct Entry {
  using Index = I;
  I row;
  I col;
  V value;
};

/// An entry that has no value: it is there, or it is not. 8 bytes with 32-bit indices.
template <class I>
struct Link {
  using Index = I;
  I row;
  I col;
};

/// Adds integers held as doubles: false if their sum was rounded. (It tells the same of other numbers.)
inline bool add(double& sum, double value) {
  const double before = sum;
  sum += value;
  const double added = sum - before;  // the error of an addition is a double (Knuth, TAOCP 2, 4.2.2)
  return (before - (sum - added)) + (value - added) == 0;
}

/// What became of two entries at one place.
enum class Joined : std::uint8_t { exactly, rounded, not_at_all };

/// Makes one of two entries at the same place, where that is possible: `first` is it then.
template <class I>
Joined join(Entry<I, double>& first, const Entry<I, double>& next) {
  return add(first.value, next.value) ? Joined::exactly : Joined::rounded;
}
template <class I>
Joined join(Entry<I, std::uint64_t>&, const Entry<I, std::uint64_t>&) {
  return Joined::not_at_all;
}
template <class I>
Joined join(Link<I>&, const Link<I>&) {
  return Joined::exactly;
}

}  // namespace anabranch::io::detail
