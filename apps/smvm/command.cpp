#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <anabranch/io.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/byte_size.h"
#include "apps/common/exit_status.h"
#include "apps/common/input_files.h"
#include "apps/common/matrix_types.h"
#include "apps/common/output_files.h"
#include "apps/common/quantities.h"
#include "apps/common/repeated_run.h"
#include "apps/common/stopwatch.h"
#include "apps/common/terminal.h"
#include "apps/smvm/program.h"
#include "apps/smvm/report.h"

namespace anabranch::apps {

namespace {

/// Bytes of `count` elements; INT64_MAX where that is beyond counting.
std::int64_t bytes_of(std::int64_t count, std::size_t width) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(width), &bytes)) return INT64_MAX;
  return bytes;
}

/// x, y and the stream share the bound: what x and y leave is the source's, for sorting
/// and for its chunks. Throws ResourceError where they leave nothing.
std::int64_t memory_for_source(const io::CsrHeader& header, std::int64_t vectors, std::size_t width,
                               std::int64_t bound) {
  const auto bytes = [&](std::int64_t rows) {
    std::int64_t elements = 0;
    return __builtin_mul_overflow(rows, vectors, &elements) ? INT64_MAX : bytes_of(elements, width);
  };
  const std::int64_t x = bytes(header.cols);
  const std::int64_t y = bytes(header.rows);
  if (x >= bound || y >= bound - x)
    throw ResourceError(fmt::format(
        "the {} x ({}) and the result y ({}) do not fit into a memory bound of {}; beside them the "
        "stream needs room for its longest row",
        noun_for(vectors, "vector"), binary_bytes(x), binary_bytes(y), binary_bytes(bound)));
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

/// Throws DataError unless the file holds an array of this rank, with an element (a row) for each column of the matrix, of
/// a type that `type` holds.
io::NpyHeader inspect_x(const std::string& path, std::size_t rank, const SmvmReport& report) {
  const io::CsrHeader& matrix = report.header;
  const io::NpyHeader x = io::inspect_npy(path);
  if (x.extents.size() != rank)
    throw DataError(
        rank == 1
            ? fmt::format("{}: a vector is needed, this is an array of rank {}{}", path, x.extents.size(),
                          x.extents.size() == 2 ? " (--vectors takes several)" : "")
            : fmt::format(
                  "{}: --vectors takes a matrix with a vector in each column, this is an array of rank {}{}",
                  path, x.extents.size(), x.extents.size() == 1 ? " (--vector takes one)" : ""));
  if (x.extents[0] != matrix.cols)
    throw DataError(fmt::format(
        "{}: {}, but the {}matrix has {}{}", path, counted(x.extents[0], rank == 1 ? "element" : "row"),
        report.options.transpose ? "transposed " : "", counted(matrix.cols, "column"),
        rank == 2 && x.extents[1] == matrix.cols ? "; this array has its vectors as rows" : ""));
  if (x.complex || !converts_exactly(x.type, matrix.value))
    throw DataError(fmt::format(
        "{}: elements of type {}{}, which the matrix's {} cannot hold exactly; convert one of them", path,
        x.complex ? "complex " : "", name_of(x.type), name_of(matrix.value)));
  return x;
}

template <class T>
Vector<T> ones(std::int64_t count) {
  Vector<T> out(Index{count});
  std::fill_n(out.mutable_data(), count, T{1});
  return out;
}

/// Reads what `inspect_x` has looked at. `memory`: what x and the reading of it may take.
template <int N, class T>
Array<N, T> read_x(const std::string& path, const Index<N>& extents, std::int64_t memory) {
  Array<N, T> x = io::read_npy<N, T>(path, {.convert = true, .memory = memory});
  if (x.shape() != extents) throw DataError(path + ": the file has changed since it was looked at");
  return x;
}

/// A compiled program over the rows, what its runs give, and where that goes.
template <class I, class T>
class Multiplication {
 public:
  /// `columns`: of the matrix, and so elements of each x; `vectors`: how many x there are; `memory`: what these, and the
  /// reading of them, may take.
  Multiplication(const SmvmOptions& options, const Seq<Vector<std::tuple<I, T>>>& rows, std::int64_t columns,
                 std::int64_t vectors, std::int64_t memory)
      : options_(options), vectors_(vectors) {
    if (!options.vectors.empty())
      many_.emplace(
          compile(smvm<I, T>(rows, use(read_x<2, T>(options.vectors, Index{columns, vectors}, memory)))));
    else
      one_.emplace(compile(smvm<I, T>(
          rows, use(options.vector.empty() ? ones<T>(columns)
                                           : read_x<1, T>(options.vector, Index{columns}, memory)))));
  }

  std::string explain() const { return many_ ? many_->explain() : one_->explain(); }
  void run(const RunOptions& options, RunReport* report) {
    y_ = Vector<T>();  // the result before makes room
    ys_ = Matrix<T>();
    if (one_) {
      y_ = one_->run(options, report);
      return;
    }
    ys_ = many_->run(options, report);
    if (ys_.extent(0) == 0) ys_ = Matrix<T>(Index{0, vectors_});  // no item has told how wide it is
  }
  void write() const {
    if (options_.out.empty()) return;
    many_ ? io::write_npy(options_.out, ys_) : io::write_npy(options_.out, y_);
  }

 private:
  const SmvmOptions& options_;
  std::int64_t vectors_;
  std::optional<Program<Acc<Vector<T>>>> one_;
  std::optional<Program<Acc<Matrix<T>>>> many_;
  Vector<T> y_;
  Matrix<T> ys_;
};

template <class I, class T>
void multiply(SmvmReport& report, Interrupt& interrupt) {
  const SmvmOptions& options = report.options;
  const Stopwatch watch;
  if (!options.vector.empty()) inspect_x(options.vector, 1, report);
  if (!options.vectors.empty()) report.vectors = inspect_x(options.vectors, 2, report).extents[1];
  const std::int64_t for_source = memory_for_source(report.header, report.vectors, sizeof(T), report.memory);
  const auto source = beside_x_and_y(for_source, report.memory, [&] {
    const Interrupt::AtOnce sorting_cannot_be_stopped(interrupt);
    return io::open_csr<I, T>(
        options.matrix,
        {.transpose = options.transpose, .memory = for_source, .threads = options.run.threads});
  });
  report.open_seconds = watch.seconds();
  report.nnz = source.info().work.value_or(0);  // known for every matrix that is open
  report.bytes = report.nnz * static_cast<std::int64_t>(sizeof(I) + sizeof(T)) +
                 (report.header.rows + 1) * (source.info().arrays[0].offsets == OffsetType::int32 ? 4 : 8);

  // y is not there yet.
  Multiplication<I, T> product(options, stream_in(source), report.header.cols, report.vectors,
                               report.memory - source.erased()->resident_bytes());
  if (options.explain) return print(product.explain());
  report.runs = beside_x_and_y(for_source, report.memory, [&] {
    return run_repeatedly(options.run, report.memory, interrupt,
                          [&](const RunOptions& run, RunReport* of) { product.run(run, of); });
  });
  product.write();
  if (report.header.format == io::MatrixFormat::matrix_market) report.unchecked.push_back(options.matrix);
  for (const std::string& x : {options.vector, options.vectors})
    if (!x.empty()) report.unchecked.push_back(x);
  report.total_seconds = watch.seconds();
  print(options.run.json ? to_json(report) : to_text(report));
}

void run_smvm(const SmvmOptions& options, Interrupt& interrupt) {
  check_input("MATRIX", options.matrix);
  check_input("--vector", options.vector);
  check_input("--vectors", options.vectors);
  check_outputs({{"the matrix", options.matrix},
                 {"the vector x", options.vector},
                 {"the matrix of vectors x", options.vectors}},
                {{"--out", options.out}, {"--trace", options.run.trace}, {"--report", options.run.report}});
  SmvmReport report;
  report.options = options;
  report.header = io::inspect_matrix(options.matrix);
  if (options.transpose) std::swap(report.header.rows, report.header.cols);
  report.memory = options.run.memory_bound();
  with_types_of(report.header, options.matrix,
                [&]<class I, class T>(std::type_identity<I>, std::type_identity<T>) {
                  multiply<I, T>(report, interrupt);
                });
}

}  // namespace

void add_smvm(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("smvm", "Multiply a sparse matrix by a vector, row by row as it streams by");
  auto given = std::make_shared<SmvmOptions>();
  sub->add_option("MATRIX", given->matrix,
                  ".npz (scipy.sparse.save_npz of a CSR matrix) or .mtx (Matrix Market)")
      ->required()
      ->option_text("FILE");
  CLI::Option* one = sub->add_option("--vector", given->vector,
                                     "x, an .npy vector with one element per column; default: all ones")
                         ->option_text("FILE");
  sub->add_option("--vectors", given->vectors,
                  "Several x, the columns of an .npy matrix; y has as many\n"
                  "The file is in C or Fortran order. MATRIX streams by once for all of them")
      ->option_text("FILE")
      ->excludes(one);
  sub->add_flag("--transpose", given->transpose,
                "Multiply the transposed matrix: x has one element per row\n"
                "Its entries are sorted on disk first")
      ->disable_flag_override();
  sub->add_option("--out", given->out, "Write y, as .npy")->option_text("FILE");
  const RunChoiceOptions run(*sub, "x, y, indices and chunks", "rows", given->explain);
  sub->footer(exit_statuses({{bad_data}, {no_backend}}));
  sub->callback([given, run, &chosen] {
    given->run = run.chosen({"--out"});
    check_extension("--out", given->out, {".npy"}, "y is written");
    chosen = [given](Interrupt& interrupt) {
      run_smvm(*given, interrupt);
      return done;
    };
  });
}

}  // namespace anabranch::apps
