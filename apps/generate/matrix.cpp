#include "apps/generate/matrix.h"

#include <algorithm>
#include <utility>

#include <anabranch/io.h>

#include "apps/common/check_stop.h"
#include "apps/generate/rows.h"

namespace anabranch::apps {

namespace {

constexpr std::size_t batch_entries = 128 << 10;
constexpr std::size_t batch_rows = 64 << 10;

template <class I, class T>
GeneratedMatrix write(RowGenerator& generator, const std::string& path, const std::stop_token& stop) {
  const std::int64_t rows = generator.rows();
  io::CsrWriter writer(path, rows, detail::scalar_type<I>, detail::scalar_type<T>);
  std::vector<std::int64_t> lengths;
  std::vector<I> columns;
  std::vector<T> values;
  Row row;
  for (std::int64_t i = 0; i < rows; ++i) {
    generator.next(row);
    lengths.push_back(static_cast<std::int64_t>(row.columns.size()));
    for (std::int64_t c : row.columns) columns.push_back(static_cast<I>(c));
    for (double v : row.values) values.push_back(static_cast<T>(v));
    if (i + 1 < rows && columns.size() < batch_entries && lengths.size() < batch_rows) continue;
    writer.append<I, T>(lengths, columns, values);
    lengths.clear();
    columns.clear();
    values.clear();
    check_stop(stop);
  }
  writer.finish(stop);
  writer.commit();
  return {rows, rows, writer.nnz()};
}

}  // namespace

std::optional<MatrixKind> matrix_kind(std::string_view name) {
  for (const auto& [known, kind] :
       {std::pair<std::string_view, MatrixKind>{"laplacian2d", MatrixKind::laplacian2d},
        {"laplacian3d", MatrixKind::laplacian3d},
        {"banded", MatrixKind::banded},
        {"powerlaw", MatrixKind::powerlaw},
        {"rmat", MatrixKind::rmat}})
    if (name == known) return kind;
  return std::nullopt;
}

bool is_random(MatrixKind kind) { return kind != MatrixKind::laplacian2d && kind != MatrixKind::laplacian3d; }

GeneratedMatrix generate_matrix(MatrixKind kind, const GenerateOptions& options, const std::string& path) {
  const auto generator = row_generator(kind, options);
  const bool fits = std::max(generator->most_entries(), generator->rows()) <= INT32_MAX;
  const ScalarType index = options.index.value_or(fits ? ScalarType::int32 : ScalarType::int64);
  if (index == ScalarType::int32 && !fits)
    throw RunError("generate: this matrix is too large for int32 indices");
  if (index != ScalarType::int32 && index != ScalarType::int64)
    throw RunError(std::string("generate: ") + name_of(index) + " cannot be an index");
  if (options.value != ScalarType::float64 && options.value != ScalarType::float32)
    throw RunError(std::string("generate: values are float or double, not ") + name_of(options.value));
  const bool wide = index == ScalarType::int64;
  if (options.value == ScalarType::float64)
    return wide ? write<std::int64_t, double>(*generator, path, options.stop)
                : write<std::int32_t, double>(*generator, path, options.stop);
  return wide ? write<std::int64_t, float>(*generator, path, options.stop)
              : write<std::int32_t, float>(*generator, path, options.stop);
}

}  // namespace anabranch::apps
