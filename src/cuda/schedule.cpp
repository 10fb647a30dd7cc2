#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cuda/in_order.h"
#include "cuda/words.h"
#include "ir/fold_order.h"

namespace anabranch::cuda {
namespace {

namespace order = ir::fold_order;
using Kind = kernel::KernelExtent::Kind;

constexpr unsigned threads = block_threads;
/// Blocks of threads per multiprocessor at most; they compute further tiles one after the other. Rows differ
/// in length, so folds leave more to the hardware to balance.
constexpr std::int64_t map_blocks = 32;
constexpr std::int64_t fold_blocks = 64;
/// The same for listed rows, of which there may be none.
constexpr std::int64_t listed_blocks = 8;
/// Average rows up to this length are computed by one thread, up to `eight_rows` by 8.
constexpr std::int64_t thread_rows = 16;
/// Threads per multiprocessor; with fewer, blocks have 32 threads.
constexpr std::int64_t few_workers = 1024;
/// Threads per multiprocessor that read as fast as more would: with so many long rows none is divided in a
/// scan, which would read it twice.
constexpr std::int64_t many_workers = 1024;
/// Average rows up to this length are scanned several at a time by a warp.
constexpr std::int64_t packed_length = 32;
/// Rows of more blocks than this are joined by many threads, and of more than this by as many as there can be.
constexpr std::int64_t many_results = 256, very_many_results = 2048;
/// With fewer blocks of long rows for each multiprocessor than this a block of threads takes one. So many warps,
/// one a block, have as much under way. A thread that joins a block in order reads it without anybody to share
/// its sectors with, which takes longer still.
constexpr std::int64_t few_blocks = 24, few_ordered_blocks = 128;

/// The same for rows from tiles: a thread has all lanes of the canonical order, and does not wait for memory.
constexpr std::int64_t thread_rows_in_tiles = 48;
/// Blocks of tiles that a multiprocessor runs at a time, where the driver has not said how many. Each finds its rows by a search,
/// which pays off from four tiles on; with enough work, up to four times as many blocks balance what the search cannot know.
constexpr int usual_tile_blocks = 4;
constexpr std::int64_t tiles_of_block = 4;

/// Rows whose elements are not stored may have any number of them. So many partial results no memory holds: what needs
/// room for them is refused.
constexpr std::int64_t too_many_results = INT64_MAX / 4096;

std::int64_t results_of(std::int64_t rows, std::int64_t blocks) {
  std::int64_t results = 0;
  return __builtin_mul_overflow(rows, blocks, &results) ? too_many_results
                                                        : std::min(results, too_many_results);
}

std::int64_t quotient_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

unsigned grid_of(std::int64_t blocks, std::int64_t per_multiprocessor, int multiprocessors) {
  const std::int64_t most = per_multiprocessor * std::max(multiprocessors, 1);
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, most));
}

/// Average length of the rows; -1: not known.
std::int64_t average_length(const FoldPlan& plan, std::int64_t positions) {
  if (plan.length >= 0) return plan.length;
  return plan.elements >= 0 ? quotient_up(plan.elements, std::max<std::int64_t>(positions, 1)) : -1;
}

unsigned blocks_of_tiles(std::int64_t tiles, int multiprocessors, int of_multiprocessor) {
  const std::int64_t at_a_time = std::int64_t{of_multiprocessor} * std::max(multiprocessors, 1);
  const std::int64_t times = std::clamp<std::int64_t>(tiles / (at_a_time * tiles_of_block), 1, 4);
  return static_cast<unsigned>(std::min(tiles, at_a_time * times));
}

bool is_commutative(const kernel::Reduce& form) { return form.order == order::OperatorClass::commutative; }

int entry_number(const kernel::Reduce& form, FoldEntry entry) {
  const int number = static_cast<int>(entry);
  return is_commutative(form) || number == 0 ? number : number - 2;
}

int fold_entries(const kernel::Kernel& kernel, const kernel::Reduce& form) {
  FoldEntry last = FoldEntry::finish;
  if (has_few_blocks(kernel)) last = FoldEntry::few_blocks;
  if (is_commutative(form) && is_in_order(kernel)) last = FoldEntry::tiles_by_warp;
  return entry_number(form, last) + 1;
}

}  // namespace

int entry_count(const kernel::Kernel& kernel) {
  return std::visit(
      kernel::overloaded{[](const kernel::Map&) { return 1; },
                         [&](const kernel::Reduce& form) { return fold_entries(kernel, form); },
                         [](const kernel::Scan&) { return static_cast<int>(ScanEntry::blocks) + 1; },
                         [](const kernel::Recurrence&) { return 1; }},
      kernel.form);
}

FoldPlan fold_plan(const kernel::Kernel& kernel, const Bindings& bindings) {
  FoldPlan plan;
  plan.numbers.items = bindings.items;
  plan.numbers.positions = bindings.positions;
  const kernel::Row* row = kernel::row_of(kernel);
  if (!row) return plan;
  plan.elements = bindings.elements;
  if (row->length.kind == Kind::constant) plan.length = row->length.value;
  if (row->length.kind == Kind::uniform)
    plan.length = bindings.scalars[static_cast<std::size_t>(row->length.slot)];
  if (row->length.same_for_all()) {
    plan.length = std::max<std::int64_t>(plan.length, 0);
    if (plan.length > order::block) {
      plan.numbers.row_blocks = order::blocks(plan.length);
      plan.results = results_of(bindings.positions, plan.numbers.row_blocks);
    }
  } else if (plan.elements > order::block && (bindings.longest < 0 || bindings.longest > order::block)) {
    // As many rows, and blocks, as these elements could be.
    const std::int64_t elements = bindings.in_long_rows >= 0 ? bindings.in_long_rows : plan.elements;
    plan.numbers.long_rows = elements / (order::block + 1);
    plan.results = elements / order::block + plan.numbers.long_rows;
  }
  return plan;
}

bool is_in_order(const kernel::Kernel& kernel) {
  return static_cast<bool>(in_order(kernel, kernel::ComponentUse(kernel)));
}

Schedule schedule(const kernel::Kernel& kernel, const Bindings& bindings, int multiprocessors) {
  return schedule(kernel, is_in_order(kernel), bindings, multiprocessors);
}

namespace {

Schedule of_map(const Bindings& bindings, int multiprocessors) {
  Schedule out;
  out.launches.push_back(
      {0, grid_of(quotient_up(bindings.positions, map_tile), map_blocks, multiprocessors), threads});
  out.why = fmt::format("map of {} positions", bindings.positions);
  return out;
}

/// Room for the list of long rows and the partial results.
void give_workspace(Schedule& out, const kernel::Kernel& kernel, const FoldPlan& plan) {
  if (plan.results <= 0) return;
  const auto components = static_cast<std::int64_t>(kernel.body.size());
  out.workspace = workspace_header + plan.numbers.long_rows * long_row_bytes +
                  std::min(plan.results, too_many_results / components) * components * 8;
  out.zeroed = plan.numbers.long_rows > 0 ? workspace_header : 0;
}

Schedule of_reduce(const kernel::Kernel& kernel, const kernel::Reduce& form, bool in_order,
                   const Bindings& bindings, int multiprocessors) {
  Schedule out;
  const std::int64_t positions = bindings.positions;
  const FoldPlan plan = fold_plan(kernel, bindings);
  give_workspace(out, kernel, plan);
  const bool commutative = is_commutative(form);
  const auto launch = [&](FoldEntry entry, std::int64_t blocks, std::int64_t most, unsigned block) {
    out.launches.push_back({entry_number(form, entry), grid_of(blocks, most, multiprocessors), block});
  };
  // `of_row`: partial results of one row, at most.
  const auto by_blocks = [&](std::int64_t results, std::int64_t rows, std::int64_t of_row,
                             std::int64_t most) {
    if (results < (commutative ? few_blocks : few_ordered_blocks) * multiprocessors &&
        has_few_blocks(kernel)) {
      launch(FoldEntry::few_blocks, results, most, threads);
    } else {
      const std::int64_t workers = results * (commutative ? 32 : 1);
      // Few are spread over the GPU, a warp on each multiprocessor.
      const unsigned block = workers < few_workers * multiprocessors ? 32 : threads;
      launch(FoldEntry::blocks, quotient_up(workers, block), most, block);
    }
    const unsigned joining = of_row <= many_results                                     ? 32
                             : of_row > very_many_results && has_many_finishers(kernel) ? finish_threads
                                                                                        : threads;
    launch(FoldEntry::finish, rows, most, joining);
  };
  if (plan.numbers.row_blocks > 0) {
    out.why = fmt::format("{} rows of {} elements: {} blocks each, then joined", positions, plan.length,
                          plan.numbers.row_blocks);
    by_blocks(plan.results, positions, plan.numbers.row_blocks, fold_blocks);
    return out;
  }

  FoldEntry entry = FoldEntry::by_thread;
  std::int64_t group = 1;
  std::string lengths = "unknown";
  const std::int64_t average = average_length(plan, positions);
  if (average >= 0) {
    lengths = fmt::format("{}{}", plan.length >= 0 ? "" : "about ", average);
    if (average > (in_order ? thread_rows_in_tiles : thread_rows))
      entry = average > eight_rows ? FoldEntry::by_warp : FoldEntry::by_eight;
  } else {
    entry = FoldEntry::by_warp;  // the only way that takes rows of any length without a list
  }
  if (!commutative) entry = FoldEntry::by_thread;
  if (entry == FoldEntry::by_eight) group = 8;
  if (entry == FoldEntry::by_warp) group = 32;
  const bool from_tiles =
      in_order && average >= 0 && average <= (commutative ? longest_in_tiles : eight_rows);
  if (entry == FoldEntry::by_warp && from_tiles) entry = FoldEntry::tiles_by_warp;
  out.why = fmt::format("{} rows of {} elements: {}", positions, lengths,
                        group == 1   ? "a thread each"
                        : group == 8 ? "8 threads each"
                                     : "a warp each");
  if (from_tiles) {
    out.why += ", from tiles";
    const std::int64_t elements = plan.length >= 0 ? plan.length * positions : plan.elements;
    const std::int64_t tiles = quotient_up(elements + positions * row_work, tile_elements);
    out.launches.push_back({entry_number(form, entry),
                            blocks_of_tiles(tiles, multiprocessors, usual_tile_blocks), threads, tiles});
  } else {
    launch(entry, quotient_up(positions * group, threads), fold_blocks, threads);
  }
  if (plan.numbers.long_rows > 0) {
    out.why += fmt::format("; those of more than {} by blocks", order::block);
    // Without knowing the longest, one row may have nearly all.
    by_blocks(plan.results, plan.numbers.long_rows,
              order::blocks(bindings.longest >= 0 ? bindings.longest : plan.elements), listed_blocks);
  }
  return out;
}

Schedule of_scan(const kernel::Kernel& kernel, const Bindings& bindings, int multiprocessors) {
  Schedule out;
  const std::int64_t positions = bindings.positions;
  const FoldPlan plan = fold_plan(kernel, bindings);
  const auto launch = [&](ScanEntry entry, std::int64_t blocks, std::int64_t most, unsigned block) {
    out.launches.push_back({static_cast<int>(entry), grid_of(blocks, most, multiprocessors), block});
  };
  const auto by_blocks = [&](std::int64_t results, std::int64_t rows, std::int64_t most) {
    give_workspace(out, kernel, plan);
    const unsigned block = results * 32 < few_workers * multiprocessors ? 32 : threads;
    launch(ScanEntry::totals, quotient_up(results * 32, block), most, block);
    launch(ScanEntry::tree, rows, most, results > many_results * rows ? threads : 32);
    launch(ScanEntry::blocks, quotient_up(results * 32, block), most, block);
  };
  if (plan.numbers.row_blocks > 0 && positions * 32 < many_workers * multiprocessors) {
    out.why = fmt::format("{} rows of {} elements: {} blocks each, twice", positions, plan.length,
                          plan.numbers.row_blocks);
    by_blocks(plan.results, positions, fold_blocks);
    return out;
  }

  const std::int64_t average = average_length(plan, positions);
  const bool packed = average >= 0 && average <= packed_length;
  const std::int64_t rows = packed ? threads / 32 * packed_rows : threads / 32;
  launch(packed ? ScanEntry::packed : ScanEntry::by_warp, quotient_up(positions, rows), fold_blocks, threads);
  const std::string lengths =
      average < 0 ? "unknown" : fmt::format("{}{}", plan.length >= 0 ? "" : "about ", average);
  out.why = fmt::format("{} rows of {} elements: {}", positions, lengths,
                        packed ? "as many a warp as fit" : "a warp each");
  if (plan.numbers.long_rows > 0) {
    out.why += fmt::format("; those of more than {} by blocks, twice", order::block);
    by_blocks(plan.results, plan.numbers.long_rows, listed_blocks);
  }
  return out;
}

Schedule of_recurrence(const Bindings& bindings, int multiprocessors) {
  Schedule out;
  // Few are spread over the GPU.
  const unsigned block = bindings.positions < few_workers * multiprocessors ? 32 : threads;
  out.launches.push_back(
      {0, grid_of(quotient_up(bindings.positions, block), fold_blocks, multiprocessors), block});
  out.why = fmt::format("{} rows, whose elements depend on each other: a thread each", bindings.positions);
  return out;
}

}  // namespace

Schedule schedule(const kernel::Kernel& kernel, bool in_order, const Bindings& bindings,
                  int multiprocessors) {
  const bool empty = fold_plan(kernel, bindings).length == 0 && kernel::leaves_out_empty_rows(kernel);
  if (bindings.positions <= 0 || bindings.items <= 0 || empty) {
    Schedule out;
    out.why = "nothing to compute";
    return out;
  }
  return std::visit(
      kernel::overloaded{[&](const kernel::Map&) { return of_map(bindings, multiprocessors); },
                         [&](const kernel::Reduce& form) {
                           return of_reduce(kernel, form, in_order, bindings, multiprocessors);
                         },
                         [&](const kernel::Scan&) { return of_scan(kernel, bindings, multiprocessors); },
                         [&](const kernel::Recurrence&) { return of_recurrence(bindings, multiprocessors); }},
      kernel.form);
}

void deal_tiles(Schedule& schedule, int multiprocessors,
                const std::function<int(int entry)>& blocks_at_a_time) {
  for (Launch& launch : schedule.launches) {
    const int known = launch.tiles > 0 ? blocks_at_a_time(launch.entry) : 0;
    if (known > 0) launch.grid = blocks_of_tiles(launch.tiles, multiprocessors, known);
  }
}

std::vector<int> entries_of(const Schedule& schedule) {
  std::vector<int> out;
  for (const Launch& launch : schedule.launches) out.push_back(launch.entry);
  return out;
}

std::vector<int> all_entries(const kernel::Kernel& kernel) {
  std::vector<int> out(static_cast<std::size_t>(entry_count(kernel)));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<int> certain_entries(const kernel::Kernel& kernel) {
  if (const kernel::Row* row = kernel::row_of(kernel); row && row->length.kind != Kind::constant) return {};
  Bindings one_row;
  one_row.positions = 1;
  const bool has_long_rows = fold_plan(kernel, one_row).results > 0;
  std::vector<int> entries = entries_of(schedule(kernel, one_row, 1));
  // How long rows are computed depends on how many there are.
  const auto finish_alone = [&](const kernel::Reduce& form) {
    if (has_long_rows && has_few_blocks(kernel)) entries = {entry_number(form, FoldEntry::finish)};
  };
  std::visit(kernel::overloaded{[](const kernel::Map&) {}, finish_alone,
                                [&](const kernel::Scan&) {
                                  if (has_long_rows) entries.clear();
                                },
                                [](const kernel::Recurrence&) {}},
             kernel.form);
  return entries;
}

std::vector<std::uint64_t> pack(const kernel::Kernel& kernel, const Bindings& bindings, Address error,
                                Address workspace, Address stop) {
  std::vector<std::uint64_t> words(bindings.buffers.begin(), bindings.buffers.end());
  for (const std::int64_t scalar : bindings.scalars) words.push_back(static_cast<std::uint64_t>(scalar));
  const LaunchParams n = fold_plan(kernel, bindings).numbers;
  for (const std::int64_t number : {n.items, n.positions, n.row_blocks, n.long_rows})
    words.push_back(static_cast<std::uint64_t>(number));
  words.push_back(error);
  words.push_back(workspace);
  words.push_back(stop);
  return words;
}

}  // namespace anabranch::cuda
