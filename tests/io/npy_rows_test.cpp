#include "support/catch.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include <anabranch/io.h>

#include "io/npy/npy_file.h"
#include "io/npy/npy_rows.h"
#include "items.h"
#include "matrix_files.h"
#include "mutations.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;

namespace {

using Extents = std::vector<std::int64_t>;

std::string shape_text(const Extents& shape) {
  std::string text = "(";
  for (const std::int64_t e : shape) text += std::to_string(e) + ",";
  return text + ")";
}

std::int64_t product(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// A file that is a header and so many zeros, which take no room.
class FileOfHoles final : public io::detail::ReadFile {
 public:
  FileOfHoles(std::string header, std::int64_t holes)
      : header_(std::move(header)), size_(static_cast<std::int64_t>(header_.size()) + holes) {}
  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, void* into, std::int64_t bytes) const override {
    for (std::int64_t i = 0; i < bytes; ++i)
      static_cast<char*>(into)[i] =
          offset + i < std::ssize(header_) ? header_[static_cast<std::size_t>(offset + i)] : '\0';
  }

 private:
  std::string name_ = "holes.npy", header_;
  std::int64_t size_;
};

/// The values 0, 1, 2, ... of a row-major array, in the order in which Fortran has them.
template <class T>
std::vector<T> in_fortran_order(const std::vector<T>& values, const Extents& shape) {
  std::vector<T> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), place = 0, stride = product(shape);
    for (std::size_t d = shape.size(); d-- > 0;) {
      stride /= shape[d];
      place += rest % shape[d] * stride;
      rest /= shape[d];
    }
    out[static_cast<std::size_t>(place)] = values[i];
  }
  return out;
}

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(i % 251));
  return values;
}

template <class T>
ReadItems rows_of(const std::vector<T>& values, const Extents& shape) {
  ReadItems items;
  const std::size_t row = shape[0] == 0 ? 0 : values.size() / static_cast<std::size_t>(shape[0]);
  for (std::size_t r = 0; r < static_cast<std::size_t>(shape[0]); ++r)
    items.push_back(
        {{Extents(shape.begin() + 1, shape.end()),
          {bytes_of(std::vector<T>(values.begin() + static_cast<std::ptrdiff_t>(r * row),
                                   values.begin() + static_cast<std::ptrdiff_t>((r + 1) * row)))}}});
  return items;
}

std::shared_ptr<SourceBase> open(const std::string& bytes, int rank, ScalarType type, int parts = 1,
                                 const io::NpyRowsOptions& options = {}) {
  auto file = io::detail::memory_file("a.npy", {bytes.begin(), bytes.end()});
  return io::detail::open_npy_rows(file, rank, {type, parts}, options);
}

const std::vector<Extents> shapes{
    {0},       {1},          {1000},    {7, 3},          {0, 3},    {3, 0},    {300, 41},    {41, 300},
    {5, 4, 3}, {4, 1, 5, 2}, {1, 6, 7}, {3, 2, 2, 3, 2}, {2, 0, 3}, {2, 3, 0}, {1000, 2, 3}, {1, 1}};

template <class T>
void check_orders(const char* dtype) {
  for (const Extents& shape : shapes) {
    INFO(dtype << " " << shape_text(shape));
    const auto values = numbers<T>(product(shape));
    const auto expected = rows_of(values, shape);
    const auto rank = static_cast<int>(shape.size());
    constexpr ScalarType type = anabranch::detail::scalar_type<T>;
    const auto c = open(npy(dtype, shape_text(shape), raw(values)), rank, type);
    CHECK(c->info().splits);
    check_source(*c, expected);
    const auto fortran =
        open(npy(dtype, shape_text(shape), raw(in_fortran_order(values, shape)), "True"), rank, type);
    CHECK(fortran->info().splits == (rank == 1));
    check_source(*fortran, expected);
  }
}

}  // namespace

TEST_CASE("npy: a file of holes with more elements than any number of bytes can be of") {
  const auto opened = [](const char* shape, std::int64_t bytes) {
    return io::detail::open_npy(std::make_shared<FileOfHoles>(npy("|u1", shape, ""), bytes)).format.count;
  };
  CHECK(opened("(2, 36028797018963968)", std::int64_t{1} << 56) == std::int64_t{1} << 56);
  CHECK_THROWS_WITH(opened("(1, 2305843009213693952)", std::int64_t{1} << 61),
                    Contains("2305843009213693952 elements are too many"));
  CHECK_THROWS_WITH(opened("(144115188075855872,)", std::int64_t{1} << 57), Contains("too many"));
}

TEST_CASE("npy rows: both orders in memory, every rank and width") {
  check_orders<std::uint8_t>("|u1");
  check_orders<std::int16_t>("<i2");
  check_orders<float>("<f4");
  check_orders<double>("<f8");
}

TEST_CASE("npy rows: from a file, with what is known of it") {
  TemporaryDirectory dir;
  const Matrix<float> matrix(Index{3, 2}, {1, 2, 3, 4, 5, 6});
  io::write_npy(dir / "a.npy", matrix);
  const auto source = io::open_npy_rows<2, float>(dir / "a.npy");
  const SourceInfo& info = source.info();
  CHECK(info.name == dir / "a.npy");
  CHECK(info.items == 3);
  CHECK(info.work == 6);
  CHECK(info.rewindable);
  CHECK_FALSE(info.live);
  CHECK_FALSE(info.in_memory);
  CHECK(info.arrays[0].regular());
  CHECK(items_of(*source.erased()) == rows_of(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}));
  static_assert(std::is_same_v<decltype(io::open_npy_rows<5, half>("")), Source<Array<4, half>>>);
  static_assert(std::is_same_v<decltype(io::open_npy_rows<1, bool>("")), Source<Scalar<bool>>>);
  CHECK_THROWS_AS((io::open_npy_rows<2, float>(dir / "none.npy")), IoError);
}

TEST_CASE("npy rows: conversions and complex numbers, in both orders") {
  const Extents shape{50, 3, 4};
  const auto values = numbers<std::int32_t>(600);
  const std::vector<double> converted(values.begin(), values.end());
  std::vector<float> pairs, real, imaginary;
  for (const std::int32_t v : values) {
    real.push_back(static_cast<float>(v));
    imaginary.push_back(static_cast<float>(-v) / 4);
    pairs.insert(pairs.end(), {real.back(), imaginary.back()});
  }
  for (const bool fortran : {false, true}) {
    const char* const order = fortran ? "True" : "False";
    const auto integers = fortran ? in_fortran_order(values, shape) : values;
    const auto as_double =
        open(npy("<i4", "(50, 3, 4)", raw(integers), order), 3, ScalarType::float64, 1, {.convert = true});
    check_source(*as_double, rows_of(converted, shape));

    std::vector<std::pair<float, float>> complex;
    for (std::size_t i = 0; i < values.size(); ++i) complex.emplace_back(pairs[2 * i], pairs[2 * i + 1]);
    if (fortran) complex = in_fortran_order(complex, shape);
    std::vector<float> stored;
    for (const auto& [re, im] : complex) stored.insert(stored.end(), {re, im});
    ReadItems expected = rows_of(real, shape);
    const ReadItems second = rows_of(imaginary, shape);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i][0].components.push_back(second[i][0].components[0]);
    const std::string bytes = npy("<c8", "(50, 3, 4)", raw(stored), order);
    check_source(*open(bytes, 3, ScalarType::float32, 2), expected);
    const auto wide = open(bytes, 3, ScalarType::float64, 2, {.convert = true});
    const ReadItems doubles = items_of(*wide, {9});
    REQUIRE(doubles.size() == 50);
    CHECK(values_of<double>(doubles[49][0].components[1])[11] == imaginary.back());
  }
}

TEST_CASE("npy rows: larger than every buffer inside") {
  const Extents shape{3000, 700};  // columns of 24 KB, blocks of several hundred rows
  std::vector<double> values(static_cast<std::size_t>(product(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 3;
  const auto expected = rows_of(values, shape);
  const std::string c = npy("<f8", "(3000, 700)", raw(values));
  const std::string fortran = npy("<f8", "(3000, 700)", raw(in_fortran_order(values, shape)), "True");
  for (const std::int64_t memory : {std::int64_t{64} << 20, std::int64_t{1} << 20, std::int64_t{100} << 10}) {
    for (const std::string* bytes : {&c, &fortran}) {
      const auto source = open(*bytes, 2, ScalarType::float64, 1, {.memory = memory});
      CHECK(source->resident_bytes() <= memory);
      CHECK(items_of(*source, {256}) == expected);
    }
  }
  // As floats, in another order, from a file whose blocks are read run by run.
  TemporaryDirectory dir;
  write_file(dir / "f.npy", fortran);
  const auto floats = io::open_npy_rows<2, float>(dir / "f.npy", {.convert = true, .memory = 2 << 20});
  const ReadItems rows = items_of(*floats.erased());
  REQUIRE(rows.size() == 3000);
  CHECK(values_of<float>(rows[2999][0].components[0])[699] == static_cast<float>(values.back()));
  CHECK(io::read_npy<2, double>(dir / "f.npy") ==
        Matrix<double>(Index{3000, 700}, std::span<const double>(values)));
}

TEST_CASE("npy rows: chunks end at the first limit reached, and a row that does not fit is refused") {
  const std::string bytes = npy("<f8", "(10, 4)", raw(numbers<double>(40)));
  const auto source = open(bytes, 2, ScalarType::float64);
  SourceChunk chunk;
  const auto first = [&](const Limit& limit) {
    source->rewind();
    REQUIRE(source->next(limit, chunk));
    return chunk.items;
  };
  CHECK(first({}) == 10);
  CHECK(first({4}) == 4);
  CHECK(first({INT64_MAX, 96}) == 3);
  CHECK(first({INT64_MAX, 95}) == 2);
  CHECK(first({INT64_MAX, INT64_MAX, 11}) == 2);
  CHECK(first({INT64_MAX, INT64_MAX, 0}) == 1);
  Limit little;
  little.memory = 31;
  source->rewind();
  CHECK_THROWS_AS(source->next(little, chunk), ItemTooBig);
  little.memory = 64;
  REQUIRE(source->next(little, chunk));  // the row that was refused
  CHECK(chunk.items == 2);
  CHECK(items_of(*source) == [&] {
    ReadItems rest = rows_of(numbers<double>(40), {10, 4});
    rest.erase(rest.begin(), rest.begin() + 2);
    return rest;
  }());
  CHECK_THROWS_WITH(open(bytes, 2, ScalarType::float64, 1, {.memory = 31}), Contains("a row of 4 elements"));
  CHECK_THROWS_AS(open(bytes, 2, ScalarType::float64, 1, {.memory = 31}), ResourceError);
  const std::string fortran = npy("<f8", "(2, 100000)", raw(numbers<double>(200'000)), "True");
  CHECK_THROWS_AS(open(fortran, 2, ScalarType::float64, 1, {.memory = 1 << 20}), ResourceError);
  CHECK(items_of(*open(fortran, 2, ScalarType::float64, 1, {.memory = 4 << 20})).size() == 2);
}

TEST_CASE("npy rows: what does not fit is refused") {
  const auto fault = [](const std::string& bytes, int rank = 2, ScalarType type = ScalarType::float64,
                        int parts = 1, bool convert = false) -> std::string {
    try {
      items_of(*open(bytes, rank, type, parts, {.convert = convert}));
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  };
  const std::string data = raw(numbers<double>(6));
  const auto with = [&](const char* dtype, const char* shape) { return npy(dtype, shape, data); };
  CHECK(fault(with("<f8", "(2, 3)")).empty());
  CHECK_THAT(fault(with("<f8", "(6,)")), Contains("a.npy") && Contains("rank 1") && Contains("rank 2"));
  CHECK_THAT(fault(with("<f8", "(1, 2, 3)")), Contains("rank 3"));
  CHECK_THAT(fault(with("<f4", "(4, 3)")), Contains("elements of type float, but double was asked for"));
  CHECK(fault(with("<f4", "(4, 3)"), 2, ScalarType::float64, 1, true).empty());
  CHECK_THAT(fault(with("<f8", "(2, 3)"), 2, ScalarType::int64, 1, true),
             Contains("cannot be converted to int64"));
  CHECK_THAT(fault(with("<c16", "(1, 3)")), Contains("complex double"));
  CHECK_THAT(fault(with(">f8", "(2, 3)")), Contains("big-endian"));
  CHECK_THAT(fault(with("<f8", "(2, 4)")), Contains("promises"));
  CHECK_THAT(fault(with("<f8", "(1, 3)")), Contains("promises"));
  CHECK_THAT(fault(with("<f8", "(4611686018427387904, 4)")), Contains("promises"));
  CHECK_THAT(fault(npy("<f8", "(0, 4611686018427387904, 4)", ""), 3), Contains("promises"));
  CHECK_THAT(fault(npy("|u1", "(4611686018427387904, 0)", ""), 2, ScalarType::uint8),
             Contains("rows are too many"));
  CHECK_THAT(fault(with("<f8", "(-2, -3)")), Contains("negative"));
  CHECK_THAT(fault("hello, this is no array"), Contains("not an NPY array"));
  CHECK_THAT(fault(npy("|b1", "(3, 2)", std::string("\1\0\0\1\1\2", 6)), 2, ScalarType::boolean),
             Contains("element 5 is the byte 2, not a bool"));
  CHECK_THAT(fault(npy("|b1", "(3, 2)", std::string("\1\0\0\1\1\2", 6), "True"), 2, ScalarType::boolean),
             Contains("element 5 is the byte 2, not a bool"));
  const std::string whole = with("<f8", "(2, 3)");
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK_FALSE(fault(whole.substr(0, n)).empty());
}

TEST_CASE("npy rows: a file that changes while it is read") {
  TemporaryDirectory dir;
  const std::string path = dir / "a.npy";
  write_file(path, npy("<f8", "(10, 4)", raw(numbers<double>(40))));
  const auto source = io::open_npy_rows<2, double>(path);
  SourceChunk chunk;
  REQUIRE(source.erased()->next({5}, chunk));
  write_file(path, npy("<f8", "(10, 4)", raw(numbers<double>(40))));
  CHECK_THROWS_WITH(source.erased()->next({5}, chunk), path + ": the file changed while it was read");
  const auto again = io::open_npy_rows<2, double>(path);
  REQUIRE(again.erased()->next({5}, chunk));
  write_file(path, npy("<f8", "(1, 4)", raw(numbers<double>(4))));
  CHECK_THROWS_WITH(again.erased()->next({5}, chunk), Contains("the file ends at byte"));
}

TEST_CASE("npy rows: random mutations are refused, or change elements only") {
  const Extents shape{20, 3};
  for (const bool fortran : {false, true}) {
    const auto values = numbers<float>(60);
    const std::string whole = npy("<f4", "(20, 3)", raw(fortran ? in_fortran_order(values, shape) : values),
                                  fortran ? "True" : "False");
    int refused = 0;
    mutate(whole, 400, fortran, [&](const std::string& bytes) {
      try {
        for (const ReadItem& item : items_of(*open(bytes, 2, ScalarType::float32, 1, {.memory = 1 << 20}))) {
          REQUIRE(item[0].extents.size() == 1);
          REQUIRE(item[0].components[0].size() == static_cast<std::size_t>(item[0].extents[0]) * 4);
        }
      } catch (const DataError& e) {
        CHECK_THAT(e.what(), Catch::StartsWith("a.npy: "));
        ++refused;
      } catch (const ResourceError&) {
        ++refused;
      }
    });
    CHECK(refused > 100);
  }
}

TEST_CASE("npy rows: a byte that is no bool is refused whatever it is converted to") {
  const auto bools = [](const std::string& bytes, ScalarType type) {
    return open(npy("|b1", "(3,)", bytes), 1, type, 1, {.convert = true});
  };
  for (const ScalarType type : {ScalarType::boolean, ScalarType::float32, ScalarType::float64}) {
    CHECK_THROWS_WITH(items_of(*bools(std::string("\1\0\2", 3), type)),
                      Contains("a.npy: element 2 is the byte 2, not a bool"));
    CHECK(items_of(*bools(std::string("\1\0\1", 3), type)).size() == 3);
  }
}
