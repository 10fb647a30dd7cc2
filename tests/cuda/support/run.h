#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cpu/pieces.h"
#include "cuda/unit.h"
#include "cuda/words.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cuda/support/nvrtc.h"
#include "tests/cuda/support/target.h"

/// Runs a kernel's CUDA text in every way it could be scheduled, and holds the results against the oracle.
namespace anabranch::test {

struct RowSizes {
  std::int64_t all = 0;      ///< elements of all rows together
  std::int64_t longest = 0;  ///< elements of one row
};
/// Of a fold.
inline RowSizes row_sizes(KernelBuilder& builder) {
  const auto& kernel = builder.kernel();
  const auto value = [&](const kernel::KernelExtent& e, std::int64_t item) -> std::int64_t {
    using Kind = kernel::KernelExtent::Kind;
    if (e.kind == Kind::constant) return e.value;
    if (e.kind == Kind::uniform) return builder.scalars()[static_cast<std::size_t>(e.slot)];
    if (e.kind == Kind::per_item) return static_cast<const std::int64_t*>(builder.data(e.slot))[item];
    const auto offset = [&](std::int64_t i) -> std::int64_t {
      const void* data = builder.data(e.slot);
      return e.offsets == OffsetType::int32 ? static_cast<const std::int32_t*>(data)[i]
                                            : static_cast<const std::int64_t*>(data)[i];
    };
    return (offset(item + 1) - offset(item)) / std::max<std::int64_t>(e.divisor, 1);
  };
  RowSizes out;
  for (std::int64_t item = 0; item < builder.items(); ++item) {
    const std::int64_t length = value(row_in(kernel).length, item);
    std::int64_t rows = 1;
    for (const auto& e : kernel.domain.extents) rows *= value(e, item);
    out.all += rows * length;
    out.longest = std::max(out.longest, length);
  }
  return out;
}

inline constexpr int tiles_by_warp = static_cast<int>(cuda::FoldEntry::tiles_by_warp);

struct CudaResult {
  std::vector<std::byte> bytes;
  cuda::ErrorRecord error{};
};

/// One way to run a kernel.
struct CudaWay {
  std::uint64_t seed = 0;
  int multiprocessors = 2;
  bool elements_known = true;
  int rows_entry = -1;  ///< fold: instead of the entry that the schedule chose for rows
  int group = 1;        ///< threads a row, with `rows_entry`
  bool longest_known = false;
  bool by_warps = false;  ///< fold: blocks of long rows by warps, however few they are
  std::string text() const {
    return "seed " + std::to_string(seed) + ", multiprocessors " + std::to_string(multiprocessors) +
           (elements_known ? "" : ", elements not known") +
           (rows_entry < 0 ? "" : ", entry " + std::to_string(rows_entry)) +
           (longest_known ? ", longest known" : "") + (by_warps ? ", blocks by warps" : "");
  }
};

inline CudaResult run_cuda(KernelBuilder& builder, const CudaWay& way) {
  const auto& kernel = builder.kernel();
  const std::vector<void*> memory = builder.fresh_buffers();
  const auto target = make_target(kernel);
  std::vector<cuda::Address> buffers;
  for (std::size_t slot = 0; slot < memory.size(); ++slot) {
    const auto same =
        std::find(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(slot), memory[slot]);
    const auto known = static_cast<std::size_t>(same - memory.begin());
    buffers.push_back(known < slot && builder.sizes()[slot] > 0
                          ? buffers[known]
                          : target->put(memory[slot], builder.sizes()[slot]));
  }
  cuda::Bindings bindings{buffers, builder.scalars(), builder.items()};
  bindings.positions = cpu::domain_size(kernel, builder.bindings());
  if (kernel::row_of(kernel)) {
    const RowSizes sizes = row_sizes(builder);
    if (way.elements_known) bindings.elements = sizes.all;
    if (way.longest_known) bindings.longest = sizes.longest;
  }
  cuda::Schedule schedule = cuda::schedule(kernel, bindings, way.multiprocessors);
  if (way.rows_entry >= 0 && !schedule.launches.empty() && way.rows_entry < cuda::entry_count(kernel) &&
      (schedule.launches[0].entry < 3 || schedule.launches[0].entry == tiles_by_warp) &&
      reduce_in(kernel).order == ir::fold_order::OperatorClass::commutative) {
    schedule.launches[0].entry = way.rows_entry;
    schedule.launches[0].grid = static_cast<unsigned>(
        std::clamp<std::int64_t>((bindings.positions * way.group + 255) / 256, 1, way.multiprocessors * 2));
  }

  const bool commutative = std::holds_alternative<kernel::Reduce>(kernel.form) &&
                           reduce_in(kernel).order == ir::fold_order::OperatorClass::commutative;
  const auto number = [&](cuda::FoldEntry entry) { return static_cast<int>(entry) - (commutative ? 0 : 2); };
  if (way.by_warps)
    for (cuda::Launch& launch : schedule.launches)
      if (launch.entry == number(cuda::FoldEntry::few_blocks)) launch.entry = number(cuda::FoldEntry::blocks);

  CudaResult out;
  std::vector<std::byte> fill(static_cast<std::size_t>(schedule.workspace), std::byte{0xcd});
  std::fill_n(fill.begin(), schedule.zeroed, std::byte{0});
  const GuardedMemory workspace(fill.data(), fill.size());
  const auto words = cuda::pack(kernel, bindings, target->put(&out.error, sizeof out.error),
                                target->put(workspace.data(), fill.size()));
  for (const auto& launch : schedule.launches) target->launch(launch, words, way.seed);
  target->finish();
  for (std::size_t c = 0; c < kernel.body.size(); ++c) {
    const std::span<std::byte> bytes = builder.output_component(c);
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
  }
  return out;
}

inline std::vector<CudaWay> all_ways(const kernel::Kernel& kernel) {
  std::vector<CudaWay> ways{{}, {7, 1}, {12, 3}};
  if (kernel::row_of(kernel)) ways.push_back({0, 2, false});
  if (std::holds_alternative<kernel::Reduce>(kernel.form)) {
    ways.push_back({3, 2, true, 0, 1});
    ways.push_back({4, 1, true, 1, 8});
    ways.push_back({5, 2, true, 2, 32});
    ways.push_back({6, 2, true, -1, 1, true});
    ways.push_back({7, 2, true, tiles_by_warp, 32});
    ways.push_back({8, 2, true, -1, 1, false, true});
  }
  return ways;
}

/// Where the oracle fails so must every run, with the same record.
/// In the long tier each text is compiled for GPUs as well, which takes seconds.
inline std::string cuda_disagreement(KernelBuilder& builder) {
  builder.find_checks();
  if (compiles_all()) {
    static std::set<std::string> seen;
    const cuda::Unit unit = cuda::generate(builder.kernel());
    if (seen.insert(unit.source).second)
      if (const std::string complaint = nvrtc_complaint(unit); !complaint.empty())
        return complaint + "\n" + unit.source;
  }
  std::vector<std::byte> expected;
  bool fails = false;
  try {
    expected = Oracle(builder).run();
  } catch (const RunError&) {
    fails = true;
  }
  if (!fails && expected.empty())
    for (const ScalarType s : kernel::result_types(builder.kernel()))
      expected.resize(expected.size() + static_cast<std::size_t>(builder.elements()) * size_of(s),
                      std::byte{0xcd});
  std::optional<cuda::ErrorRecord> first;
  for (const CudaWay& way : all_ways(builder.kernel())) {
    const CudaResult out = run_cuda(builder, way);
    const bool failed = out.error.position != cuda::no_failure;
    if (failed != fails) return way.text() + (fails ? ": no error" : ": an error");
    if (!fails) {
      if (!same_values(builder, out.bytes, expected)) return way.text() + ": other values";
      continue;
    }
    if (!first) first = out.error;
    const auto& a = *first;
    const auto& b = out.error;
    if (a.position != b.position || a.failed != b.failed || a.value != b.value || a.bound != b.bound)
      return way.text() + ": another error: position " + std::to_string(b.position) + ", check " +
             std::to_string(b.failed) + ", value " + std::to_string(b.value) + ", not position " +
             std::to_string(a.position) + ", check " + std::to_string(a.failed) + ", value " +
             std::to_string(a.value);
  }
  return "";
}

}  // namespace anabranch::test
