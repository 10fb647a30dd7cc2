#pragma once

#include "fold.cuh"
#include "in_order.cuh"

/// Elements of short rows in shared memory, and the reduction of rows from there. Everything is counted from
/// the first element of a window of rows, in 32 bits.
namespace anabranch {

/// Large enough for any row that is not entered in the list.
constexpr int tile_elements = fold_order::block;
/// The longest row that a thread reduces alone: it needs no shuffles and does not wait for memory. Longer ones
/// would keep the others of the warp waiting, so the whole warp reduces them.
constexpr int longest_straight = 63;

/// Elements in shared memory. One slot is left out after each 128 bytes, so that neighbouring quads, and
/// neighbouring rows of as many elements, are in different banks.
template <class Value>
struct Tile {
  static constexpr u32 line = 128 / sizeof(Value);
  /// A quad may begin before the first row, and short rows are read beyond their last element.
  static constexpr u32 most = tile_elements + four + longest_straight + 1;

  static ANABRANCH_DEVICE constexpr u32 place(u32 element) { return element + element / line; }

  Value places[most + most / line];

  ANABRANCH_DEVICE Value& operator[](u32 element) { return places[place(element)]; }
  ANABRANCH_DEVICE const Value& operator[](u32 element) const { return places[place(element)]; }
};

/// K for the reduction of rows whose elements are in shared memory. K itself computes those elements.
template <class K>
struct TiledRow : K {
  using Value = typename K::Value;
  static constexpr bool checked = false;  // checked when they were computed
  static constexpr bool staged = false;   // nothing to gather
  static constexpr int unroll = 2;        // shared memory has a short latency

  const Tile<Value>& tile;
  const i32* starts;      ///< of the window's rows
  i64 first_row = 0;      ///< of the window
  i64 origin = 0;         ///< its first element
  i32 first_element = 0;  ///< of the tile, counted from there
  u32 row = 0;            ///< the current row's first element in the tile

  template <class A>
  ANABRANCH_DEVICE TiledRow(const A& a, const Tile<Value>& its_tile, const i32* its_starts)
      : K(a), tile(its_tile), starts(its_starts) {}

  ANABRANCH_DEVICE void enter(i64 item, i64 position) {
    K::enter(item, position);
    row = static_cast<u32>(starts[position - first_row] - first_element);
  }
  ANABRANCH_DEVICE void begin_row() {}
  ANABRANCH_DEVICE Value element(i32 r) const { return tile[row + static_cast<u32>(r)]; }
  ANABRANCH_DEVICE Value element(i64 r) const { return element(static_cast<i32>(r)); }
};

template <class K>
constexpr int longest_of_thread<TiledRow<K>> = longest_straight;

/// A whole row, which is no longer than a block.
template <class K>
ANABRANCH_DEVICE typename K::Value reduce_row(TiledRow<K>& k, i32 length, int t) {
  if constexpr (K::commutative)
    return reduce_block<TiledRow<K>, i32>(k, 0, length, t);
  else
    return left_to_right(k, 0, length);
}

/// A narrow lane of a row of up to `longest` elements, which has an element in that lane.
template <int longest, int lane, class K>
ANABRANCH_DEVICE typename K::Value lane_of_tile(TiledRow<K>& k, i32 count) {
  constexpr int lanes = static_cast<int>(fold_order::narrow_lanes);
  using Tiled = Tile<typename K::Value>;
  // So many elements of a lane are in one line; the next line has them at the same distances.
  constexpr int in_line = Tiled::line > lanes ? Tiled::line / lanes : 1;
  constexpr int line_places = Tiled::place(in_line * lanes);
  const typename K::Value* at[in_line];
#pragma unroll
  for (int n = 0; n < in_line && n * lanes + lane < longest; ++n) at[n] = &k.tile[k.row + lane + n * lanes];
  typename K::Value total = *at[0];
#pragma unroll
  for (int n = 1; n * lanes + lane < longest; ++n)
    if (n * lanes + lane < count) total = k.join(total, at[n % in_line][n / in_line * line_places]);
  return total;
}

/// Narrow lane `lane` and those `step`, 2 step ... after it, joined by halving, of a row of up to `longest`
/// elements: without loops, and without joining the identity for lanes that the row does not have.
template <int longest, int lane, int step, class K>
ANABRANCH_DEVICE typename K::Value join_tile_lanes(TiledRow<K>& k, i32 count) {
  if constexpr (step == fold_order::narrow_lanes) {
    return lane_of_tile<longest, lane>(k, count);
  } else {
    typename K::Value total = join_tile_lanes<longest, lane, 2 * step>(k, count);
    if constexpr (lane + step < longest) {
      const typename K::Value right = join_tile_lanes<longest, lane + step, 2 * step>(k, count);
      if (lane + step < count) total = k.join(total, right);
    }
    return total;
  }
}

/// One row per thread of a warp, of up to `longest_of_thread` elements, perhaps none. The warp's longest row
/// decides how many are read.
template <int longest, class K>
ANABRANCH_DEVICE typename K::Value reduce_by_thread(TiledRow<K>& k, i32 count) {
  if constexpr (K::components == 1) {
    if (ballot(count > 4) == 0) return join_tile_lanes<4, 0, 1>(k, count);
    if (ballot(count > 8) == 0) return join_tile_lanes<8, 0, 1>(k, count);
    if (ballot(count > 16) == 0) return join_tile_lanes<16, 0, 1>(k, count);
    if (ballot(count > 32) == 0) return join_tile_lanes<32, 0, 1>(k, count);
    return join_tile_lanes<longest, 0, 1>(k, count);
  } else {
    if (ballot(count > 8) == 0) return reduce_in_lanes<4>(k, count);
    if (count <= 16) return reduce_in_lanes<8>(k, count);
    return join_narrow_lanes<0, 1>(k, count);
  }
}

}  // namespace anabranch
