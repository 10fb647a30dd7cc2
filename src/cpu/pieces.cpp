#include "cpu/pieces.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

#include <anabranch/error.h>

#include "ir/extents.h"
#include "ir/offsets.h"
#include "kernel/access.h"
#include "kernel/pointwise.h"

namespace anabranch::cpu {
namespace {

namespace order = ir::fold_order;

/// Counts of elements that are not stored have no bound; what needs memory for so many is refused.
std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/// A row costs about as much as this many elements besides its elements.
constexpr std::int64_t row_cost = 4;

/// Rows that a recurrence computes side by side, at most.
constexpr std::int64_t rows_of_vector = 16;

/// Into so many parts work is cut where there is enough of it: some for each thread, so that they end together.
constexpr std::int64_t parts_for_few = 16;
std::int64_t parts_for(int threads) {
  return std::max<std::int64_t>(parts_for_few, std::int64_t{4} * threads);
}

/// In elements.
struct Sizes {
  std::int64_t piece = 0;  ///< of a task
  std::int64_t share = 0;  ///< of a long row, that a task takes
  std::int64_t alone = 0;  ///< of the longest row that is not long
};

class Cutter {
 public:
  Cutter(const kernel::Kernel& kernel, const CutFacts& facts, const Bindings& bindings)
      : kernel_(kernel), facts_(facts), bound_(bindings) {
    for (const auto& e : kernel.domain.extents)
      if (e.same_for_all()) size_ = ir::times(size_, value(e, 0));
  }

  std::int64_t domain() const {
    if (kernel_.domain.form == kernel::Form::segmented) return domain_offset(bound_.items) - domain_offset(0);
    return kernel_.domain.over_items ? size_ * bound_.items : size_;
  }

  std::int64_t value(const kernel::KernelExtent& e, std::int64_t item) const {
    using Kind = kernel::KernelExtent::Kind;
    switch (e.kind) {
      case Kind::constant:
        return e.value;
      case Kind::uniform:
        return bound_.scalars[static_cast<std::size_t>(e.slot)];
      case Kind::per_item:
        return static_cast<const std::int64_t*>(buffer(e.slot))[item];
      case Kind::number:
        return bound_.scalars[static_cast<std::size_t>(e.slot)] + item;
      case Kind::ragged:
        break;
    }
    const std::int64_t divisor =
        e.divisor_kind == Kind::constant ? e.divisor : bound_.scalars[static_cast<std::size_t>(e.divisor)];
    return (ir::offset_at(buffer(e.slot), e.offsets, item + 1) -
            ir::offset_at(buffer(e.slot), e.offsets, item)) /
           std::max<std::int64_t>(divisor, 1);
  }

  /// Elements that bodies are computed for, all items together.
  std::int64_t work() const {
    const std::int64_t rows = domain();
    const kernel::Row* row = kernel::row_of(kernel_);
    if (!row) return rows;
    if (same_length(*row)) {
      const std::int64_t length = std::max<std::int64_t>(value(row->length, 0), 0) + row_cost;
      return rows > INT64_MAX / length ? INT64_MAX : rows * length;
    }
    if (row->work_offsets >= 0)
      return work_offset(*row, bound_.items) - work_offset(*row, 0) + row_cost * rows;
    return INT64_MAX;  // not known without looking at every item
  }

  /// Enough to be worth a task (some 20 microseconds), little enough to balance. Where there is little work in all, tasks
  /// are shorter (some 3), so that every thread gets some.
  Sizes sizes() const {
    constexpr std::int64_t largest = 65536, smallest = 1024, operations = 1 << 19;
    constexpr std::int64_t vectors = 64;  // whole ones, of any type
    const std::int64_t enough = operations / std::max(kernel_.operations, 1), all = work();
    const std::int64_t longest = std::clamp(enough, smallest, largest);
    const std::int64_t shortest = std::clamp(enough / 8 / vectors * vectors, vectors, largest / 8);
    const std::int64_t piece = std::clamp(all / parts_, shortest, longest);
    if (!std::holds_alternative<kernel::Scan>(kernel_.form)) return {piece, piece, piece};
    // Threads that scan a row together wait for each other, for a time that does not depend on what is computed. So more
    // of them than a few get smaller shares only as long as these take some 10 microseconds; and a row that would be one
    // share stays one task.
    const std::int64_t of_few = std::clamp(all / parts_for_few, shortest, longest);
    const std::int64_t least = std::max(piece, std::min(all / parts_for_few, longest / 2));
    const std::int64_t share = std::clamp(all / parts_, least, largest);
    return {piece, share, std::max(piece, std::min(share, of_few))};
  }

  Cut positions(std::int64_t piece) const {
    Cut out;
    const std::int64_t n = domain();
    for (std::int64_t begin = 0; begin < n; begin += piece) {
      const std::int64_t end = n - begin <= piece ? n : begin + piece;
      out.add({begin, end, item_if_near(begin)});
    }
    return out;
  }

  /// Little less, so that no long row is parted, else no line of the caches: a part of a row begins where its stores are
  /// not aligned, and two threads write to one line.
  std::int64_t whole_rows(std::int64_t piece) const {
    constexpr std::int64_t line = 64, long_row = 4 * line;
    std::int64_t unit = line;
    if (facts_.block > 0) return std::max(piece - piece % facts_.block, facts_.block);
    if (kernel_.domain.form != kernel::Form::segmented && !kernel_.domain.extents.empty()) {
      const std::int64_t length = value(kernel_.domain.extents.back(), 0);
      if (length >= long_row && length <= piece) unit = length;
    }
    return std::max(piece - piece % unit, std::int64_t{1});
  }

  /// Positions of a row of tiles, if there are enough of those for all workers.
  std::int64_t whole_tiles(std::int64_t piece) const {
    const std::int64_t length = std::max<std::int64_t>(value(kernel_.domain.extents.back(), 0), 1);
    constexpr std::int64_t parts = 128;
    const std::int64_t most = std::max(domain() / std::max(parts, parts_), piece);
    if (few_) return length > most / kernel::tile_rows ? most : std::max(piece, length * kernel::tile_rows);
    // Many workers get lower tiles where there are too few, of whole lines of the caches.
    constexpr std::int64_t line = 8;
    const std::int64_t rows = std::max(piece / length, std::min(kernel::tile_rows, most / length));
    if (rows < line && domain() / length / line < parts_ / 2) return most;
    return std::max<std::int64_t>(rows / line, 1) * line * length;
  }

  Cut rows(const kernel::Row& row, const Sizes& sizes, const ParallelFor& parallel_for) const {
    const std::int64_t rows = domain();
    Cut out;
    out.blocks_of_a_task = std::max<std::int64_t>(1, sizes.share / order::block);
    if (rows == 0) return out;
    // There may be more of them than can be counted in any time.
    if (same_length(row) && value(row.length, 0) <= 0 && kernel::leaves_out_empty_rows(kernel_)) return out;
    if (same_length(row) && are_long_columns(rows, value(row.length, 0))) {
      add_long_columns(out, 0, rows, value(row.length, 0), sizes.share);
    } else if (same_length(row)) {
      add_rows(out, item_of(0), 0, rows, value(row.length, 0), sizes);
    } else if (row.work_offsets >= 0 && kernel_.domain.extents.empty()) {
      by_offsets(out, row, rows, sizes, parallel_for);
    } else {
      by_items(out, row, rows, sizes);
    }
    return out;
  }

  Holder holder_of(std::int64_t position) const {
    Holder out;
    out.item = item_of(position);
    if (const kernel::Row* row = kernel::row_of(kernel_)) out.row_length = value(row->length, out.item);
    return out;
  }

 private:
  const void* buffer(int slot) const { return bound_.buffers[static_cast<std::size_t>(slot)]; }
  std::int64_t domain_offset(std::int64_t i) const {
    return ir::offset_at(buffer(kernel_.domain.offsets), kernel_.domain.offset_type, i);
  }
  std::int64_t work_offset(const kernel::Row& row, std::int64_t i) const {
    return ir::offset_at(buffer(row.work_offsets), row.work_offset_type, i);
  }
  /// What the rows before this one cost.
  std::int64_t work_in_front_of(const kernel::Row& row, std::int64_t i) const {
    return work_offset(row, i) + row_cost * i;
  }
  static bool same_length(const kernel::Row& row) { return row.length.same_for_all(); }

  /// First output position of an item.
  std::int64_t start(std::int64_t item) const {
    if (kernel_.domain.form == kernel::Form::segmented) return domain_offset(item) - domain_offset(0);
    return kernel_.domain.over_items ? size_ * item : item * size_;
  }

  std::int64_t item_of(std::int64_t position) const {
    if (!kernel_.domain.over_items) return 0;
    if (kernel_.domain.form != kernel::Form::segmented) return size_ == 0 ? 0 : position / size_;
    return last_at_most(bound_.items, [&](std::int64_t i) { return start(i); }, position);
  }
  /// For a piece: to search all items for each one of them, one after the other, would keep the threads waiting.
  std::int64_t item_if_near(std::int64_t position) const {
    const bool far = kernel_.domain.over_items && kernel_.domain.form == kernel::Form::segmented;
    return far ? -1 : item_of(position);
  }

  /// Largest i in [0, n) with f(i) <= x; f is not decreasing and f(0) <= x.
  template <class F>
  static std::int64_t last_at_most(std::int64_t n, F&& f, std::int64_t x) {
    std::int64_t low = 0, high = n;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (f(middle) <= x)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

  /// The same, searched outwards from `guess`: with a good guess few positions are probed, and near ones.
  template <class F>
  static std::int64_t last_at_most(std::int64_t n, F&& f, std::int64_t x, std::int64_t guess) {
    std::int64_t low = 0, high = n;
    guess = std::clamp<std::int64_t>(guess, 0, n - 1);
    if (f(guess) <= x) {
      low = guess;
      for (std::int64_t step = 1; low + step < high; step *= 2) {
        if (f(low + step) > x) {
          high = low + step;
          break;
        }
        low += step;
      }
    } else {
      high = guess;
      for (std::int64_t step = 1; high - step > low; step *= 2) {
        if (f(high - step) <= x) {
          low = high - step;
          break;
        }
        high -= step;
      }
    }
    return low + last_at_most(high - low, [&](std::int64_t i) { return f(low + i); }, x);
  }

  void add_long_row(Cut& out, std::int64_t row, std::int64_t length) const {
    const bool scans = std::holds_alternative<kernel::Scan>(kernel_.form);
    LongRow l{row, item_of(row), order::blocks(length) - (scans ? 1 : 0), out.partials};
    out.add({0, l.blocks, l.item, static_cast<int>(out.long_rows.size())});
    out.partials = saturated_sum(out.partials, l.blocks);
    // The carry, and the levels of the tree.
    if (scans)
      out.partials = saturated_sum(out.partials, 1 + std::bit_width(static_cast<std::uint64_t>(l.blocks)));
    out.long_rows.push_back(l);
  }

  /// Rows [begin, end) that lie across, and are so few that each has to be the work of several pieces.
  void add_long_columns(Cut& out, std::int64_t begin, std::int64_t end, std::int64_t length,
                        std::int64_t share) const {
    const std::int64_t columns = value(kernel_.domain.extents.back(), 0), side_by_side = together(columns);
    out.blocks_of_a_task = std::max<std::int64_t>(1, share / order::block / side_by_side);
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t rows = std::min({side_by_side, columns - row % columns, end - row});
      LongRow l{row, item_of(row), order::blocks(length), out.partials, rows};
      out.add({0, l.blocks, l.item, static_cast<int>(out.long_rows.size())});
      out.partials = saturated_sum(out.partials, ir::times(rows, l.blocks));
      out.long_rows.push_back(l);
      row += rows;
    }
  }

  /// How many of these neighbours a piece computes side by side. Few of them would leave most lanes of a vector alone: where
  /// much is computed each has vectors of its own, though what they read is then read for each.
  std::int64_t together(std::int64_t columns) const {
    constexpr int much = 16;
    return columns < 4 && kernel_.operations > much ? 1 : std::min<std::int64_t>(columns, kernel::tile_rows);
  }

  /// Are there, of rows that lie across, fewer than keep all workers busy, and is each long enough to be parted?
  bool are_long_columns(std::int64_t rows, std::int64_t length) const {
    if (!facts_.reduces_across || facts_.reduces_tiles || length <= 2 * order::block) return false;
    const std::int64_t enough = std::max<std::int64_t>(32, parts_);
    const std::int64_t columns = value(kernel_.domain.extents.back(), 0);
    return rows / std::min<std::int64_t>(std::max<std::int64_t>(columns, 1), kernel::tile_rows) < enough;
  }

  /// Is a row of this length the work of several pieces? Of a recurrence it is one.
  static bool is_long(std::int64_t length, const Sizes& sizes) {
    return length > std::max(sizes.alone, order::block);
  }

  /// The least number of an item's rows that are worth a piece, where they are computed side by side.
  std::int64_t rows_together(std::int64_t item) const {
    if (recurs_) return rows_of_vector;
    const std::int64_t columns =
        kernel_.domain.extents.empty() ? 1 : value(kernel_.domain.extents.back(), item);
    if (facts_.reduces_tiles) {
      // Some rows of results, of which there are enough for all workers. Each piece reads all that rows share: of a
      // product of matrices the right one.
      constexpr std::int64_t least = 4, most = 16;  // multiples of a tile's rows in registers
      const std::int64_t rows_of_results = domain() / std::max<std::int64_t>(columns, 1);
      const std::int64_t parts = std::max<std::int64_t>(32, parts_ / 2);
      const std::int64_t rows = std::clamp(rows_of_results / parts, least, most);
      return std::max<std::int64_t>(columns, 1) * (few_ ? rows : rows / least * least);
    }
    if (facts_.reduces_across) return kernel::tile_rows;
    if (!facts_.scans_across) return 1;
    // Few rows are the work of several threads each. Of many a piece has enough for pages and prefetches, and every thread
    // a piece.
    constexpr std::int64_t few = 4, least = 128, most = 1024, whole = 64;
    const std::int64_t wanted = std::min(columns / (parts_for_few / 2), domain() / (parts_ / 2));
    return columns < few ? 1 : (std::clamp(wanted, least, most) + whole - 1) / whole * whole;
  }

  /// Rows [begin, end), all of one length, the first of which is in `item`.
  void add_rows(Cut& out, std::int64_t item, std::int64_t begin, std::int64_t end, std::int64_t length,
                const Sizes& sizes) const {
    const std::int64_t together = rows_together(item);
    if (is_long(length, sizes) && together == 1) {
      for (std::int64_t row = begin; row < end; ++row) add_long_row(out, row, length);
      return;
    }
    std::int64_t step =
        std::max<std::int64_t>(1, sizes.piece / (std::max<std::int64_t>(length, 0) + row_cost));
    step = (step + together - 1) / together * together;
    for (; begin < end; begin += step) out.add({begin, std::min(end, begin + step), item_if_near(begin)});
  }

  /// One row per item, lengths from the offsets. A piece takes some tenths of a microsecond, as its offsets are in no cache:
  /// of many pieces those of each section, which has about as much work as any other, are looked for side by side.
  void by_offsets(Cut& out, const kernel::Row& of, std::int64_t rows, const Sizes& sizes,
                  const ParallelFor& parallel_for) const {
    constexpr std::int64_t pieces_of_section = 64;
    const auto work = [&](std::int64_t i) { return work_in_front_of(of, i) - work_in_front_of(of, 0); };
    // (Elements that are not stored may be any number; but no piece is less than a row, and no long one more than one.)
    const std::int64_t pieces = std::min(work(rows) / sizes.piece, rows);
    const std::int64_t sections = std::max<std::int64_t>(1, pieces / pieces_of_section);
    if (sections == 1) return by_offsets(out, of, 0, rows, sizes);
    const std::int64_t work_of_section = work(rows) / sections;
    const auto begin_of = [&](std::int64_t section) {
      return section == sections ? rows : last_at_most(rows + 1, work, section * work_of_section);
    };
    std::vector<Cut> cuts(static_cast<std::size_t>(sections));
    parallel_for(sections, [&](std::int64_t section) {
      Cut& cut = cuts[static_cast<std::size_t>(section)];
      cut.blocks_of_a_task = out.blocks_of_a_task;
      by_offsets(cut, of, begin_of(section), begin_of(section + 1), sizes);
    });
    for (const Cut& cut : cuts) out.append(cut);
  }

  /// Rows [begin, end): pieces end where the work passes multiples of a piece's.
  void by_offsets(Cut& out, const kernel::Row& of, std::int64_t begin, std::int64_t end,
                  const Sizes& sizes) const {
    const auto work = [&](std::int64_t i) { return work_in_front_of(of, i); };
    // Pieces are about as long as the one before: a search over all rows would miss the cache at every step.
    std::int64_t rows_before =
        sizes.piece * (end - begin) / std::max<std::int64_t>(work(end) - work(begin), 1);
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t length = work_offset(of, row + 1) - work_offset(of, row);
      if (is_long(length, sizes) && !recurs_) {
        add_long_row(out, row++, length);
        continue;
      }
      // A long row inside a piece is one that passes the limit alone: the search stops before it.
      const std::int64_t limit = work(row) + std::max(sizes.piece, length + row_cost);
      const std::int64_t next =
          row +
          last_at_most(end + 1 - row, [&](std::int64_t at) { return work(row + at); }, limit, rows_before);
      rows_before = next - row;
      out.add({row, next, row});
      row = next;
    }
  }

  /// Row lengths that differ between items but not inside one.
  void by_items(Cut& out, const kernel::Row& of, std::int64_t rows, const Sizes& sizes) const {
    std::int64_t open = 0;  // first row that is in no piece yet
    std::int64_t work = 0;  // of the rows since
    const auto close = [&](std::int64_t row) {
      if (row > open) out.add({open, row, item_if_near(open)});
      open = row;
      work = 0;
    };
    for (std::int64_t item = 0; item < bound_.items; ++item) {
      const std::int64_t begin = start(item), end = start(item + 1);
      const std::int64_t length = std::max<std::int64_t>(value(of.length, item), 0);
      // Only of rows that are not long: their elements may not be stored, and then have no bound.
      const auto cost = [&] { return (end - begin) * (length + row_cost); };
      if (is_long(length, sizes) || cost() > sizes.piece) {
        close(begin);
        add_rows(out, item, begin, end, length, sizes);
        open = end;
        continue;
      }
      if (work + cost() > sizes.piece) close(begin);
      work += cost();
    }
    close(rows);
  }

  const kernel::Kernel& kernel_;
  const CutFacts facts_;
  const Bindings& bound_;
  const std::int64_t parts_ = parts_for(bound_.threads);
  const bool few_ = parts_ == parts_for_few;  ///< threads
  std::int64_t size_ = 1;
  bool recurs_ = std::holds_alternative<kernel::Recurrence>(kernel_.form);
};

}  // namespace

void Cut::add(Piece piece) {
  piece.first_task = tasks;
  const std::int64_t own = piece.long_row < 0 ? 1 : (piece.end - 1) / blocks_of_a_task + 1;
  tasks = saturated_sum(tasks, own);
  pieces.push_back(piece);
}

void Cut::append(const Cut& next) {
  for (Piece piece : next.pieces) {
    if (piece.long_row >= 0) piece.long_row += static_cast<int>(long_rows.size());
    piece.first_task = saturated_sum(piece.first_task, tasks);
    pieces.push_back(piece);
  }
  for (LongRow row : next.long_rows) {
    row.first_partial = saturated_sum(row.first_partial, partials);
    long_rows.push_back(row);
  }
  tasks = saturated_sum(tasks, next.tasks);
  partials = saturated_sum(partials, next.partials);
}

Piece Cut::of_task(std::int64_t task) const {
  if (long_rows.empty()) return pieces[static_cast<std::size_t>(task)];
  Piece out = *std::prev(std::upper_bound(pieces.begin(), pieces.end(), task,
                                          [](std::int64_t t, const Piece& p) { return t < p.first_task; }));
  if (out.long_row < 0) return out;
  out.begin += (task - out.first_task) * blocks_of_a_task;
  out.end = std::min(out.end, out.begin + blocks_of_a_task);
  return out;
}

std::int64_t domain_size(const kernel::Kernel& kernel, const Bindings& bindings) {
  return Cutter(kernel, {}, bindings).domain();
}

Holder holder_of(const kernel::Kernel& kernel, const Bindings& bindings, std::int64_t position) {
  return Cutter(kernel, {}, bindings).holder_of(position);
}

CutFacts cut_facts_of(const kernel::Kernel& kernel) {
  const auto together = kernel::lanes_of(kernel).together;
  return {.reads_across = !together && kernel::reads_across(kernel),
          .reduces_across = kernel::reduces_across(kernel),
          .reduces_tiles = kernel::reduces_tiles(kernel),
          .scans_across = kernel::scans_across(kernel),
          .block = together ? together->block : 0};
}

Cut cut(const kernel::Kernel& kernel, const CutFacts& facts, const Bindings& bindings,
        std::int64_t piece_elements, const ParallelFor& parallel_for) {
  const Cutter cutter(kernel, facts, bindings);
  const kernel::Row* row = kernel::row_of(kernel);
  if (piece_elements > 0) {
    const Sizes given{piece_elements, piece_elements, piece_elements};
    return row ? cutter.rows(*row, given, parallel_for) : cutter.positions(piece_elements);
  }
  const Sizes sizes = cutter.sizes();
  if (row) return cutter.rows(*row, sizes, parallel_for);
  return cutter.positions(facts.reads_across ? cutter.whole_tiles(sizes.piece)
                                             : cutter.whole_rows(sizes.piece));
}

}  // namespace anabranch::cpu
