#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "gpu/contests.h"
#include "gpu/results.h"
#include "gpu/traced.h"
#include "support/programs.h"

namespace anabranch::bench {
namespace {

/// The arrays of a matrix in page-locked memory.
struct PinnedMatrix {
  PinnedBuffer offsets, columns, values;
  std::size_t rows, nonzeros;

  explicit PinnedMatrix(const Csr& a)
      : offsets(a.indptr.span().size_bytes()),
        columns(a.indices.span().size_bytes()),
        values(a.values.span().size_bytes()),
        rows(static_cast<std::size_t>(a.rows)),
        nonzeros(static_cast<std::size_t>(a.nnz())) {
    std::memcpy(offsets.data<void>(), a.indptr.data(), a.indptr.span().size_bytes());
    std::memcpy(columns.data<void>(), a.indices.data(), a.indices.span().size_bytes());
    std::memcpy(values.data<void>(), a.values.data(), a.values.span().size_bytes());
  }
  auto source(std::int64_t cols) const {
    return io::csr_view(static_cast<std::int64_t>(rows), cols,
                        std::span<const std::int32_t>(offsets.data<std::int32_t>(), rows + 1),
                        std::span<const std::int32_t>(columns.data<std::int32_t>(), nonzeros),
                        std::span<const double>(values.data<double>(), nonzeros));
  }
};

std::string overlap_text(const RunReport& r) {
  return fmt::format(
      "overlap {:.0f} %: copies {:.2f} ms, kernels {:.2f} ms, both at once {:.2f} ms, {} chunks",
      100 * r.gpu_overlap, r.gpu_copy_seconds * 1e3, r.gpu_kernel_seconds * 1e3, r.gpu_both_seconds * 1e3,
      r.chunks);
}

nlohmann::json overlap_facts(const RunReport& r) {
  return {{"overlap", r.gpu_overlap},
          {"copy_seconds", r.gpu_copy_seconds},
          {"kernel_seconds", r.gpu_kernel_seconds},
          {"both_seconds", r.gpu_both_seconds},
          {"chunks", r.chunks}};
}

bool close(const Vector<double>& y, const std::vector<double>& expected, double allowed) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(y.data()[i] - expected[i]) <= allowed)) return false;
  return true;
}

}  // namespace

nlohmann::json hold_streamed(const Bench& bench, const std::string& name, const Csr& a) {
  Contest contest(bench, name, note_of(a, a.bytes()) + ", in host memory; GB/s over the link");
  const PinnedMatrix pinned(a);
  const Buffer<double> x = random_vector(a.cols, 3);
  const std::vector<double> expected = product(a, x);
  const double allowed = tolerance<double>(a.longest_row());

  const auto whole_run = [&](const std::string& who, const auto& source, Backend backend) {
    auto program = std::make_shared<Program<Acc<Vector<double>>>>(
        compile(smvm(stream_in(source), use(vector_over(x.data(), a.cols)))));
    auto y = std::make_shared<Vector<double>>();
    const auto run = [=] { *y = program->run({.backend = backend}); };
    const auto first = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> compiling = std::chrono::steady_clock::now() - first;
    Contender out{.run = run,
                  .right = [=, &expected] { return close(*y, expected, allowed); },
                  .bytes = a.bytes(),
                  .on_stream = false,
                  .prepare_ms = compiling.count(),
                  .note = "prepared: the first run"};
    if (backend == Backend::cuda) {
      const RunReport report =
          traced(bench, name + "-" + who,
                 [&](const RunOptions& options, RunReport* into) { program->run(options, into); });
      out.note += "; " + overlap_text(report);
      out.facts = overlap_facts(report);
    }
    return out;
  };
  const auto enter = [&](const std::string& who, const auto& source, Backend backend) {
    contest.enter(who, [&] { return whole_run(who, source, backend); });
  };
  const auto pageable = io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
  enter("anabranch cuda", pageable, Backend::cuda);
  enter("anabranch cuda page-locked", pinned.source(a.cols), Backend::cuda);
  enter("anabranch cpu+cuda", pageable, Backend::cpu_and_cuda);
  enter("anabranch cpu", pageable, Backend::cpu);
  contest.enter("page-locked copy", [&] {
    const DeviceBuffer offsets(a.indptr.span().size_bytes()), columns(a.indices.span().size_bytes()),
        values(a.values.span().size_bytes());
    const auto copy = [=, &pinned, &a] {
      copy_to_device(offsets.data(), pinned.offsets.data<void>(), a.indptr.span().size_bytes());
      copy_to_device(columns.data(), pinned.columns.data<void>(), a.indices.span().size_bytes());
      copy_to_device(values.data(), pinned.values.data<void>(), a.values.span().size_bytes());
    };
    const std::size_t bytes =
        a.indptr.span().size_bytes() + a.indices.span().size_bytes() + a.values.span().size_bytes();
    return Contender{.run = copy,
                     .right = {},
                     .bytes = static_cast<double>(bytes),
                     .on_stream = false,
                     .note = "the matrix in three pieces, one way: the link's speed"};
  });
  return contest.hold();
}

}  // namespace anabranch::bench
