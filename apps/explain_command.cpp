#include <array>
#include <cstdint>

#include <anabranch/io.h>

#include <fmt/format.h>

#include "commands.h"
#include "matrix_types.h"
#include "smvm.h"
#include "terminal.h"

namespace anabranch::apps {

namespace {

constexpr std::array<std::int32_t, 4> small_indptr{0, 2, 2, 5};
constexpr std::array<std::int32_t, 5> small_indices{0, 2, 0, 1, 2};
constexpr std::array<double, 5> small_values{1, 2, 3, 4, 5};

/// Traffic of an item, from the averages of the whole stream.
std::string bytes_per_item(const SourceInfo& info, std::size_t index, std::size_t value) {
  const auto items = static_cast<double>(info.items.value_or(0));
  if (items == 0) return "no items: no bytes\n";
  const double entries = static_cast<double>(info.work.value_or(0)) / items;
  const int offset = info.arrays[0].offsets == OffsetType::int32 ? 4 : 8;
  const double streamed = entries * static_cast<double>(index + value) + offset;
  return fmt::format(
      "estimated bytes per item, {:.1f} entries on average: {:.0f} streamed ({} a column, {} a value, {} an "
      "offset), "
      "{:.0f} gathered from x, {} written\n",
      entries, streamed, index, value, offset, entries * static_cast<double>(value), value);
}

template <class I, class T>
void explain(const Source<Vector<std::tuple<I, T>>>& source, std::int64_t cols, Explain form) {
  // Programs are not specialised to x: one element is as good as all.
  const Vector<T> x = Vector<T>(Index{std::min<std::int64_t>(cols, 1)});
  const auto program = compile(smvm<I, T>(stream_in(source), use(x)));
  if (form != Explain::text) return print(program.explain(form));
  print(fmt::format("smvm: y = A x over {}, {} columns and {} values\n\n{}\n{}", source.info().name,
                    name_of(detail::scalar_type<I>), name_of(detail::scalar_type<T>), program.explain(),
                    bytes_per_item(source.info(), sizeof(I), sizeof(T))));
}

}  // namespace

void explain_smvm_command(const std::string& matrix, Explain form) {
  if (matrix.empty()) return explain(io::csr_view(3, 3, small_indptr, small_indices, small_values), 3, form);
  const io::CsrHeader header = io::inspect_matrix(matrix);
  with_types_of(header, matrix, [&]<class I, class T>(std::type_identity<I>, std::type_identity<T>) {
    explain(io::open_csr<I, T>(matrix), header.cols, form);
  });
}

}  // namespace anabranch::apps
