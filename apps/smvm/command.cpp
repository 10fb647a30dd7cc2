#include <algorithm>
#include <chrono>
#include <memory>

#include <anabranch/io.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/byte_size.h"
#include "apps/common/exit_status.h"
#include "apps/common/matrix_types.h"
#include "apps/common/output_files.h"
#include "apps/common/terminal.h"
#include "apps/smvm/program.h"
#include "apps/smvm/report.h"

namespace anabranch::apps {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Bytes of `count` elements; INT64_MAX where that is beyond counting.
std::int64_t bytes_of(std::int64_t count, std::size_t width) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(width), &bytes)) return INT64_MAX;
  return bytes;
}

/// x, y and the stream share the bound: what x and y leave is the source's, for sorting a Matrix Market file
/// and for its chunks. Throws ResourceError where they leave nothing.
std::int64_t memory_for_source(const io::CsrHeader& header, std::size_t width, std::int64_t bound) {
  const std::int64_t x = bytes_of(header.cols, width);
  const std::int64_t y = bytes_of(header.rows, width);
  if (x >= bound || y >= bound - x)
    throw ResourceError(fmt::format(
        "the vector x ({}) and the result y ({}) do not fit into a memory bound of {}; beside them the "
        "stream needs room for its longest row",
        binary_bytes(x), binary_bytes(y), binary_bytes(bound)));
  return bound - x - y;
}

/// Calls f; a resource error says what x and y have taken of the bound.
template <class F>
auto beside_x_and_y(std::int64_t for_source, std::int64_t bound, F&& f) {
  try {
    return f();
  } catch (const ResourceError& e) {
    throw ResourceError(fmt::format("{} (x and y take {} of the memory bound of {})", e.what(),
                                    binary_bytes(bound - for_source), binary_bytes(bound)));
  }
}

/// Whether each value of `from` is one of `to`.
bool converts_exactly(ScalarType from, ScalarType to) {
  return detail::with_scalar(from, [to]<class From>(std::type_identity<From>) {
    return detail::with_scalar(to, []<class To>(std::type_identity<To>) {
      return std::same_as<From, To> || detail::Lossless<From, To>;
    });
  });
}

template <class T>
Vector<T> vector_x(const std::string& path, std::int64_t cols) {
  if (path.empty()) {
    Vector<T> ones(Index{cols});
    std::fill_n(ones.mutable_data(), cols, T{1});
    return ones;
  }
  const io::NpyHeader header = io::inspect_npy(path);
  if (header.extents.size() != 1)
    throw DataError(
        fmt::format("{}: a vector is needed, this is an array of rank {}", path, header.extents.size()));
  if (header.extents[0] != cols)
    throw DataError(
        fmt::format("{}: {} elements, but the matrix has {} columns", path, header.extents[0], cols));
  constexpr ScalarType type = detail::scalar_type<T>;
  if (!converts_exactly(header.type, type))
    throw DataError(
        fmt::format("{}: elements of type {}, which the matrix's {} cannot hold exactly; convert one of them",
                    path, name_of(header.type), name_of(type)));
  return io::read_npy<1, T>(path, {.convert = true});
}

template <class I, class T>
SmvmReport multiply(const SmvmOptions& options, SmvmReport report, Interrupt& interrupt) {
  const auto begin = Clock::now();
  const std::int64_t for_source = memory_for_source(report.header, sizeof(T), report.memory);
  const auto source = beside_x_and_y(for_source, report.memory, [&] {
    const Interrupt::AtOnce sorting_cannot_be_stopped(interrupt);
    return io::open_csr<I, T>(options.matrix, {.memory = for_source});
  });
  report.open_seconds = seconds_since(begin);
  report.nnz = source.info().work.value_or(0);  // known for every matrix that is open
  report.bytes = report.nnz * static_cast<std::int64_t>(sizeof(I) + sizeof(T)) +
                 (report.header.rows + 1) * (source.info().arrays[0].offsets == OffsetType::int32 ? 4 : 8);

  const Vector<T> x = vector_x<T>(options.vector, report.header.cols);
  const auto program = compile(smvm<I, T>(stream_in(source), use(x)));

  ProgressLine progress(options.run.progress);
  RunOptions run = options.run.options(interrupt);
  run.progress = [&](const Progress& p) { progress.show(p); };
  Vector<T> y;
  for (int i = 0; i < options.run.repeat; ++i) {
    if (options.run.repeat > 1) progress.label(fmt::format("run {} of {}: ", i + 1, options.run.repeat));
    y = Vector<T>();  // the result before makes room
    if (i + 1 == options.run.repeat) {
      run.trace = options.run.trace;
      run.report = options.run.report;
    }
    y = beside_x_and_y(for_source, report.memory, [&] { return program.run(run, &report.run); });
    report.repeats.push_back(report.run.seconds);
    report.peak_bytes = std::max(report.peak_bytes, report.run.peak_bytes);
    if (i == 0) {
      report.compile_seconds = report.run.compile_seconds;
      report.front_seconds = report.run.front_seconds;
      report.kernels_compiled = report.run.kernels_compiled;
      report.kernels_from_disk = report.run.kernels_from_disk;
    }
  }
  progress.end();
  if (!options.out.empty()) io::write_npy(options.out, y);
  if (report.header.format == io::MatrixFormat::matrix_market) report.unchecked.push_back(options.matrix);
  if (!options.vector.empty()) report.unchecked.push_back(options.vector);
  report.total_seconds = seconds_since(begin);
  return report;
}

void run_smvm(const SmvmOptions& options, Interrupt& interrupt) {
  check_outputs({{"the matrix", options.matrix}, {"the vector x", options.vector}},
                {{"--out", options.out}, {"--trace", options.run.trace}, {"--report", options.run.report}});
  SmvmReport report;
  report.options = options;
  report.header = io::inspect_matrix(options.matrix);
  report.memory = options.run.memory_bound();
  report = with_types_of(report.header, options.matrix,
                         [&]<class I, class T>(std::type_identity<I>, std::type_identity<T>) {
                           return multiply<I, T>(options, report, interrupt);
                         });
  print(options.run.json ? to_json(report) : to_text(report));
}

}  // namespace

void add_smvm(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("smvm", "Multiply a sparse matrix file by a vector, row by row as it streams by");
  auto given = std::make_shared<SmvmOptions>();
  sub->add_option("MATRIX", given->matrix,
                  ".npz (scipy.sparse.save_npz of a CSR matrix) or .mtx (Matrix Market)")
      ->required()
      ->option_text("FILE");
  sub->add_option("--vector", given->vector,
                  "x, an .npy vector with one element per column; default: all ones")
      ->option_text("FILE");
  sub->add_option("--out", given->out, "Where to write y, as .npy; default: nowhere")->option_text("FILE");
  const RunChoiceOptions run(*sub, "x, y, indices and chunks", "rows");
  sub->callback([given, run, &chosen] {
    given->run = run.chosen();
    check_extension("--out", given->out, ".npy", "y is written as .npy");
    check_extension("--report", given->run.report, ".html", "a report is written as .html");
    chosen = [given](Interrupt& interrupt) {
      run_smvm(*given, interrupt);
      return done;
    };
  });
}

}  // namespace anabranch::apps
