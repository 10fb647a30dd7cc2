// Files that are written part by part: several arrays in an .npz, text.

#include "support/catch.h"

#include <zlib.h>

#include <cstring>

#include <anabranch/io.h>

#include "io/base/file.h"
#include "io/base/zip.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;

namespace {

using Shape = std::vector<std::int64_t>;

void add(io::NpzWriter& out, const std::string& name, const std::vector<float>& elements,
         const Shape& shape) {
  out.begin(name, ScalarType::float32);
  out.append<float>(elements);
  out.end(shape);
}

}  // namespace

TEST_CASE("NpzWriter: arrays as numpy.savez has them") {
  const TemporaryDirectory dir;
  const std::string path = dir / "a.npz";
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<double> many(300'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0.5 * static_cast<double>(i);
  {
    io::NpzWriter out(path);
    add(out, "x", x, {2, 3});
    add(out, "deep/\xc3\xa4", {}, {0, 4});
    add(out, "\xe4", {}, {0});  // not UTF-8
    add(out, "number", {7}, {});
    out.begin("many", ScalarType::float64);
    for (std::size_t i = 0; i < many.size(); i += 100'000)
      out.append(std::span<const double>(many).subspan(i, 100'000));
    out.end(Shape{300'000});
    CHECK(out.size() == 5);
    CHECK(!std::filesystem::exists(path));
    out.commit();
  }
  CHECK(dir.files() == 1);
  const std::string bytes = read_file(path);
  const auto entries = io::detail::read_zip_directory(*io::detail::File::open(path));
  REQUIRE(entries.size() == 5);
  struct Expected {
    std::string name, shape, data;
    bool utf8 = true;
  };
  const std::vector<Expected> expected{{"x.npy", "(2, 3)", raw(x)},
                                       {"deep/\xc3\xa4.npy", "(0, 4)", ""},
                                       {"\xe4.npy", "(0,)", "", false},
                                       {"number.npy", "()", raw(std::vector<float>{7})},
                                       {"many.npy", "(300000,)", raw(many)}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    INFO(expected[i].name);
    CHECK(entries[i].name == expected[i].name);
    CHECK(!entries[i].deflated);
    const std::string member =
        bytes.substr(static_cast<std::size_t>(entries[i].offset), static_cast<std::size_t>(entries[i].size));
    CHECK(::crc32(0, reinterpret_cast<const unsigned char*>(member.data()),
                  static_cast<unsigned>(member.size())) == entries[i].crc);
    CHECK_THAT(member.substr(0, 192), Contains("'shape': " + expected[i].shape));
    CHECK(member.substr(192) == expected[i].data);
    CHECK(((bytes[static_cast<std::size_t>(entries[i].header) + 7] & 8) != 0) == expected[i].utf8);
  }
}

TEST_CASE("NpzWriter: all dimensions that NumPy allows") {
  const TemporaryDirectory dir;
  const std::string path = dir / "a.npz";
  // The longest text of a shape: no product of extents is beyond 63 bits.
  Shape most(32, 1), none(32, 1);
  std::fill_n(none.begin(), 17, 10);
  none.back() = 0;
  {
    io::NpzWriter out(path);
    add(out, "most", {1}, most);
    add(out, "none", {}, none);
    out.commit();
  }
  const auto entries = io::detail::read_zip_directory(*io::detail::File::open(path));
  REQUIRE(entries.size() == 2);
  const std::string bytes = read_file(path);
  CHECK_THAT(bytes, Contains("(1, 1, 1") && Contains("(10, 10, 10"));
  CHECK(entries[0].size == 192 + 4);
  CHECK(entries[1].size == 192);
}

TEST_CASE("NpzWriter: what makes no sense; without a commit nothing is there") {
  const TemporaryDirectory dir;
  {
    io::NpzWriter out(dir / "a.npz");
    CHECK_THROWS_WITH(out.end(Shape{0}), Contains("the end of no array"));
    CHECK_THROWS_WITH(out.append<float>(std::vector<float>{1}), Contains("elements of no array"));
    add(out, "x", {1}, {1});
    CHECK_THROWS_WITH(out.begin("x", ScalarType::int32), Contains("two arrays are called x"));
    CHECK_THROWS_WITH(out.begin("", ScalarType::int32), Contains("the name of an array"));
    out.begin("y", ScalarType::float32);
    CHECK_THROWS_WITH(out.begin("z", ScalarType::int32), Contains("before the one before it has ended"));
    CHECK_THROWS_WITH(out.append<double>(std::vector<double>{1}), Contains("double for an array of float"));
    out.append<float>(std::vector<float>{1, 2});
    CHECK_THROWS_WITH(out.end(Shape{3}), Contains("2 elements for an array of the shape [3]"));
    CHECK_THROWS_WITH(out.end(Shape{-1, -2}), Contains("2 elements for an array of the shape"));
    CHECK_THROWS_WITH(out.end(std::vector<std::int64_t>(33, 1)),
                      Contains("2 elements for an array of the shape"));
    CHECK_THROWS_WITH(out.commit(), Contains("an array has not ended"));
    CHECK_THROWS_WITH(io::NpzWriter(dir / "a.npz"), Contains("another sink or writer"));
  }
  CHECK(dir.files() == 0);
  CHECK_THROWS_AS(io::NpzWriter(dir / "none/a.npz"), IoError);
}

TEST_CASE("NpzWriter: shapes of arrays without elements") {
  const TemporaryDirectory dir;
  constexpr std::int64_t much = std::int64_t{1} << 40;
  io::NpzWriter out(dir / "a.npz");
  out.begin("x", ScalarType::float64);
  // NumPy reads no array the product of whose other extents overflows.
  CHECK_THROWS_WITH(out.end(Shape{0, much, much}), Contains("0 elements for an array of the shape"));
  CHECK_THROWS_WITH(out.end(Shape{much, much, 0}), Contains("0 elements for an array of the shape"));
  out.end(Shape{much, 0, 3});
  out.commit();
}

TEST_CASE("TextWriter: as it is, and whole or not at all") {
  const TemporaryDirectory dir;
  {
    io::TextWriter out(dir / "a.txt");
    out.append("never seen");
  }
  CHECK(dir.files() == 0);
  io::TextWriter out(dir / "a.txt");
  out.append("a,b\n");
  out.append(std::string(3'000'000, 'x'));
  CHECK(!std::filesystem::exists(dir / "a.txt"));
  out.commit();
  CHECK(read_file(dir / "a.txt") == "a,b\n" + std::string(3'000'000, 'x'));
}
