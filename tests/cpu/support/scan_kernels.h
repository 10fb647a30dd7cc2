#pragma once

#include <numeric>

#include "ir/print.h"
#include "tests/cpu/support/fold_kernels.h"

/// What the tests of scans on the CPU and in CUDA's text build their kernels from.
namespace anabranch::test {

/// Around the borders of groups and blocks.
inline const std::vector<std::int64_t> scan_lengths{0,    1,  2,   31,  32,  33,   63,   64,   65,   8,
                                                    9,    16, 17,  0,   100, 4095, 4096, 4097, 8193, 0,
                                                    4128, 96, 128, 129, 3,   5,    24,   7,    16500};

enum class Results : std::uint8_t { elements, totals, both };

struct ScanOptions {
  bool seeded = true;
  kernel::ScanKind kind;
  Results results = Results::elements;

  /// Elements that rows of so many have in an output.
  std::int64_t of_row(std::int64_t length) const {
    return length + (kind.prefixes == kernel::Prefixes::all ? 1 : 0);
  }
};

inline std::string described(const ScanOptions& options) {
  const char* results[] = {"elements", "totals", "both"};
  return ir::to_string(options.kind) + (options.seeded ? ", seeded, " : ", no seed, ") +
         results[static_cast<int>(options.results)];
}

/// All there are: prefixes but inclusive ones need a seed, and so do totals.
inline std::vector<ScanOptions> all_scan_options() {
  using kernel::Prefixes;
  std::vector<ScanOptions> out;
  for (const bool from_right : {false, true}) {
    out.push_back({false, {Prefixes::inclusive, from_right}, Results::elements});
    for (const Prefixes prefixes : {Prefixes::inclusive, Prefixes::exclusive, Prefixes::all})
      for (const Results results : {Results::both, Results::elements, Results::totals})
        out.push_back({true, {prefixes, from_right}, results});
  }
  return out;
}

/// Half of them, for what is dear to test: of each kind and direction one with both results, and some with one.
inline std::vector<ScanOptions> some_scan_options() {
  std::vector<ScanOptions> out;
  for (const ScanOptions& options : all_scan_options()) {
    const bool exclusive = options.kind.prefixes == kernel::Prefixes::exclusive;
    const Results alone = options.kind.from_right ? Results::elements : Results::totals;
    if (!options.seeded || options.results == Results::both || (exclusive && options.results == alone))
      out.push_back(options);
  }
  return out;
}

/// The element outputs that the options ask for, of all components, and the domain's own if there are totals.
/// The kernel has its domain, from KernelBuilder::output, and its rows.
inline void add_scan_outputs(KernelBuilder& k, const ScanOptions& options, kernel::Form form,
                             const kernel::KernelExtent& of_row, std::int64_t elements, int offsets = -1,
                             OffsetType offset_type = OffsetType::int64) {
  auto& kernel = k.kernel();
  const auto types = kernel.outputs.at(0).array.type.scalars;
  if (options.results == Results::elements) kernel.outputs.clear();
  if (options.results != Results::totals)
    k.output_elements(form, types, 0, elements, offsets, offset_type,
                      options.of_row(0) > 0 ? of_row : row_in(kernel).length);
  scan_in(kernel).kind = options.kind;
  if (!options.seeded) reduction_in(kernel).seed.clear();
}

/// Rows of these lengths with one element of each of these types at every place, one row an item: what
/// `columns` gives for so many elements. Operator and seed are still to come.
struct ScannedRows {
  KernelBuilder k;
  std::vector<ir::Ref> element;  ///< per array: its element in the row
  std::vector<ir::Ref> left, right;
  int offsets = -1;
  std::int64_t elements = 0;  ///< where the last row ends
  std::vector<std::int64_t> begins;
};

template <class... T>
ScannedRows scanned_rows(const std::vector<std::int64_t>& row_lengths, bool narrow_offsets = false) {
  std::vector<std::int64_t> offsets{first_element};
  for (const auto n : row_lengths) offsets.push_back(offsets.back() + n);
  const auto rows = static_cast<std::int64_t>(row_lengths.size());
  ScannedRows out{KernelBuilder(kernel::Scan{}, true, rows), {}, {}, {}, -1, offsets.back(), offsets};
  KernelBuilder& k = out.k;
  const OffsetType type = narrow_offsets ? OffsetType::int32 : OffsetType::int64;
  out.offsets = narrow_offsets ? k.buffer(std::vector<std::int32_t>(offsets.begin(), offsets.end()))
                               : k.buffer(offsets);
  const auto length = KernelBuilder::ragged_extent(out.offsets, type);
  std::vector<ir::Ref> arrays;
  unsigned seed = 3;
  const auto add = [&]<class S>(S) {
    const int values = k.buffer(random_values<S>(static_cast<std::size_t>(offsets.back()), seed++));
    arrays.push_back(k.array(kernel::Form::segmented, {anabranch::detail::scalar_type<S>}, {length}, values,
                             out.offsets, type));
  };
  (add(T{}), ...);
  k.output(kernel::Form::regular, {anabranch::detail::scalar_type<T>...}, {}, rows);
  auto& kernel = k.kernel();
  for (const ir::Ref& array : arrays) out.element.push_back(ir::index(array, row_in(kernel).index, {}, true));
  kernel.body = out.element;
  row_in(kernel).length = length;
  row_in(kernel).work_offsets = out.offsets;
  row_in(kernel).work_offset_type = type;
  out.left = reduction_in(kernel).left;
  out.right = reduction_in(kernel).right;
  return out;
}

inline void add_scan_outputs(ScannedRows& rows, const ScanOptions& options) {
  const OffsetType type = row_in(rows.k.kernel()).work_offset_type;
  int offsets = rows.offsets;
  if (options.of_row(0) > 0) {
    std::vector<std::int64_t> longer = rows.begins;
    for (std::size_t row = 0; row < longer.size(); ++row) longer[row] += static_cast<std::int64_t>(row);
    offsets = type == OffsetType::int32
                  ? rows.k.buffer(std::vector<std::int32_t>(longer.begin(), longer.end()))
                  : rows.k.buffer(longer);
  }
  const auto items = static_cast<std::int64_t>(rows.begins.size()) - 1;
  add_scan_outputs(rows.k, options, kernel::Form::segmented, KernelBuilder::ragged_extent(offsets, type),
                   rows.elements + items * options.of_row(0), offsets, type);
}

/// Rows of one array's elements by a primitive.
template <class T>
KernelBuilder scan_of(const std::vector<std::int64_t>& row_lengths, ir::Primitive op,
                      const ScanOptions& options) {
  ScannedRows rows = scanned_rows<T>(row_lengths);
  auto& reduction = reduction_in(rows.k.kernel());
  reduction.combine = {ir::primitive(op, {rows.left[0], rows.right[0]})};
  reduction.seed = {ir::literal(T(3))};
  add_scan_outputs(rows, options);
  return std::move(rows.k);
}

/// Affine maps, (a, b) o (c, d) = (a c, b c + d): associative but for rounding, and not commutative.
inline KernelBuilder scan_of_affine_maps(const std::vector<std::int64_t>& row_lengths,
                                         const ScanOptions& options) {
  ScannedRows rows = scanned_rows<double, double>(row_lengths);
  auto& kernel = rows.k.kernel();
  // Factors that keep products within bounds.
  const auto scaled = [](const ir::Ref& x, double by, double and_add) {
    return ir::primitive(ir::Primitive::add, {ir::primitive(ir::Primitive::multiply, {x, ir::literal(by)}),
                                              ir::literal(and_add)});
  };
  kernel.body = {scaled(rows.element[0], 1e-8, 0.999), rows.element[1]};
  const auto times = [](const ir::Ref& x, const ir::Ref& y) {
    return ir::primitive(ir::Primitive::multiply, {x, y});
  };
  auto& reduction = reduction_in(kernel);
  reduction.combine = {
      times(rows.left[0], rows.right[0]),
      ir::primitive(ir::Primitive::add, {times(rows.left[1], rows.right[0]), rows.right[1]})};
  reduction.seed = {ir::literal(1.0), ir::literal(0.5)};
  add_scan_outputs(rows, options);
  return std::move(rows.k);
}

/// The largest value so far and the first element that has it.
inline KernelBuilder scan_of_maxima_with_places(const std::vector<std::int64_t>& row_lengths,
                                                const ScanOptions& options) {
  ScannedRows rows = scanned_rows<std::int32_t, std::int64_t>(row_lengths);
  auto& kernel = rows.k.kernel();
  kernel.body = {ir::primitive(ir::Primitive::remainder, {rows.element[0], ir::literal(std::int32_t{100})}),
                 row_in(kernel).index};
  auto& reduction = reduction_in(kernel);
  const ir::Ref later = ir::primitive(ir::Primitive::less, {rows.left[0], rows.right[0]});
  for (std::size_t c = 0; c < 2; ++c)
    reduction.combine.push_back(ir::cond(later, rows.right[c], rows.left[c]));
  reduction.seed = {ir::literal(std::int32_t{-200}), ir::literal(std::int64_t{-1})};
  add_scan_outputs(rows, options);
  return std::move(rows.k);
}

/// Rows of n elements of a dense array of this outer shape, one for each of three items or one alone.
inline KernelBuilder dense_scan(bool over_items, const std::vector<std::int64_t>& shape, std::int64_t n,
                                const ScanOptions& options) {
  const std::int64_t items = over_items ? 3 : 1;
  KernelBuilder k(kernel::Scan{}, over_items, items);
  std::int64_t rows = items;
  for (const auto e : shape) rows *= e;
  const int val = k.buffer(random_values<float>(static_cast<std::size_t>(rows * n), 4));
  std::vector<kernel::KernelExtent> outer;
  for (const auto e : shape) outer.push_back(k.uniform_extent(e));
  auto all = outer;
  all.push_back(k.uniform_extent(n));
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const ir::Ref v = k.array(form, {ScalarType::float32}, all, val);
  k.output(form, {ScalarType::float32}, outer, rows);
  auto& kernel = k.kernel();
  std::vector<ir::Ref> ix = kernel.index;
  ix.push_back(row_in(kernel).index);
  const ir::Ref at = ix.size() == 1 ? ix[0] : ir::tuple(ix);
  kernel.body = {
      ir::primitive(ir::Primitive::multiply, {ir::index(v, at, {}, n % 2 == 0), ir::literal(1.1f)})};
  row_in(kernel).length = all.back();
  auto& reduction = reduction_in(kernel);
  reduction.combine = {ir::primitive(ir::Primitive::add, {reduction.left[0], reduction.right[0]})};
  reduction.seed = {ir::literal(0.5f)};
  add_scan_outputs(k, options, form, k.uniform_extent(options.of_row(n)), rows * options.of_row(n));
  return k;
}

/// Rows of n elements along dimension `axis` of such an array, not its innermost; by an operator that may fail, or that
/// may not.
inline KernelBuilder scan_across(bool over_items, const std::vector<std::int64_t>& shape, int axis,
                                 std::int64_t n, const ScanOptions& options, bool may_fail = false) {
  const std::int64_t items = over_items ? 3 : 1;
  KernelBuilder k(kernel::Scan{}, over_items, items);
  std::int64_t rows = items;
  std::vector<kernel::KernelExtent> others;
  for (const auto e : shape) {
    rows *= e;
    others.push_back(k.uniform_extent(e));
  }
  const auto type = may_fail ? ScalarType::int32 : ScalarType::float32;
  const auto size = static_cast<std::size_t>(rows * n);
  const int values =
      may_fail ? k.buffer(random_values<std::int32_t>(size, 4)) : k.buffer(random_values<float>(size, 4));
  auto all = others;
  all.insert(all.begin() + axis, k.uniform_extent(n));
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const ir::Ref v = k.array(form, {type}, all, values);
  k.output(form, {type}, others, rows);
  auto& kernel = k.kernel();
  std::vector<ir::Ref> ix = kernel.index;
  ix.insert(ix.begin() + axis, row_in(kernel).index);
  kernel.body = {ir::index(v, ir::tuple(ix), {}, true)};
  row_in(kernel).length = all[static_cast<std::size_t>(axis)];
  scan_in(kernel).axis = axis;
  auto& reduction = reduction_in(kernel);
  const ir::Ref &x = reduction.left[0], &y = reduction.right[0];
  if (may_fail) {
    const ir::Ref odd = ir::primitive(ir::Primitive::bit_or, {y, ir::literal(std::int32_t{1})});
    reduction.combine = {
        ir::primitive(ir::Primitive::remainder, {ir::primitive(ir::Primitive::subtract, {x, y}), odd})};
    reduction.seed = {ir::literal(std::int32_t{7})};
  } else {
    // A seed of its own for each row; each order of joining gives other bits.
    reduction.combine = {ir::primitive(ir::Primitive::subtract,
                                       {x, ir::primitive(ir::Primitive::multiply, {y, ir::literal(0.75f)})})};
    reduction.seed = {ir::cast(ScalarType::float32, kernel.index.back())};
  }
  add_scan_outputs(k, options, form, k.uniform_extent(options.of_row(n)), rows * options.of_row(n));
  return k;
}

/// Every item has a matrix of extents of its own, and a seed.
inline KernelBuilder scan_of_ragged_matrices(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& extents, const ScanOptions& options,
    bool across = false) {
  const auto items = static_cast<std::int64_t>(extents.size());
  KernelBuilder k(kernel::Scan{}, true, items);
  // Rows lie across where `across`, in matrices of as many columns.
  std::vector<std::int64_t> heights, widths, rows{2}, elements{first_element};
  for (const auto& [height, width] : extents) {
    heights.push_back(height);
    widths.push_back(width);
    rows.push_back(rows.back() + height);
    elements.push_back(elements.back() + height * width);
  }
  const int of_rows = k.buffer(rows), of_elements = k.buffer(elements);
  const auto height = k.per_item_extent(heights), width = k.per_item_extent(widths);
  const int values = k.buffer(random_values<double>(static_cast<std::size_t>(elements.back()), 6));
  const int seeds = k.buffer(random_values<double>(static_cast<std::size_t>(items), 7));
  const ir::Ref v =
      k.array(kernel::Form::segmented, {ScalarType::float64},
              across ? std::vector{width, height} : std::vector{height, width}, values, of_elements);
  const ir::Ref z = k.array(kernel::Form::regular, {ScalarType::float64}, {}, seeds);
  k.output(kernel::Form::segmented, {ScalarType::float64}, {height}, rows.back(), of_rows);
  auto& kernel = k.kernel();
  const ir::Ref &position = kernel.index[0], &element = row_in(kernel).index;
  kernel.body = {
      ir::index(v, across ? ir::tuple({element, position}) : ir::tuple({position, element}), {}, true)};
  row_in(kernel).length = width;
  if (across) scan_in(kernel).axis = 0;
  auto& reduction = reduction_in(kernel);
  reduction.combine = {ir::primitive(ir::Primitive::add, {reduction.left[0], reduction.right[0]})};
  reduction.seed = {ir::index(z, ir::tuple({}), {}, true)};
  std::vector<std::int64_t> of_row, to{first_element};
  for (const auto& [rows_of_item, length] : extents) {
    of_row.push_back(options.of_row(length));
    to.push_back(to.back() + rows_of_item * of_row.back());
  }
  add_scan_outputs(k, options, kernel::Form::segmented, k.per_item_extent(of_row), to.back(), k.buffer(to));
  return k;
}

}  // namespace anabranch::test
