#pragma once

#include "tests/cuda/support/scan.h"

/// What the tests of scans build their kernels from.
namespace anabranch::test {

using ir::Primitive;
using Write = kernel::KernelOutput::Write;

inline ir::Ref binary(Primitive op, const ir::Ref& x, const ir::Ref& y) { return ir::primitive(op, {x, y}); }

inline kernel::Layout layout_of(kernel::Form form, std::vector<kernel::KernelExtent> extents = {},
                                int offsets = -1) {
  kernel::Layout out;
  out.form = form;
  out.extents = std::move(extents);
  out.offsets = offsets;
  return out;
}

inline std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& row_lengths,
                                            std::int64_t first) {
  std::vector<std::int64_t> offsets{first};
  for (const auto n : row_lengths) offsets.push_back(offsets.back() + n);
  return offsets;
}

/// The outputs that `result` names, of all components, for rows that lie as `prefixes` does.
inline void add_outputs(ScanBuilder& k, ScanResult result, const kernel::Layout& prefixes,
                        std::int64_t elements, std::int64_t positions, const ir::Scalars& types) {
  k.scan().kind.prefixes = prefixes_of(result);
  if (has_prefixes(result)) k.output(Write::element, prefixes, 0, types, elements);
  if (has_totals(result)) k.output(Write::position, k.kernel().domain, 0, types, positions);
}

/// One row per item, of an array with one component of each type. `fill` gives its first buffer; operator and
/// seed are the caller's.
inline ScanBuilder ragged_rows(const std::vector<std::int64_t>& row_lengths, const ir::Scalars& types,
                               ScanResult result, const std::function<int(ScanBuilder&, std::size_t)>& fill) {
  const auto rows = static_cast<std::int64_t>(row_lengths.size());
  ScanBuilder k(true, rows);
  KernelBuilder& b = k.builder();
  std::vector<std::int64_t> longer = row_lengths;
  for (auto& n : longer) n += one_more(result);
  const std::vector<std::int64_t> offsets = offsets_of(row_lengths, first_element),
                                  to = offsets_of(longer, 3);
  const int off = b.buffer(offsets);
  const int values = fill(k, static_cast<std::size_t>(offsets.back()));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref v = b.array(kernel::Form::segmented, types, {length}, values, off);
  k.rows(layout_of(kernel::Form::regular), length, types);
  k.scan().row.work_offsets = off;
  const ir::Ref element = ir::index(v, k.r(), {}, true);
  for (std::size_t c = 0; c < types.size(); ++c)
    k.kernel().body.push_back(types.size() == 1 ? element : ir::project(element, static_cast<int>(c), 1));
  const int to_offsets = b.buffer(to);
  const auto of_row = one_more(result) ? KernelBuilder::ragged_extent(to_offsets) : length;
  add_outputs(k, result, layout_of(kernel::Form::segmented, {of_row}, to_offsets), to.back(), rows, types);
  return k;
}

template <class T>
ScanBuilder rows_scanned(const std::vector<std::int64_t>& row_lengths, Primitive op, bool seeded,
                         ScanResult result) {
  auto k =
      ragged_rows(row_lengths, {anabranch::detail::scalar_type<T>}, result,
                  [](ScanBuilder& b, std::size_t n) { return b.builder().buffer(random_values<T>(n, 3)); });
  k.reduction().combine = {binary(op, k.reduction().left[0], k.reduction().right[0])};
  if (seeded) k.reduction().seed = {ir::literal(T(3))};
  return k;
}

/// Rows of a dense array of this outer shape, of which there is one for each of three items, or one alone.
inline ScanBuilder dense_scan(bool over_items, const std::vector<std::int64_t>& shape, std::int64_t n,
                              ScanResult result, bool constant = false,
                              std::optional<int> axis = std::nullopt) {
  const std::int64_t items = over_items ? 3 : 1;
  ScanBuilder k(over_items, items);
  KernelBuilder& b = k.builder();
  std::int64_t rows = items;
  for (const auto e : shape) rows *= e;
  std::vector<kernel::KernelExtent> outer;
  for (const auto e : shape) outer.push_back(b.uniform_extent(e));
  auto all = outer;
  const auto at = static_cast<std::ptrdiff_t>(axis ? static_cast<std::size_t>(*axis) : shape.size());
  const auto length = constant ? constant_extent(n) : b.uniform_extent(n);
  all.insert(all.begin() + at, length);
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const ir::Ref v = b.array(form, {ScalarType::float32}, all,
                            b.buffer(random_values<float>(static_cast<std::size_t>(rows * n), 4)));
  k.rows(layout_of(form, outer), length, {ScalarType::float32});
  k.scan().axis = axis;
  std::vector<ir::Ref> ix = k.kernel().index;
  ix.insert(ix.begin() + at, k.r());
  k.kernel().body = {binary(Primitive::multiply,
                            ir::index(v, ix.size() == 1 ? ix[0] : ir::tuple(ix), {}, n % 2 == 0),
                            ir::literal(1.1f))};
  k.reduction().combine = {binary(Primitive::add, k.reduction().left[0], k.reduction().right[0])};
  k.reduction().seed = {ir::literal(0.25f)};
  if (one_more(result))
    all[static_cast<std::size_t>(at)] = constant ? constant_extent(n + 1) : b.uniform_extent(n + 1);
  add_outputs(k, result, layout_of(form, all), rows * (n + one_more(result)), rows, {ScalarType::float32});
  return k;
}

}  // namespace anabranch::test
