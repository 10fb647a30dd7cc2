#pragma once

#include "fold.cuh"

/// The scan skeleton: the prefixes of rows in the canonical order of ir/scan_order.h. The lanes of a warp are
/// a group of that order.
///
/// A row is scanned by a warp, one group after the other, or, where rows are short, as many rows together as
/// have no more elements than the warp has lanes: each lane has one element, so reads and writes are as
/// contiguous as the rows are. Rows longer than a block of the order are entered in a list, as in a fold
/// (fold.cuh), and left to three more launches (scan_blocks.cuh); where nobody has counted elements there is
/// no list, and a warp scans such a row's blocks one after the other.
///
/// A kernel K has, besides what a map's has: Value, one scalar per component; enter_row(item, position),
/// after which length() is known; begin_row(), what all elements of the row share (only if it has any);
/// element(r), and where `checked` examine(r); seed(); join(x, y, at), where `at` is the element whose prefix
/// it is for; store(r, value) and store_total(value); shuffles, and put / get of a Value into 8-byte cells.
/// `seeded`: there is a seed; `seed_first`: it is the first result, and inclusive prefixes come one further, the last of
/// them if `all_prefixes`; `totals`: rows' last inclusive prefixes are stored; `small_operator`: the operator's code can
/// be repeated. `packs`: how often several rows together are read before the first of them are scanned.
/// Elements and results are numbered in the order of the scan; K knows where they lie.
///
/// Failures of a row are ordered by what they belong to: the elements, then the seed, then the operator by
/// the element whose prefix it computes. So the one that is reported does not depend on who computes what.
namespace anabranch {

/// Where the results of a row begin whose elements are `step` apart, and lie side by side with those of its neighbours.
ANABRANCH_DEVICE i64 row_across(i64 position, i64 size, i64 step) {
  const i64 outer = position / step;
  return multiply(multiply(outer, size), step) + (position - multiply(outer, step));
}

constexpr int scan_threads = 256;
/// Rows that a warp takes at a time where several are scanned together.
constexpr int packed_rows = warp_size;

/// Element numbers that stand for the seed and for the operator.
constexpr u64 before_joins = own_elements;
ANABRANCH_DEVICE u64 of_join(i64 at) { return before_joins + 1 + static_cast<u64>(at); }

template <class T>
ANABRANCH_DEVICE T shuffle_up(T v, int distance) {
  return from_register<T>(__shfl_up_sync(whole_warp, to_register(v), static_cast<u32>(distance), warp_size));
}

/// Did no check fail in any lane? Else elements [begin, end), which may not have been computed yet, are
/// examined up to the first group in which one fails: what they lack comes before all that follows them.
template <class K>
ANABRANCH_DEVICE bool all_good(K& k, i64 begin, i64 end) {
  if constexpr (K::checked) {
    if (ballot(!k.good || k.failure.any()) == 0) return true;
    k.good = true;
#pragma unroll 1
    for (i64 group = begin; group < end; group += warp_size) {
      const i64 r = group + lane_in_warp();
      if (r < end && !(k.failure.any() && k.failure.element <= static_cast<u64>(r))) k.examine(r);
      if (ballot(k.failure.any() && k.failure.element < before_joins) != 0) break;
    }
    return false;
  } else {
    return true;
  }
}

/// Each lane's element becomes the prefix of its group or row, in which it is number `place`; `at`: its
/// number in the row. `some`: the lane has an element.
template <bool packed, class K>
ANABRANCH_DEVICE void scan_lanes(K& k, typename K::Value& v, int place, i64 at, bool some) {
  constexpr int copies = K::small_operator ? 5 : 1;
#pragma unroll copies
  for (int h = 1; h < warp_size; h *= 2) {
    const bool joins = some && place >= h;
    if (packed && ballot(joins) == 0) break;
    const typename K::Value left = K::shuffle_up(v, h);
    if (joins) v = k.join(left, v, at);
  }
}

/// What a warp has of a row so far; the same in all lanes.
template <class K>
struct RowState {
  typename K::Value carry = {};  ///< all so far, from the seed on
  bool carried = K::seeded;      ///< else there was nothing so far
  typename K::Value total = {};  ///< of the block's groups so far, without what was before them
  bool summed = false;
};

/// Stores an element's inclusive prefix.
template <class K>
ANABRANCH_DEVICE void store_prefix(K& k, i64 r, i64 length, const typename K::Value& v) {
  if constexpr (!K::seed_first)
    k.store(r, v);
  else if (K::all_prefixes || r + 1 < length)
    k.store(r + 1, v);
}

/// A group of a block, after scan_lanes; `count`: its elements. `prefixes`: they are stored; `total`: the
/// block's total is wanted.
template <bool prefixes, class K>
ANABRANCH_DEVICE void add_group(K& k, RowState<K>& row, const typename K::Value& v, i64 begin, i64 count,
                                i64 length, bool total) {
  const i64 r = begin + lane_in_warp(), next = begin + count;
  const typename K::Value last = K::shuffle(v, static_cast<int>(count) - 1, warp_size);
  if constexpr (prefixes) {
    typename K::Value prefix = v;
    if (row.carried && r < next) prefix = k.join(row.carry, v, r);
    if (r < next) store_prefix(k, r, length, prefix);
    // All lanes know the same, sooner than by a shuffle of the prefix.
    row.carry = row.carried ? k.join(row.carry, last, next - 1) : last;
    row.carried = true;
  }
  if (total) {
    row.total = row.summed ? k.join(row.total, last, next - 1) : last;
    row.summed = true;
  }
}

/// Elements [begin, end) of a row, of one block, by a warp. False where a check failed: then elements up to
/// `examined` have been looked at.
template <bool prefixes, class K>
ANABRANCH_DEVICE bool scan_block(K& k, RowState<K>& row, i64 begin, i64 end, i64 length, bool total,
                                 i64 examined) {
  constexpr int groups = K::small_operator ? K::unroll : 1;
  const int lane = lane_in_warp();
#pragma unroll 1
  for (i64 group = begin; group < end; group += groups * warp_size) {
    typename K::Value v[groups];
#pragma unroll
    for (int u = 0; u < groups; ++u) v[u] = k.element(lesser(group + u * warp_size + lane, end - 1));
    if (!all_good(k, group, examined)) return false;
#pragma unroll
    for (int u = 0; u < groups; ++u) {
      const i64 r = group + u * warp_size + lane;
      if (r - lane < end) scan_lanes<false>(k, v[u], lane, r, r < end);
    }
#pragma unroll
    for (int u = 0; u < groups; ++u) {
      const i64 first = group + u * warp_size;
      if (first < end)
        add_group<prefixes>(k, row, v[u], first, lesser(warp_size, end - first), length, total);
    }
    if (!all_good(k, group + groups * warp_size, examined)) return false;
  }
  return true;
}

/// The operator as the counter tree calls it, for what comes before element `at`.
template <class K>
struct CarryOperator {
  using Value = typename K::Value;
  K& k;
  i64 at;
  ANABRANCH_DEVICE Value join(const Value& x, const Value& y) { return k.join(x, y, at); }
};

/// What CounterTree::total gives, which empties the tree.
template <class K>
ANABRANCH_DEVICE typename K::Value total_so_far(CarryOperator<K>& joins,
                                                const CounterTree<CarryOperator<K>>& tree) {
  int depth = tree.depth - 1;
  typename K::Value value = tree.stack[depth];
  while (depth > 0) value = joins.join(tree.stack[--depth], value);
  return value;
}

/// A row of any length >= 1 by a warp, one block after the other.
template <class K>
ANABRANCH_DEVICE void scan_row(K& k, i64 length) {
  k.begin_row();
  RowState<K> row;
  typename K::Value seed = {};
  if constexpr (K::seeded) row.carry = seed = k.seed();
  if (K::seed_first && lane_in_warp() == 0) k.store(0, seed);
  CounterTree<CarryOperator<K>> tree;
#pragma unroll 1
  for (i64 begin = 0;; begin += fold_order::block) {
    const i64 end = lesser(begin + fold_order::block, length);
    row.summed = false;
    if (!scan_block<true>(k, row, begin, end, length, end < length, length)) return;
    if (end == length) break;
    CarryOperator<K> joins{k, end};
    tree.push(joins, row.total);
    row.carry = total_so_far(joins, tree);
    if constexpr (K::seeded) row.carry = joins.join(seed, row.carry);
    if (!all_good(k, end, length)) return;
  }
  if (K::totals && lane_in_warp() == 0) k.store_total(row.carry);
}

/// Stores what a row without elements has: its total, and of all prefixes the first.
template <class K>
ANABRANCH_DEVICE void scan_nothing(K& k, i64 position) {
  if constexpr (K::totals || K::all_prefixes) {
    const typename K::Value seed = k.seed();
    if (!k.failure.any()) {
      if (K::all_prefixes) k.store(0, seed);
      if (K::totals) k.store_total(seed);
    }
    report_row(k, position);
  }
}

// Several rows together -------------------------------------------------------------------------------------

/// Of the rows that a warp takes at a time each lane knows one.
struct RowsOfWarp {
  i64 item, position;
  int length;  ///< 0: the row has no elements, or more than there are lanes
  int end;     ///< elements of the rows up to this one
  int all;     ///< of all of them
};

/// A lane's element of one of the rows whose elements a warp has together.
struct PackedLane {
  bool some;  ///< the lane has one
  i64 item, position;
  int r, length;  ///< of the row
};

/// The lane's element where the warp has elements [begin, next) of all.
ANABRANCH_DEVICE PackedLane packed_lane(const RowsOfWarp& rows, int begin, int next) {
  const int at = begin + lane_in_warp();
  int row = 0;  // the rows that end at or before the element
#pragma unroll
  for (int half = warp_size / 2; half > 0; half /= 2) {
    const int end = shuffle(rows.end, row + half - 1, warp_size);
    if (end <= at) row += half;
  }
  PackedLane lane;
  lane.some = at < next;
  lane.item = shuffle(rows.item, row, warp_size);
  lane.position = shuffle(rows.position, row, warp_size);
  lane.length = shuffle(rows.length, row, warp_size);
  lane.r = at - (shuffle(rows.end, row, warp_size) - lane.length);
  if (!lane.some) lane.r = lane.length = 0;
  return lane;
}

/// Whole rows, side by side in a warp's lanes; `v` and `seed` are the lane's, computed.
template <class K>
ANABRANCH_DEVICE void scan_packed(K& k, const PackedLane& lane, typename K::Value v,
                                  const typename K::Value& seed) {
  bool good = lane.some;  // nothing failed in the row
  if constexpr (K::checked) {
    const u32 row = (lane.length < warp_size ? (1u << lane.length) - 1 : whole_warp)
                    << (lane_in_warp() - lane.r);
    if (!k.good) k.examine(lane.r);
    k.good = true;
    good = (ballot(k.failure.any()) & row) == 0 && lane.some;
  }
  scan_lanes<true>(k, v, lane.r, lane.r, good);
  if (good) {
    if constexpr (K::seeded) v = k.join(seed, v, lane.r);
    if (K::seed_first && lane.r == 0) k.store(0, seed);
    store_prefix(k, lane.r, lane.length, v);
    if (K::totals && lane.r + 1 == lane.length) k.store_total(v);
  }
  if (lane.some) report_row(k, lane.position);
}

/// Elements from `begin` on, as many times as many whole rows as fit the lanes as `packs` says: all are read
/// before the first are scanned. Returns where the next begin.
template <int packs, class K>
ANABRANCH_DEVICE int scan_packs(K& k, const RowsOfWarp& rows, int begin) {
  const int fit = __popc(ballot(rows.end <= begin + warp_size));
  const int next = shuffle(rows.end, fit - 1, warp_size);
  const PackedLane lane = packed_lane(rows, begin, next);
  k.failure = Failure();
  typename K::Value v = {}, seed = {};
  if (lane.some) {
    k.enter_row(lane.item, lane.position);
    k.begin_row();
    v = k.element(lane.r);
    if constexpr (K::seeded) seed = k.seed();
  }
  int end = next;
  if constexpr (packs > 1) {
    if (next < rows.all) {
      K ahead(k.a);
      end = scan_packs<packs - 1>(ahead, rows, next);
    }
  }
  scan_packed(k, lane, v, seed);
  return end;
}

/// Up to packed_rows rows, one of which each lane knows. `length`: -1: there is none, or it is listed.
template <class K>
ANABRANCH_DEVICE void scan_short_rows(K& k, i64 item, i64 position, i64 length) {
  if (length == 0) scan_nothing(k, position);
  for (u32 left = ballot(length > warp_size); left != 0; left &= left - 1) {
    const int its = __ffs(static_cast<int>(left)) - 1;
    const i64 row = shuffle(position, its, warp_size);
    k.failure = Failure();
    k.enter_row(shuffle(item, its, warp_size), row);
    scan_row(k, shuffle(length, its, warp_size));
    report_row(k, row);
  }
  RowsOfWarp rows;
  rows.item = item;
  rows.position = position;
  rows.length = length > 0 && length <= warp_size ? static_cast<int>(length) : 0;
  rows.end = rows.length;
#pragma unroll
  for (int h = 1; h < warp_size; h *= 2) {
    const int before = shuffle_up(rows.end, h);
    if (lane_in_warp() >= h) rows.end += before;
  }
  rows.all = shuffle(rows.end, warp_size - 1, warp_size);
#pragma unroll 1
  for (int begin = 0; begin < rows.all;) begin = scan_packs<K::packs>(k, rows, begin);
}

// All rows --------------------------------------------------------------------------------------------------

/// All rows except those that are entered in the list. A warp takes one at a time, or packed_rows.
template <class K, int rows_of_warp, class A>
ANABRANCH_DEVICE void scan_rows(const A& a) {
  constexpr int rows = scan_threads / warp_size * rows_of_warp;  // of a block of threads at a time
  __shared__ ItemTile<K::segmented ? rows : 1> tile;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int mine = warp * rows_of_warp + (rows_of_warp > 1 ? lane_in_warp() : 0);
  K k(a);
  for (i64 begin = static_cast<i64>(blockIdx.x) * rows; begin < a.positions;
       begin += static_cast<i64>(gridDim.x) * rows) {
    if constexpr (K::segmented)
      find_items(tile, k, a.items, begin, static_cast<i32>(lesser(rows, a.positions - begin)));
    const i64 position = begin + mine;
    i64 item = 0, length = -1;
    k.failure = Failure();
    if (position < a.positions) {
      if constexpr (K::segmented)
        item = tile.first + tile.number[mine];
      else
        item = k.item_of(position);
      k.enter_row(item, position);
      length = k.length();
      if (length > fold_order::block && a.long_rows > 0) {
        if (rows_of_warp > 1 || lane_in_warp() == 0) LongRows(a).enter(position, item, length);
        length = -1;
      }
    }
    if constexpr (rows_of_warp > 1) {
      scan_short_rows(k, item, position, length);
    } else if (length > 0) {
      scan_row(k, length);
      report_row(k, position);
    } else if (length == 0 && lane_in_warp() == 0) {
      scan_nothing(k, position);
    }
    if constexpr (K::segmented) __syncthreads();
  }
}

}  // namespace anabranch
