#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "gpu/contests.h"
#include "gpu/results.h"
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

  const auto whole_run = [&](const auto& source, Backend backend) {
    auto program = std::make_shared<Program<Acc<Vector<double>>>>(
        compile(smvm(stream_in(source), use(vector_over(x.data(), a.cols)))));
    auto y = std::make_shared<Vector<double>>();
    const auto run = [=] { *y = program->run({.backend = backend}); };
    run();  // compiles kernels: what making a contender takes is reported apart
    return Contender{.run = run,
                     .right = [=, &expected] { return close(*y, expected, allowed); },
                     .bytes = a.bytes(),
                     .on_stream = false,
                     .note = "prepared: the first run"};
  };
  const auto pageable = io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
  contest.enter("anabranch cuda", [&] { return whole_run(pageable, Backend::cuda); });
  contest.enter("anabranch cuda, from page-locked memory",
                [&] { return whole_run(pinned.source(a.cols), Backend::cuda); });
  contest.enter("anabranch cpu+cuda", [&] { return whole_run(pageable, Backend::cpu_and_cuda); });
  contest.enter("anabranch cpu", [&] { return whole_run(pageable, Backend::cpu); });
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
