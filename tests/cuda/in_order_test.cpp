// Kernels that read arrays in their order, four neighbouring positions at a time (kernels/cuda/in_order.cuh).
#include "cuda/in_order.h"

#include <random>

#include "support/catch.h"
#include "tests/cpu/support/fold_kernels.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

int ahead(const kernel::Kernel& kernel) { return cuda::in_order(kernel, kernel::ComponentUse(kernel)).ahead; }

/// Rows of `lengths` whose elements lie in two arrays, of which `more` elements are behind the last row's.
/// All arrays end where a page does, so these numbers say how the arrays lie to 16 bytes.
KernelBuilder dot_of_rows(const std::vector<std::int64_t>& rows, std::size_t more_reals,
                          std::size_t more_bytes) {
  std::vector<std::int64_t> offsets{first_element};
  for (const auto n : rows) offsets.push_back(offsets.back() + n);
  const auto items = static_cast<std::int64_t>(rows.size());
  const auto all = static_cast<std::size_t>(offsets.back());
  KernelBuilder k(kernel::Reduce{}, true, items);
  const int off = k.buffer(offsets);
  const int reals = k.buffer(random_values<float>(all + more_reals, 1));
  const int bytes = k.buffer(random_values<std::uint8_t>(all + more_bytes, 2));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref x = k.array(kernel::Form::segmented, {ScalarType::float32}, {length}, reals, off);
  const ir::Ref w = k.array(kernel::Form::segmented, {ScalarType::uint8}, {length}, bytes, off);
  k.output(kernel::Form::regular, {ScalarType::float32}, {}, items);
  auto& kernel = k.kernel();
  kernel.body = {ir::primitive(
      Primitive::multiply, {ir::index(x, row_in(kernel).index),
                            ir::cast(ScalarType::float32, ir::index(w, row_in(kernel).index, {}, true))})};
  row_in(kernel).length = length;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
  reduction_in(kernel).seed = {ir::literal(0.5f)};
  row_in(kernel).work_offsets = off;
  return k;
}

/// A map of floats and bytes to a float, a bool and an int64.
KernelBuilder mixed_map(std::int64_t n, std::size_t more_reals, std::size_t more_bytes) {
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(n);
  const auto size = static_cast<std::size_t>(n);
  const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float32}, {extent},
                            k.buffer(random_values<float>(size + more_reals, 3)));
  const ir::Ref b = k.array(kernel::Form::avoided, {ScalarType::uint8}, {extent},
                            k.buffer(random_values<std::uint8_t>(size + more_bytes, 4)));
  k.output(kernel::Form::avoided, {ScalarType::float32, ScalarType::boolean, ScalarType::int64}, {extent}, n);
  const ir::Ref v = ir::index(x, k.kernel().index[0], {}, true),
                w = ir::index(b, k.kernel().index[0], {}, true);
  k.kernel().body = {times(v, v), less(v, ir::literal(0.0f)), ir::cast(ScalarType::int64, w)};
  return k;
}

}  // namespace

TEST_CASE("cuda: which folds read in order") {
  auto ragged = rows_of<double>({1, 2}, Primitive::add, true);
  CHECK(ahead(ragged.kernel()) == 4);
  CHECK(cuda::generate(ragged.kernel()).source.find("fold_tiles<anabranch::Kernel, 8>") != std::string::npos);
  CHECK(ahead(dense_rows(true, {2}, 9).kernel()) == 8);
  CHECK(ahead(dense_rows(false, {}, 9).kernel()) == 8);
  auto sparse = spmv<double, std::int32_t>({0, 1}, {0}, {1.0}, {1.0});
  CHECK(ahead(sparse.kernel()) == 4);

  // Elements that know where they are.
  auto numbered = rows_of<double>({1, 2}, Primitive::add, true);
  auto& kernel = numbered.kernel();
  kernel.body = {plus(kernel.body[0], ir::cast(ScalarType::float64, row_in(kernel).index))};
  CHECK(ahead(kernel) == 0);
  auto of_row = dense_rows(true, {2}, 9);
  of_row.kernel().body = {
      times(of_row.kernel().body[0], ir::cast(ScalarType::float32, of_row.kernel().index[0]))};
  CHECK(ahead(of_row.kernel()) == 0);
  auto of_item = rows_of<double>({1, 2}, Primitive::add, true);
  const ir::Ref n = of_item.scalar_parameter(row_in(of_item.kernel()).length);
  of_item.kernel().body = {times(of_item.kernel().body[0], ir::cast(ScalarType::float64, n))};
  CHECK(ahead(of_item.kernel()) == 0);
  // Nothing to read, much to compute.
  auto none = rows_of<double>({1, 2}, Primitive::add, true);
  none.kernel().body = {ir::literal(1.0)};
  CHECK(ahead(none.kernel()) == 0);
  auto dear = rows_of<double>({1, 2}, Primitive::add, true);
  const ir::Ref x = dear.kernel().body[0];
  for (int i = 0; i < 80; ++i) dear.kernel().body[0] = plus(times(dear.kernel().body[0], x), x);
  CHECK(ahead(dear.kernel()) == 0);
}

TEST_CASE("cuda: cheap maps of narrow types read further ahead") {
  CHECK(ahead(mixed_map(3, 0, 0).kernel()) == 8);
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(3);
  const ir::Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(doubles(3)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, 3);
  const ir::Ref v = ir::index(a, k.kernel().index[0], {}, true);
  k.kernel().body = {times(v, v)};
  CHECK(ahead(k.kernel()) == 4);
  k.kernel().body = {times(v, ir::cast(ScalarType::float64, k.kernel().index[0]))};
  CHECK(ahead(k.kernel()) == 0);
}

TEST_CASE("cuda: fours, wherever arrays begin") {
  std::mt19937 random(3);
  std::vector<std::int64_t> rows;
  for (int i = 0; i < 300; ++i) rows.push_back(static_cast<std::int64_t>(random() % 40));
  for (std::size_t more_reals = 0; more_reals < 4; ++more_reals)
    for (std::size_t more_bytes = 0; more_bytes < 4; ++more_bytes) {
      INFO(more_reals << " and " << more_bytes << " elements more");
      auto fold = dot_of_rows(rows, more_reals, more_bytes);
      REQUIRE(ahead(fold.kernel()) == 4);
      CHECK(cuda_disagreement(fold) == "");
      for (const std::int64_t n : {0, 1, 3, 4, 5, 8, 1023, 1024, 1025, 5000}) {
        auto map = mixed_map(n, more_reals, more_bytes);
        INFO("map of " << n);
        CHECK(cuda_disagreement(map) == "");
      }
    }
}

TEST_CASE("cuda: fours of two bytes, wherever arrays begin") {
  for (std::size_t more = 0; more < 4; ++more)
    for (const std::int64_t n : {0, 1, 3, 4, 5, 8, 1025, 5000}) {
      KernelBuilder k(kernel::Map{});
      const auto extent = k.uniform_extent(n);
      const ir::Ref x =
          k.array(kernel::Form::avoided, {ScalarType::uint16}, {extent},
                  k.buffer(random_values<std::uint16_t>(static_cast<std::size_t>(n) + more, 7)));
      k.output(kernel::Form::avoided, {ScalarType::uint16}, {extent}, n);
      const ir::Ref v = ir::index(x, k.kernel().index[0], {}, true);
      k.kernel().body = {plus(v, ir::literal(std::uint16_t{40000}))};
      INFO(n << " of " << more << " elements more");
      REQUIRE(ahead(k.kernel()) > 0);
      CHECK(cuda_disagreement(k) == "");
      CHECK(nvrtc_complaint(cuda::generate(k.kernel())) == "");
    }
}

TEST_CASE("cuda: rows that just fit a tile, and rows that do not") {
  const auto agrees = [](const std::vector<std::int64_t>& rows) {
    auto sums = rows_of<double>(rows, Primitive::add, true);
    CHECK(cuda_disagreement(sums) == "");
    auto bytes = rows_of<std::uint8_t>(rows, Primitive::bit_xor, true);
    CHECK(cuda_disagreement(bytes) == "");
    auto pairs_of_bytes = rows_of<std::uint16_t>(rows, Primitive::minimum, true);
    CHECK(cuda_disagreement(pairs_of_bytes) == "");
    auto ordered = rows_of<double>(rows, Primitive::add, true);
    make_ordered(ordered.kernel());
    CHECK(cuda_disagreement(ordered) == "");
  };
  std::vector<std::int64_t> rows(700, 5);
  for (const std::size_t at : {0, 1, 300, 301, 302, 650, 699}) rows[at] = 4096;
  rows[2] = 4095;
  rows[3] = 1;
  rows[303] = 4097;
  rows[304] = 0;
  agrees(rows);
  // One turn holds all rows, nearly all rows, or the rows of one are the elements of many.
  agrees(std::vector<std::int64_t>(1024, 4));
  agrees(std::vector<std::int64_t>(1500, 4));
  agrees(std::vector<std::int64_t>(3000, 0));
  std::vector<std::int64_t> mostly_empty(5000);
  for (const std::size_t at : {1023, 1024, 1025, 4999}) mostly_empty[at] = 2000;
  agrees(mostly_empty);
}

TEST_CASE("cuda: windows of rows end where 32 bits might") {
  // 262144 elements are counted in one window: rows end before it, at it, behind it; one row has more.
  std::vector<std::int64_t> rows(3000, 4);
  for (const std::size_t at : {5, 6, 900}) rows[at] = 130000;
  rows[2000] = 300000;
  rows[2500] = 262144;
  rows[2499] = 0;
  rows[2999] = 262143;
  auto sums = rows_of<std::uint8_t>(rows, Primitive::add, true);
  CHECK(cuda_disagreement(sums) == "");
}

TEST_CASE("cuda: rows of every length up to 300, from a tile") {
  std::vector<std::int64_t> rows;
  for (std::int64_t n = 0; n <= 300; ++n) rows.push_back(n);
  for (const std::int64_t shorter : {0, 400, 4000}) {  // so that the average row is 150, 60, 10
    rows.resize(301 + static_cast<std::size_t>(shorter), 1);
    auto k = rows_of<double>(rows, Primitive::add, true);
    CHECK(cuda_disagreement(k) == "");
    auto words = rows_of<std::int32_t>(rows, Primitive::add, true);
    CHECK(cuda_disagreement(words) == "");
    auto bytes = rows_of<std::uint8_t>(rows, Primitive::maximum, true);
    CHECK(cuda_disagreement(bytes) == "");
  }
}

TEST_CASE("cuda: loops end after a failure, whoever met it") {
  const auto param = [] { return ir::parameter(ir::Type::element(ScalarType::float64)); };
  // Adds `step` to `from` while that is less than 1:
  // for ever, if `step` is the 0 that stands for what failed.
  const auto reach_one = [&](const ir::Ref& from, const ir::Ref& step) {
    const ir::Ref p = param(), q = param();
    return ir::while_loop(ir::lambda({p}, {less(p, ir::literal(1.0))}), ir::lambda({q}, {plus(q, step)}),
                          from);
  };
  std::vector<std::int64_t> rows{0, 2, 20, 300, 4097, 0};
  rows.resize(200, 7);
  for (const bool numbered : {false, true}) {
    // An element's loop needs what its row has not.
    auto k = rows_of<double>(rows, Primitive::add, true);
    auto& kernel = k.kernel();
    const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(0)},
                              k.buffer(std::vector<double>{}));
    const ir::Ref step = ir::index(x, ir::int64(0));
    kernel.body = {plus(kernel.body[0], reach_one(ir::literal(0.0), step))};
    if (numbered) kernel.body[0] = plus(kernel.body[0], ir::cast(ScalarType::float64, row_in(kernel).index));
    CHECK((ahead(kernel) > 0) == !numbered);
    CHECK(cuda_disagreement(k) == "");

    // An operator's loop needs an element that failed.
    auto o = rows_of<double>(rows, Primitive::add, true);
    auto& ordered = o.kernel();
    const ir::Ref ones = o.array(kernel::Form::avoided, {ScalarType::float64}, {o.uniform_extent(3)},
                                 o.buffer(std::vector<double>(3, 1.0)));
    double* data = elements_of_rows<double>(o);
    // What fails is in row 3, in row 4, of whose last block there is nothing else, and in a later row.
    for (int i = 0; i < 4419 + 194 * 7; ++i) data[i] = i == 30 || i == 4418 || i == 5000 ? 17.0 : i % 3;
    ordered.body = {ir::index(ones, ir::cast(ScalarType::int64, ordered.body[0]))};
    if (numbered)
      ordered.body = {plus(ordered.body[0],
                           times(ir::literal(0.0), ir::cast(ScalarType::float64, row_in(ordered).index)))};
    reduce_in(ordered).order = ir::fold_order::OperatorClass::ordered;
    reduction_in(ordered).combine = {
        plus(reduction_in(ordered).left[0], reach_one(ir::literal(0.5), reduction_in(ordered).right[0]))};
    CHECK((ahead(ordered) > 0) == !numbered);
    CHECK(cuda_disagreement(o) == "");
    o.find_checks();
    CHECK(run_cuda(o, {}).error.position == 3);
    CHECK(run_cuda(o, {}).error.element == 8);
  }
}

TEST_CASE("cuda: tiles of values of several components") {
  // What C++ leaves out between components makes 3, 8 and 12 bytes of them; the last are not for tiles.
  using Types = std::vector<ScalarType>;
  const auto u8 = ScalarType::uint8, i32 = ScalarType::int32, boolean = ScalarType::boolean;
  std::vector<std::int64_t> offsets{7};
  std::mt19937 random(9);
  for (int i = 0; i < 500; ++i) offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 60));
  const auto n = static_cast<std::size_t>(offsets.back());
  for (const Types& types : {Types{u8, boolean, u8}, Types{u8, i32}, Types{u8, i32, u8}}) {
    KernelBuilder k(kernel::Reduce{}, true, 500);
    const int off = k.buffer(offsets);
    int first = -1;
    for (const ScalarType type : types) {
      std::vector<std::uint8_t> bytes = random_values<std::uint8_t>(n, 4);
      if (type == boolean)
        for (auto& b : bytes) b %= 2;
      const int slot = type == i32 ? k.buffer(random_values<std::int32_t>(n, 5)) : k.buffer(bytes);
      if (first < 0) first = slot;
    }
    const auto length = KernelBuilder::ragged_extent(off);
    const ir::Scalars scalars(types.begin(), types.end());
    const ir::Ref v = k.array(kernel::Form::segmented, scalars, {length}, first, off);
    k.output(kernel::Form::regular, scalars, {}, 500);
    auto& kernel = k.kernel();
    const ir::Ref element = ir::index(v, row_in(kernel).index, {}, true);
    row_in(kernel).length = length;
    reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
    for (std::size_t c = 0; c < types.size(); ++c) {
      const int number = static_cast<int>(c);
      kernel.body.push_back(ir::project(element, number, 1));
      reduction_in(kernel).combine.push_back(
          ir::primitive(types[c] == boolean ? Primitive::bit_or : Primitive::add,
                        {reduction_in(kernel).left[c], reduction_in(kernel).right[c]}));
    }
    reduction_in(kernel).seed = kernel.body;
    for (std::size_t c = 0; c < types.size(); ++c)
      reduction_in(kernel).seed[c] = types[c] == i32       ? ir::literal(std::int32_t{-2})
                                     : types[c] == boolean ? ir::literal(false)
                                                           : ir::literal(std::uint8_t{3});
    row_in(kernel).work_offsets = off;
    CHECK((ahead(kernel) > 0) == (cuda::value_bytes(kernel) <= 8));
    CHECK(cuda_disagreement(k) == "");
    CHECK(nvrtc_complaint(cuda::generate(kernel)) == "");
  }
}

TEST_CASE("cuda: elements in stages: gathers of gathers, and reads under conditions") {
  // Rows of 0 to 40, 200, and two of several blocks; columns below 300.
  std::vector<std::int32_t> offsets{0}, columns;
  for (int row = 0; row < 120; ++row) {
    const int length = row == 50 ? 9000 : row == 51 ? 4096 : row % 30 == 7 ? 200 : row * 7 % 41;
    offsets.push_back(offsets.back() + length);
  }
  const auto n = static_cast<std::size_t>(offsets.back());
  std::mt19937 random(17);
  for (std::size_t i = 0; i < n; ++i) columns.push_back(static_cast<std::int32_t>(random() % 300));
  for (const bool numbered : {false, true})
    for (const std::int32_t bad : {0, 300}) {
      columns[n - 20] = bad;  // 300: out of range
      auto k = spmv<double, std::int32_t>(offsets, columns, random_values<double>(n, 5),
                                          random_values<double>(300, 6));
      auto& kernel = k.kernel();
      std::vector<std::int32_t> turned(300);
      for (int i = 0; i < 300; ++i) turned[static_cast<std::size_t>(i)] = 299 - i;
      const ir::Ref t =
          k.array(kernel::Form::avoided, {ScalarType::int32}, {k.uniform_extent(300)}, k.buffer(turned));
      const ir::Ref product = kernel.body[0], value = product->children()[0],
                    gathered = product->children()[1];
      const ir::Ref x = gathered->children()[0], column = gathered->children()[1];
      // What is at the turned place, where the value is negative; else the product and the value once more.
      const ir::Ref turned_x = ir::index(x, ir::cast(ScalarType::int64, ir::index(t, column)));
      kernel.body = {ir::cond(less(value, ir::literal(0.0)), times(turned_x, ir::literal(3.0)),
                              plus(product, plus(value, turned_x)))};
      if (numbered)
        kernel.body[0] = plus(kernel.body[0], ir::cast(ScalarType::float64, row_in(kernel).index));
      CHECK((ahead(kernel) > 0) == !numbered);
      k.find_checks();
      CHECK(cuda::generate(kernel).source.find("staged = true") != std::string::npos);
      CHECK(cuda_disagreement(k) == "");
      CHECK(nvrtc_complaint(cuda::generate(kernel)) == "");
    }
}

TEST_CASE("cuda: a tile of empty rows reads nothing") {
  // Behind the last element of one array there is no memory; and because of the other, fours begin before it.
  std::vector<std::int64_t> rows(1500);
  rows[0] = 2;
  for (const std::size_t more : {1, 2, 3}) {
    auto k = dot_of_rows(rows, 0, more);
    CHECK(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: the first offence in a tile is reported, whoever meets it") {
  // Rows of 10, some of none: the first bad element is in row 101, at its element 4.
  std::vector<std::int32_t> offsets{0}, columns;
  for (int row = 0; row < 900; ++row) {
    offsets.push_back(offsets.back() + (row % 10 == 0 ? 0 : 10));
    columns.resize(static_cast<std::size_t>(offsets.back()), 7);
  }
  const auto first = static_cast<std::size_t>(offsets[101]) + 4;
  for (std::size_t at = first; at < columns.size(); at += 3)
    columns[at] = 500 + static_cast<std::int32_t>(at % 50);
  columns[first] = -3;
  auto k = spmv<double, std::int32_t>(offsets, columns, std::vector<double>(columns.size(), 0.5),
                                      std::vector<double>(500, 1.0));
  for (const CudaWay& way : all_ways(k.kernel())) {
    const auto error = run_cuda(k, way).error;
    INFO(way.text());
    CHECK(error.position == 101);
    CHECK(error.element == 4);
    CHECK(error.value == -3);
    CHECK(error.bound == 500);
  }
}
