#include "cpu/pieces.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/executor.h"
#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/recurrence_kernels.h"
#include "tests/cpu/support/scan_kernels.h"

/// How work is cut into tasks, for few threads and for many.
using namespace anabranch;
using namespace anabranch::test;

namespace {

constexpr ScalarType float32 = ScalarType::float32;

cpu::Cut cut_of(KernelBuilder& k, const cpu::Bindings& bindings) {
  return cpu::cut(k.kernel(), cpu::cut_facts_of(k.kernel()), bindings, 0);
}

/// A kernel over little memory, and extents that take its place when it is cut: nothing is read then.
struct Large {
  KernelBuilder k;
  std::vector<std::int64_t> scalars;  ///< the first of those that the kernel has

  cpu::Bindings bindings(int threads) {
    std::ranges::copy(k.scalars().begin() + std::ssize(scalars), k.scalars().end(),
                      std::back_inserter(scalars));
    cpu::Bindings out = k.bindings();
    out.scalars = scalars;
    out.threads = threads;
    return out;
  }
};

void sum_up(kernel::Kernel& kernel) {
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(ir::Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
  reduction_in(kernel).seed = {ir::literal(0.0f)};
}

Large elements(std::int64_t n, int operations = 1) {
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(1);
  const ir::Ref a =
      k.array(kernel::Form::avoided, {float32}, {extent}, k.buffer(std::vector<float>(1, 2.0f)));
  k.output(kernel::Form::avoided, {float32}, {extent}, 1);
  k.kernel().body = {ir::index(a, k.kernel().index[0], {}, true)};
  k.kernel().operations = operations;
  return {std::move(k), {n}};
}

KernelBuilder transposed(std::int64_t height, std::int64_t width) {
  KernelBuilder k(kernel::Map{});
  const auto rows = k.uniform_extent(height), columns = k.uniform_extent(width);
  const int values = k.buffer(random_values<float>(static_cast<std::size_t>(height * width), 2));
  const ir::Ref a = k.array(kernel::Form::avoided, {float32}, {columns, rows}, values);
  k.output(kernel::Form::avoided, {float32}, {rows, columns}, height * width);
  k.kernel().body = {ir::index(a, ir::tuple({k.kernel().index[1], k.kernel().index[0]}), {}, true)};
  return k;
}

/// Sums along the middle one of three dimensions.
KernelBuilder sums_across(std::int64_t outer, std::int64_t columns, std::int64_t length) {
  KernelBuilder k(kernel::Reduce{});
  const auto of_outer = k.uniform_extent(outer), of_columns = k.uniform_extent(columns),
             of_rows = k.uniform_extent(length);
  const int values = k.buffer(random_values<float>(static_cast<std::size_t>(outer * columns * length), 3));
  const ir::Ref a = k.array(kernel::Form::avoided, {float32}, {of_outer, of_rows, of_columns}, values);
  k.output(kernel::Form::avoided, {float32}, {of_outer, of_columns}, outer * columns);
  auto& kernel = k.kernel();
  kernel.body = {ir::index(a, ir::tuple({kernel.index[0], row_in(kernel).index, kernel.index[1]}), {}, true)};
  row_in(kernel).length = of_rows;
  sum_up(kernel);
  return k;
}

KernelBuilder sums_of_items(const std::vector<std::int64_t>& lengths) {
  const std::int64_t items = std::ssize(lengths);
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  KernelBuilder k(kernel::Reduce{}, true, items);
  const int off = k.buffer(offsets);
  const auto of_item = KernelBuilder::ragged_extent(off);
  const ir::Ref a =
      k.array(kernel::Form::segmented, {float32}, {of_item}, k.buffer(std::vector<float>(1)), off);
  k.output(kernel::Form::regular, {float32}, {}, items);
  auto& kernel = k.kernel();
  kernel.body = {ir::index(a, row_in(kernel).index, {}, true)};
  row_in(kernel).length = of_item;
  row_in(kernel).work_offsets = off;
  sum_up(kernel);
  return k;
}

KernelBuilder sums_of_items(std::int64_t items, std::int64_t length) {
  return sums_of_items(std::vector<std::int64_t>(static_cast<std::size_t>(items), length));
}

/// Two rows of two of this kernel are so many of such a length.
Large rows(std::int64_t count, std::int64_t length) { return {dense_rows(false, {2}, 2), {count, length}}; }
Large scans(std::int64_t count, std::int64_t length) {
  return {dense_scan(false, {2}, 2, {}), {count, length}};
}
Large scans_across(std::int64_t columns, std::int64_t length) {
  return {scan_across(false, {4}, 0, 2, {}), {columns, length}};
}
Large columns(std::int64_t count, std::int64_t length) { return {sums_across(1, 2, 2), {1, count, length}}; }
Large product(std::int64_t n) {
  KernelBuilder k = products<float>(false, 2, 2, 2);
  k.kernel().operations = 2;
  return {std::move(k), {n, n, n}};
}
Large states(std::int64_t count, std::int64_t length) {
  return {states_of_matrices<float>(2, 2, false, 1), {count, length}};
}

/// Says where tasks leave out something, or do it twice; empty: nowhere.
std::string not_once(const cpu::Cut& cut, std::int64_t positions) {
  std::int64_t next = 0, blocks = 0;  // of the long row that is being done, or of none
  int row = -1;
  const auto end_row = [&] {
    if (row < 0) return true;
    const cpu::LongRow& done = cut.long_rows[static_cast<std::size_t>(row)];
    next += done.rows;
    row = -1;
    return std::exchange(blocks, 0) == done.blocks;
  };
  for (std::int64_t task = 0; task < cut.tasks; ++task) {
    const cpu::Piece p = cut.of_task(task);
    const std::string where = "task " + std::to_string(task);
    if (p.begin >= p.end) return where + " has nothing to do";
    if (p.long_row != row && !end_row()) return where + " comes before the end of a long row";
    if (p.long_row < 0) {
      if (p.begin != next) return where + " begins elsewhere";
      next = p.end;
      continue;
    }
    row = p.long_row;
    if (cut.long_rows[static_cast<std::size_t>(row)].row != next) return where + " is of another row";
    if (p.begin != blocks) return where + " begins at another block";
    blocks = p.end;
  }
  if (!end_row() || next != positions) return "not all is done";
  return "";
}

/// The same pieces and long rows, in the same order.
bool are_equal(const cpu::Cut& a, const cpu::Cut& b) {
  const auto piece = [](const cpu::Piece& p) {
    return std::tuple(p.begin, p.end, p.item, p.long_row, p.first_task);
  };
  const auto row = [](const cpu::LongRow& r) {
    return std::tuple(r.row, r.item, r.blocks, r.first_partial, r.rows);
  };
  return std::ranges::equal(a.pieces, b.pieces, {}, piece, piece) &&
         std::ranges::equal(a.long_rows, b.long_rows, {}, row, row) && a.tasks == b.tasks &&
         a.partials == b.partials && a.blocks_of_a_task == b.blocks_of_a_task;
}

void last_first(std::int64_t n, const std::function<void(std::int64_t)>& piece) {
  while (n > 0) piece(--n);
}

cpu::ParallelFor by(scheduler::Executor& executor) {
  return [&](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
    executor.parallel_for(n, [&](std::int64_t i) { piece(i); });
  };
}

constexpr int many = 64;

}  // namespace

TEST_CASE("tasks: as many as many threads need, where each is worth one") {
  struct Row {
    const char* name;
    Large of;
    std::int64_t few;        ///< tasks of 1 and 2 threads: what is measured is of so many
    std::int64_t of_64 = 0;  ///< at least; 0: as many as of few
    std::int64_t of_192 = 0;
  };
  std::vector<Row> table;
  const auto add = [&](const char* name, Large of, std::int64_t few, std::int64_t of_64 = 0,
                       std::int64_t of_192 = 0) {
    table.push_back({name, std::move(of), few, of_64, of_192});
  };
  add("10,000 elements", elements(10'000), 2);
  add("130,000 elements", elements(130'000), 16);
  add("1 M elements", elements(1'000'000), 17, 120, 120);
  add("4 M elements", elements(4'000'000), 62, 250, 480);
  add("100 M elements", elements(100'000'000), 1526);
  add("1,000 elements that take long", elements(1000, 100'000), 16);
  add("100,000 elements that take longer", elements(100'000, 100), 20, 150, 150);
  add("1 M transposed", {transposed(2, 2), {1000, 1000}}, 16, 120, 120);
  add("100 M transposed", {transposed(2, 2), {10'000, 10'000}}, 157, 256, 768);
  add("sum of 100,000", rows(1, 100'000), 13);
  add("sum of 1 M", rows(1, 1'000'000), 17, 120, 120);
  add("sum of 10 M", rows(1, 10'000'000), 153, 256, 768);
  add("sums of 100 rows of 20,000", rows(100, 20'000), 34, 100, 192);
  add("sums of 10,000 rows of 100", rows(10'000, 100), 16, 120, 120);
  add("sums of 100,000 items of 10", {sums_of_items(100'000, 10), {}}, 22, 160, 160);
  add("scan of 100,000", scans(1, 100'000), 12);
  add("scan of 1 M", scans(1, 1'000'000), 17, 31, 31);
  add("scan of 10 M", scans(1, 10'000'000), 153, 256, 300);
  add("scans of 100 rows of 20,000", scans(100, 20'000), 34, 100, 100);
  add("5,000 columns of 1,000", columns(5000, 1000), 40, 79, 79);
  add("2,048 columns of 10,000", columns(2048, 10'000), 32, 96, 96);
  add("5,000 columns of 10,000", columns(5000, 10'000), 79, 200, 200);
  add("product of 64 x 64", product(64), 16);
  add("product of 512 x 512", product(512), 32, 128, 128);
  add("product of 1,024 x 1,024", product(1024), 64, 128, 256);
  add("product of 2,048 x 2,048", product(2048), 128, 128, 384);
  add("scan of 5,000 columns", scans_across(5000, 1000), 8, 40, 40);
  add("scan of 50,000 columns", scans_across(50'000, 1000), 49, 100, 192);
  add("states of 1,000 rows", states(1000, 1000), 16, 63, 63);
  for (Row& row : table) {
    for (const int threads : {1, 2, 3, 4, 64, 192}) {
      INFO(row.name << ", " << threads << " threads");
      const cpu::Bindings bindings = row.of.bindings(threads);
      const cpu::Cut cut = cut_of(row.of.k, bindings);
      CHECK(not_once(cut, cpu::domain_size(row.of.k.kernel(), bindings)) == "");
      const std::int64_t least = threads == 64 ? row.of_64 : row.of_192;
      if (threads <= 4 || least == 0)
        CHECK(cut.tasks == row.few);
      else
        CHECK(cut.tasks >= least);
      CHECK(cut.tasks <= std::max<std::int64_t>(row.few, std::int64_t{8} * threads));
    }
  }
}

TEST_CASE("borders of items are the same whoever looks for them") {
  const auto executor = scheduler::make_plain_executor(4);
  std::vector<std::int64_t> lengths(300'000);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i * 7919 % 31);
  const auto check = [&](const char* name) {
    INFO(name);
    KernelBuilder k = sums_of_items(lengths);
    for (const int threads : {1, 4, 64, 192}) {
      INFO(threads << " threads");
      cpu::Bindings bindings = k.bindings();
      bindings.threads = threads;
      const auto cut = [&](const cpu::ParallelFor& parallel_for) {
        return cpu::cut(k.kernel(), cpu::cut_facts_of(k.kernel()), bindings, 0, parallel_for);
      };
      const cpu::Cut expected = cut(cpu::one_by_one);
      CHECK(not_once(expected, std::ssize(lengths)) == "");
      CHECK(expected.pieces.size() > 80);  // for many threads of several sections
      std::int64_t partials = 0;
      for (const cpu::LongRow& row : expected.long_rows) {
        CHECK(row.first_partial == partials);
        partials += row.blocks;
      }
      CHECK(expected.partials == partials);
      CHECK(are_equal(cut(last_first), expected));
      CHECK(are_equal(cut(by(*executor)), expected));
    }
  };
  check("short items");
  for (std::size_t i = 20'000; i < lengths.size(); i += 50'000) lengths[i] = 200'000;
  std::fill_n(lengths.begin() + 120'000, 10, 100'000);
  check("and long ones");
  lengths[150'000] = 10'000'000;  // several sections
  check("and one that is longer than most others together");
  lengths.front() = lengths.back() = 1'000'000;
  check("and the first and the last are long");
}

TEST_CASE("no task is shorter than is worth one, for however many threads") {
  for (const int threads : {64, 192, 4096}) {
    INFO(threads << " threads");
    for (const int operations : {1, 10, 100, 1000}) {
      constexpr std::int64_t count = 10'000'000;
      Large of = elements(count, operations);
      const std::int64_t tasks = cut_of(of.k, of.bindings(threads)).tasks;
      INFO(operations << " operations, " << tasks << " tasks");
      // Some 3 microseconds.
      CHECK(count / tasks * operations >= (operations == 1 ? 8000 : 60'000));
    }
    Large scan = scans(1, 10'000'000);
    CHECK(cut_of(scan.k, scan.bindings(threads)).blocks_of_a_task >= 8);
    Large right = product(4096);
    CHECK(cut_of(right.k, right.bindings(threads)).tasks <= 4096 / 4);
  }
}

TEST_CASE("tiles for many threads are rows of whole lines where there are enough") {
  for (const int threads : {64, 192})
    for (const std::int64_t n : {1000, 5000, 10'000}) {
      Large turned{transposed(2, 2), {n, n}};
      std::int64_t broken = 0;
      for (const cpu::Piece& p : cut_of(turned.k, turned.bindings(threads)).pieces)
        if (p.begin % (8 * n) != 0) ++broken;
      INFO(threads << " threads, " << n << " x " << n);
      CHECK(broken == 0);
    }
  Large wide{transposed(2, 2), {10, 1'000'000}};
  CHECK(cut_of(wide.k, wide.bindings(many)).tasks >= many);
}

TEST_CASE("tasks for many threads change no bit") {
  const auto executor = scheduler::make_plain_executor(many);
  const auto check = [&](const char* name, KernelBuilder k) {
    INFO(name);
    k.find_checks();
    const std::int64_t few = cut_of(k, k.bindings()).tasks;
    const auto expected = k.run();
    k.threads = many;
    CHECK(cut_of(k, k.bindings()).tasks > few);
    CHECK(k.run({}, 0, by(*executor)) == expected);
  };
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 3000; ++i) lengths.push_back(i * 37 % 200);
  Ragged items(lengths);
  items.segmented_output(ScalarType::float64);
  const auto& index = items.k.kernel().index;
  items.k.kernel().body = {
      plus(ir::index(items.values, index[0], {}, true),
           ir::cast(ScalarType::float64, ir::index(items.item, ir::tuple({}), {}, true)))};
  check("elements of items", std::move(items.k));
  check("transposed", transposed(500, 300));

  for (const std::int64_t length : {70'000, 20'000, 0, 4097, 8192}) lengths.push_back(length);
  check("sums of rows", rows_of<float>(lengths, ir::Primitive::add, true));
  std::vector<std::int64_t> many_lengths;  // so many that their borders are looked for by several threads
  for (std::int64_t i = 0; i < 30'000; ++i)
    many_lengths.push_back(i % 10'000 == 5000 ? 100'000 : i * 37 % 200);
  check("sums of many rows", rows_of<float>(many_lengths, ir::Primitive::add, true));
  KernelBuilder ordered = rows_of<double>(lengths, ir::Primitive::add, true);
  make_ordered(ordered.kernel());
  check("rows from left to right", std::move(ordered));
  check("columns", sums_across(40, 3, 8193));
  check("product", products<float>(false, 200, 150, 70));

  const std::vector<std::int64_t> long_lengths{300'000, 5, 0, 40'000, 9000, 8192, 4097};
  KernelBuilder scan = scan_of<float>(long_lengths, ir::Primitive::add, {});
  check("scans", std::move(scan));
  KernelBuilder costly = scan_of<float>(long_lengths, ir::Primitive::add, {true, {}, Results::both});
  costly.kernel().operations = 200;
  check("scans in smaller shares", std::move(costly));
  check("scan across", scan_across(false, {1500}, 0, 200, {}));
  check("states", states_of_matrices<double>(700, 300, false, 1));
}

TEST_CASE("tasks for many threads report the error that those for one do") {
  const auto executor = scheduler::make_plain_executor(many);
  std::vector<std::int32_t> offsets{0}, columns;
  for (int row = 0; row < 3000; ++row) {
    for (int i = 0; i < (row % 1000 == 500 ? 30'000 : row % 150); ++i)
      columns.push_back((i * 31 + row) % 1000);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const std::vector<double> values(columns.size(), 0.5), x(1000, 1.5);
  const auto at = [&](int row, int i) {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)] + i);
  };
  const auto message = [&](KernelBuilder& k) -> std::string {
    try {
      k.run({}, 0, by(*executor));
    } catch (const RunError& e) {
      return e.what();
    }
    return "";
  };
  // From the last to the first: in a short row, in a long one, in its last block, in a short row before it.
  int number = 1000;
  for (const auto& [row, i] : std::vector<std::pair<int, int>>{{2999, 140},
                                                               {2500, 20'000},
                                                               {2500, 9'000},
                                                               {1700, 3},
                                                               {1500, 29'999},
                                                               {1500, 4096},
                                                               {1499, 0},
                                                               {120, 7}}) {
    columns[at(row, i)] = ++number;
    KernelBuilder broken = spmv(offsets, columns, values, x);
    const std::string expected = "index " + std::to_string(number) + " out of range 0..999";
    broken.threads = 1;
    const std::string by_few = message(broken);
    CHECK_THAT(by_few, Catch::Contains(expected));
    broken.threads = many;
    CHECK(message(broken) == by_few);
  }
}
