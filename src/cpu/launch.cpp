#include "cpu/launch.h"

#include <vector>

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

}  // namespace

void one_by_one(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
  for (std::int64_t i = 0; i < pieces; ++i) piece(i);
}

void launch(const plan::Kernel& kernel, const CompiledKernel& compiled, const Bindings& bindings,
            const ParallelFor& parallel_for, std::int64_t piece_elements) {
  if (bindings.items <= 0) return;
  const Cut plan = cut(kernel, bindings, piece_elements);
  if (plan.pieces.empty()) return;
  const auto components = kernel.combine.size();
  const auto tasks = plan.pieces.size() + plan.long_rows.size();
  std::vector<ErrorRecord> errors(tasks);
  std::vector<std::int64_t> partials(static_cast<std::size_t>(plan.partials) * components);

  const std::int64_t ahead = bindings.from_memory ? elements_ahead(kernel) : 0;
  const auto run = [&](int entry, std::size_t task, std::int64_t begin, std::int64_t end, Scratch scratch) {
    const KernelArgs args{bindings.buffers.data(), bindings.scalars.data(), ir::routine_table(),
                          &errors[task],           bindings.items,          ahead};
    compiled.image.entry(entry)(&args, begin, end, &scratch);
  };
  const auto of_long_row = [&](const LongRow& row) {
    Scratch scratch;
    scratch.row = row.row;
    scratch.row_item = row.item;
    scratch.partials = partials.data() + static_cast<std::size_t>(row.first_partial) * components;
    return scratch;
  };
  const std::function<void(std::int64_t)> piece = [&](std::int64_t i) {
    const auto task = static_cast<std::size_t>(i);
    const Piece& p = plan.pieces[task];
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
    run(0, plan.pieces.size() + static_cast<std::size_t>(i), row.row, row.row + 1, scratch);
  };
  const auto spread = [&](std::size_t n, const std::function<void(std::int64_t)>& task) {
    if (n == 1)
      task(0);
    else if (n > 1)
      parallel_for(static_cast<std::int64_t>(n), task);
  };
  spread(plan.pieces.size(), piece);
  spread(plan.long_rows.size(), finish);

  for (const ErrorRecord& error : errors)
    if (error.failed)
      plan::raise(kernel.checks[static_cast<std::size_t>(error.failed - 1)], error.value, error.bound);
}

}  // namespace anabranch::cpu
