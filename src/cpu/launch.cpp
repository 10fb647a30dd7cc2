#include "cpu/launch.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include <anabranch/array.h>

#include "cpu/far_gather.h"
#include "cpu/long_scans.h"
#include "cpu/pieces.h"
#include "cpu/routines.h"
#include "ir/cancelled.h"
#include "ir/fold_order.h"
#include "ir/standard_arithmetic.h"
#include "kernel/check_error.h"

namespace anabranch::cpu {
namespace {

/// Far enough for main memory, counted in the widest elements (measured: docs/notebook.md).
std::int64_t elements_ahead(const kernel::Kernel& kernel) {
  constexpr std::size_t bytes_ahead = 4096;
  std::size_t widest = 1;
  for (const auto& array : kernel.arrays)
    for (const ScalarType type : array.type.scalars) widest = std::max(widest, size_of(type));
  return static_cast<std::int64_t>(bytes_ahead / widest);
}

/// The lowest task in which a check failed: the same whichever task comes first.
class FirstFailure {
 public:
  void note(std::int64_t task, const ErrorRecord& error) {
    if (!error.failed) return;
    const std::lock_guard lock(mutex_);
    task_ = task_ < 0 ? task : std::min(task_, task);
  }
  std::int64_t task() const { return task_; }  ///< -1: none

 private:
  std::mutex mutex_;
  std::int64_t task_ = -1;
};

/// What is needed to call entries, of one launch.
struct Caller {
  const kernel::Kernel& kernel;
  const CompiledKernel& compiled;
  const Bindings& bindings;
  std::int64_t ahead;
  const void* positions_end;

  /// Positions [begin, end), or of a form with rows whole rows.
  ErrorRecord positions(std::int64_t begin, std::int64_t end, const Scratch& scratch) const {
    return call(compiled.image.entry(0), begin, end, scratch);
  }
  /// Entries of rows of any length.
  ErrorRecord row(int entry, std::int64_t begin, std::int64_t end, const Scratch& scratch) const {
    return call(any_rows().entry(entry), begin, end, scratch);
  }
  /// Compiles these, where they are not.
  void prepare_rows() const { any_rows(); }
  void check_stop() const {
    if (bindings.stop && *bindings.stop != 0) ir::raise_cancelled();
  }

 private:
  /// What the image for short rows is called with.
  struct Args : KernelArgs {
    const Caller* caller = nullptr;
    std::exception_ptr failure;  ///< no exception passes through a kernel
  };

  const LoadedImage& any_rows() const {
    return compiled.for_any_rows ? compiled.for_any_rows->get(bindings.compiled).image : compiled.image;
  }
  /// KernelArgs::any_rows.
  static void compile_and_call(const KernelArgs* args, std::int64_t begin, std::int64_t end,
                               Scratch* scratch) {
    // Kernels pass on what they were called with.
    auto& own = const_cast<Args&>(static_cast<const Args&>(*args));
    if (own.failure) return;
    try {
      own.caller->any_rows().entry(0)(args, begin, end, scratch);
    } catch (...) {
      own.failure = std::current_exception();
    }
  }

  ErrorRecord call(Entry entry, std::int64_t begin, std::int64_t end, Scratch scratch) const {
    static const StopWord never = 0;
    ErrorRecord error;
    Args args{};
    args.buffers = bindings.buffers.data();
    args.scalars = bindings.scalars.data();
    args.functions = anabranch_routines;
    args.error = &error;
    args.items = bindings.items;
    args.ahead = ahead;
    args.positions_end = positions_end;
    args.stop = bindings.stop ? bindings.stop : &never;
    const CompiledKernel* known = compiled.for_any_rows ? compiled.for_any_rows->known() : nullptr;
    args.any_rows = known ? known->image.entry(0) : compile_and_call;
    args.caller = this;
    const ir::StandardArithmetic standard;
    entry(&args, begin, end, &scratch);
    if (args.failure) std::rethrow_exception(args.failure);
    return error;
  }
};

/// Raises the failure at the lowest of the output positions [begin, end), if there is one, found by computing
/// them again and bisecting: kernels write only their output, which is no longer needed.
[[noreturn]] void raise_lowest(const Caller& call, std::int64_t begin, std::int64_t end) {
  const auto failure = [&](std::int64_t from, std::int64_t to) {
    Scratch scratch;
    scratch.first_item = holder_of(call.kernel, call.bindings, from).item;
    const ErrorRecord error = call.positions(from, to, scratch);
    call.check_stop();
    return error;
  };
  while (end - begin > 1) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (failure(begin, middle).failed)
      end = middle;
    else
      begin = middle;
  }
  const Holder holder = holder_of(call.kernel, call.bindings, begin);
  ErrorRecord error;
  // The rows entry computes the short last block of a row first, so the blocks before it are checked here.
  const bool folds = std::holds_alternative<kernel::Reduce>(call.kernel.form);
  if (folds && holder.row_length >= ir::fold_order::wide_from) {
    std::vector<std::int64_t> partial(call.kernel.body.size());
    Scratch scratch{holder.item, begin, holder.item};
    for (std::int64_t block = 0; block < ir::fold_order::blocks(holder.row_length) && !error.failed;
         ++block) {
      // A block's cell is addressed by the block's number.
      const auto back = static_cast<std::uintptr_t>(block) * partial.size() * sizeof(std::int64_t);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): such a place may lie outside of every array
      scratch.partials = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(partial.data()) - back);
      error = call.row(1, block, block + 1, scratch);
      call.check_stop();
    }
  }
  if (!error.failed) error = failure(begin, begin + 1);
  if (!error.failed)
    throw InternalError("kernel " + call.kernel.name + ": a failure that does not come again");
  kernel::raise(call.kernel.checks[static_cast<std::size_t>(error.failed - 1)], error.value, error.bound,
                call.bindings.named.of(holder.item));
}

}  // namespace

void one_by_one(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
  for (std::int64_t i = 0; i < pieces; ++i) piece(i);
}

std::shared_ptr<void> from_heap(std::int64_t bytes) {
  return anabranch::detail::allocate_aligned(static_cast<std::size_t>(bytes));
}

void launch(const kernel::Kernel& kernel, const CompiledKernel& compiled, const Bindings& bindings,
            const ParallelFor& parallel_for, const TakeMemory& take_memory, std::int64_t piece_elements) {
  if (bindings.items <= 0) return;
  const Cut plan = cut(kernel, compiled.cut_facts, bindings, piece_elements, parallel_for);
  if (plan.tasks == 0) return;
  // One 8-byte cell for each block and component.
  const auto components = static_cast<std::int64_t>(kernel.body.size());
  std::shared_ptr<void> partials;
  if (plan.partials > 0) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(plan.partials, components * std::int64_t{sizeof(std::int64_t)}, &bytes))
      bytes = INT64_MAX;
    partials = take_memory(bytes);
    std::memset(partials.get(), 0, static_cast<std::size_t>(bytes));
  }

  const void* const far =
      compiled.gather_facts ? end_of_far_positions(*compiled.gather_facts, bindings) : nullptr;
  const Caller call{kernel, far ? compiled.that_fetches->get(bindings.compiled) : compiled, bindings,
                    bindings.from_memory ? elements_ahead(kernel) : 0, far};
  if (!plan.long_rows.empty()) call.prepare_rows();  // the threads that work on them do not throw then
  const bool scans = std::holds_alternative<kernel::Scan>(kernel.form);
  FirstFailure in_pieces, in_rows;
  const auto of_long_row = [&](const LongRow& row) {
    Scratch scratch;
    scratch.row = row.row;
    scratch.row_item = row.item;
    scratch.rows = row.rows;
    auto* const cells = static_cast<std::int64_t*>(partials.get()) + row.first_partial * components;
    scratch.partials = cells;
    if (scans) scratch.state = cells + row.blocks * components;
    return scratch;
  };
  std::optional<LongScans> long_scans;
  if (scans && !plan.long_rows.empty())
    long_scans.emplace(plan,
                       [&](int entry, std::size_t i, std::int64_t begin, std::int64_t end, bool in_order) {
                         Scratch scratch = of_long_row(plan.long_rows[i]);
                         if (in_order) scratch.partials = nullptr;
                         const ErrorRecord error = call.row(entry, begin, end, scratch);
                         in_rows.note(static_cast<std::int64_t>(i), error);
                         return error.failed == 0;
                       });
  const auto piece = [&](std::int64_t task) {
    const Piece p = plan.of_task(task);
    if (p.long_row >= 0 && long_scans) {
      long_scans->work();
    } else if (p.long_row >= 0) {
      const LongRow& row = plan.long_rows[static_cast<std::size_t>(p.long_row)];
      in_pieces.note(task, call.row(row.rows > 1 ? 2 : 1, p.begin, p.end, of_long_row(row)));
    } else {
      Scratch scratch;
      scratch.first_item = p.item < 0 ? holder_of(kernel, bindings, p.begin).item : p.item;
      in_pieces.note(task, call.positions(p.begin, p.end, scratch));
    }
  };
  const auto finish = [&](std::int64_t i) {
    if (long_scans && !long_scans->complete(static_cast<std::size_t>(i))) return;
    const LongRow& row = plan.long_rows[static_cast<std::size_t>(i)];
    Scratch scratch = of_long_row(row);
    scratch.first_item = row.item;
    for (std::int64_t at = row.row; at < row.row + row.rows; ++at) {
      in_rows.note(i, call.row(0, at, at + 1, scratch));
      scratch.partials = static_cast<std::int64_t*>(scratch.partials) + row.blocks * components;
    }
  };
  const auto spread = [&](std::int64_t n, const auto& task) {
    if (n == 1)
      task(0);
    else if (n > 1)
      parallel_for(n, std::cref(task));
  };
  spread(plan.tasks, piece);
  call.check_stop();
  spread(static_cast<std::int64_t>(plan.long_rows.size()), finish);
  call.check_stop();

  std::int64_t begin = INT64_MAX, end = 0;
  if (in_pieces.task() >= 0) {
    const Piece p = plan.of_task(in_pieces.task());
    begin = p.begin;
    end = p.end;
    if (p.long_row >= 0) {
      const LongRow& row = plan.long_rows[static_cast<std::size_t>(p.long_row)];
      begin = row.row;
      end = begin + row.rows;
    }
  }
  if (in_rows.task() >= 0) {
    // The blocks of a long row that is reduced may succeed, and its short last block or the join may fail.
    const LongRow& row = plan.long_rows[static_cast<std::size_t>(in_rows.task())];
    if (row.row < begin) {
      begin = row.row;
      end = begin + row.rows;
    }
  }
  if (begin < end) raise_lowest(call, begin, end);
}

}  // namespace anabranch::cpu
