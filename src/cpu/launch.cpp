#include "cpu/launch.h"

#include <cstring>
#include <mutex>

#include <anabranch/array.h>

#include "cpu/pieces.h"
#include "ir/transcendental.h"
#include "plan/check_error.h"

namespace anabranch::cpu {
namespace {

/// Far enough for main memory, counted in the widest elements (measured: docs/benchmarks.md).
std::int64_t elements_ahead(const plan::Kernel& kernel) {
  constexpr std::size_t bytes_ahead = 4096;
  std::size_t widest = 1;
  for (const auto& array : kernel.arrays)
    for (const ScalarType type : array.type.scalars) widest = std::max(widest, size_of(type));
  return static_cast<std::int64_t>(bytes_ahead / widest);
}

/// Of the checks that failed, the one in the lowest task: the same whichever task comes first.
class FirstError {
 public:
  void note(std::int64_t task, const ErrorRecord& error) {
    if (!error.failed) return;
    const std::lock_guard lock(mutex_);
    if (error_.failed && task_ < task) return;
    task_ = task;
    error_ = error;
  }
  void raise(const plan::Kernel& kernel) const {
    if (error_.failed)
      plan::raise(kernel.checks[static_cast<std::size_t>(error_.failed - 1)], error_.value, error_.bound);
  }

 private:
  std::mutex mutex_;
  std::int64_t task_ = 0;
  ErrorRecord error_;
};

}  // namespace

void one_by_one(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
  for (std::int64_t i = 0; i < pieces; ++i) piece(i);
}

std::shared_ptr<void> from_heap(std::int64_t bytes) {
  return anabranch::detail::allocate_aligned(static_cast<std::size_t>(bytes));
}

void launch(const plan::Kernel& kernel, const CompiledKernel& compiled, const Bindings& bindings,
            const ParallelFor& parallel_for, const TakeMemory& take_memory, std::int64_t piece_elements) {
  if (bindings.items <= 0) return;
  const Cut plan = cut(kernel, bindings, piece_elements);
  if (plan.tasks == 0) return;
  // One 8-byte cell for each block and component.
  const auto components = static_cast<std::int64_t>(kernel.combine.size());
  std::shared_ptr<void> partials;
  if (plan.partials > 0) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(plan.partials, components * std::int64_t{sizeof(std::int64_t)}, &bytes))
      bytes = INT64_MAX;
    partials = take_memory(bytes);
    std::memset(partials.get(), 0, static_cast<std::size_t>(bytes));
  }

  FirstError first_error;
  const std::int64_t ahead = bindings.from_memory ? elements_ahead(kernel) : 0;
  const auto run = [&](int entry, std::int64_t task, std::int64_t begin, std::int64_t end, Scratch scratch) {
    ErrorRecord error;
    const KernelArgs args{
        bindings.buffers.data(), bindings.scalars.data(), ir::routine_table(), &error, bindings.items, ahead};
    compiled.image.entry(entry)(&args, begin, end, &scratch);
    first_error.note(task, error);
  };
  const auto of_long_row = [&](const LongRow& row) {
    Scratch scratch;
    scratch.row = row.row;
    scratch.row_item = row.item;
    scratch.partials = static_cast<std::int64_t*>(partials.get()) + row.first_partial * components;
    return scratch;
  };
  const std::function<void(std::int64_t)> piece = [&](std::int64_t task) {
    const Piece p = plan.of_task(task);
    if (p.long_row >= 0) {
      run(1, task, p.begin, p.end, of_long_row(plan.long_rows[static_cast<std::size_t>(p.long_row)]));
    } else {
      Scratch scratch;
      scratch.first_item = p.item;
      run(0, task, p.begin, p.end, scratch);
    }
  };
  const std::function<void(std::int64_t)> finish = [&](std::int64_t i) {
    const LongRow& row = plan.long_rows[static_cast<std::size_t>(i)];
    Scratch scratch = of_long_row(row);
    scratch.first_item = row.item;
    run(0, plan.tasks + i, row.row, row.row + 1, scratch);
  };
  const auto spread = [&](std::int64_t n, const std::function<void(std::int64_t)>& task) {
    if (n == 1)
      task(0);
    else if (n > 1)
      parallel_for(n, task);
  };
  spread(plan.tasks, piece);
  spread(static_cast<std::int64_t>(plan.long_rows.size()), finish);
  first_error.raise(kernel);
}

}  // namespace anabranch::cpu
