#include "support/catch.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <random>

#include <anabranch/io.h>

#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

Csr<> read(const std::string& text, const io::OpenOptions& options = {}) {
  TemporaryDirectory dir;
  write_file(dir / "m.mtx", text);
  auto source = io::open_csr<std::int32_t, double>(dir / "m.mtx", options);
  return drain(*source.erased(), io::inspect_matrix(dir / "m.mtx").cols);
}

std::string fault(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const DataError& e) {
    return e.what();
  }
}

const std::string real = "%%MatrixMarket matrix coordinate real general\n";

}  // namespace

TEST_CASE("Matrix Market: the kinds of entries and symmetry") {
  CHECK((read(real + "% a comment\n\n3 4 4\n3 1 -2.5e0\n1 4 1\n1 2 +7\n\n3 4 .5") ==
         Csr<>{4, {0, 2, 2, 4}, {1, 3, 0, 3}, {7, 1, -2.5, .5}}));
  CHECK((read("%%MatrixMarket MATRIX Coordinate Integer General\r\n2 2 2\r\n2 2 9\r\n1\t1   -3 \r\n") ==
         Csr<>{2, {0, 1, 2}, {0, 1}, {-3, 9}}));
  CHECK((read("%%MatrixMarket matrix coordinate pattern general\n2 3 2\n2 3\n1 1\n") ==
         Csr<>{3, {0, 1, 2}, {0, 2}, {1, 1}}));
  CHECK((read("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 5\n3 1 2\n3 2 4\n") ==
         Csr<>{3, {0, 2, 3, 5}, {0, 2, 2, 0, 1}, {5, 2, 4, 2, 4}}));
  CHECK((read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n") ==
         Csr<>{2, {0, 1, 2}, {1, 0}, {-3, 3}}));
  CHECK((read(real + "0 0 0\n") == Csr<>{0, {0}, {}, {}}));
  CHECK((read(real + "2 5 0\n") == Csr<>{5, {0, 0, 0}, {}, {}}));
}

TEST_CASE("Matrix Market: entries at the same place are summed in file order") {
  // Not associative: (1 + 1e17) - 1e17 = 0, 1 + (1e17 - 1e17) = 1.
  CHECK((read(real + "1 2 4\n1 2 1\n1 1 8\n1 2 1e17\n1 2 -1e17\n") == Csr<>{2, {0, 2}, {0, 1}, {8, 0}}));
  CHECK((read(real + "1 1 3\n1 1 1e17\n1 1 -1e17\n1 1 1\n") == Csr<>{1, {0, 1}, {0}, {1}}));
}

TEST_CASE("Matrix Market: faults are named with their line") {
  const auto at = [](const char* line) { return Catch::Contains(std::string("m.mtx:") + line + ":"); };
  CHECK_THAT(fault(real + "% x\n2 2 2\n1 1 1\n3 1 1\n"), at("5") && Catch::Contains("row 3"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n1 0 1\n"), at("4") && Catch::Contains("column 0"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n1 1 x\n"), at("4") && Catch::Contains("number"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n1 1\n1 1 1\n"), at("4"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n1 1 1 1\n"), at("4") && Catch::Contains("after the entry"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n-1 1 1\n"), at("4"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n99999999999999999999 1 1\n"), at("4") && Catch::Contains("row"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1\n"), Catch::Contains("promised"));
  CHECK_THAT(fault(real + "2 2 2\n1 1 1.000000000\n"), Catch::Contains("after 1 of 2"));
  CHECK_THAT(fault(real + "2 2 1\n1 1 1\n1 1 1\n"), Catch::Contains("promises 1 entry, but there are more"));
  CHECK_THAT(fault(real + "2 2 1000000000000000000\n1 1 1\n"), at("2") && Catch::Contains("promised"));
  CHECK_THAT(fault(real + "1000000000000000000 2 1\n1 1 1\n"), at("2") && Catch::Contains("too large"));
  CHECK_THAT(fault(real + "2 2 99999999999999999999\n1 1 1\n"), at("2") && Catch::Contains("not a size"));
  CHECK_THAT(fault(real + "2 -2 1\n1 1 1\n"), at("2"));
  CHECK_THAT(fault(real + "2 2\n1 1 1\n"), at("2"));
  CHECK_THAT(fault(real + "2 x 1"), at("2"));  // a last line without an end
  CHECK_THAT(fault(real + "2 2 1\r"), at("2") && Catch::Contains("promised"));
  CHECK_THAT(fault(real), Catch::Contains("size line"));
  CHECK_THAT(fault("%%MatrixMarket matrix array real general\n2 2\n"), Catch::Contains("array"));
  CHECK_THAT(fault("%%MatrixMarket matrix coordinate complex general\n2 2 0\n"), Catch::Contains("complex"));
  CHECK_THAT(fault("%%MatrixMarket matrix coordinate real hermitian\n2 2 0\n"), Catch::Contains("hermitian"));
  CHECK_THAT(fault("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"), Catch::Contains("symmetric"));
  CHECK_THAT(fault("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n"),
             Catch::Contains("diagonal"));
  CHECK_THAT(fault("%%MatrixMarketing\n"), at("1"));
}

namespace {

/// What becomes of this text as a value in a file of such entries: the value, or the message.
struct Value {
  double value = 0;
  std::string fault;
};
Value value(const std::string& kind, const std::string& text) {
  try {
    return {
        read("%%MatrixMarket matrix coordinate " + kind + " general\n1 1 1\n1 1 " + text + "\n").values.at(0),
        ""};
  } catch (const DataError& e) {
    return {0, e.what()};
  }
}

}  // namespace

TEST_CASE("Matrix Market: real numbers") {
  struct Case {
    const char* text;
    double value;
  };
  const Case read_as[] = {{"1", 1},
                          {"+2.5", 2.5},
                          {"-.5", -.5},
                          {"3.", 3},
                          {"1e3", 1000},
                          {"1E+3", 1000},
                          {"0.1", 0.1},
                          {"9007199254740993", 9007199254740992.0},
                          {"1.7976931348623157e308", DBL_MAX},
                          {"5e-324", 5e-324},
                          {"2e-324", 0},
                          {"-1e-400", -0.0},
                          {"0e9999", 0},
                          {"1e-99999999999999999999", 0},
                          {"inf", HUGE_VAL},
                          {"-Infinity", -HUGE_VAL}};
  for (const Case& c : read_as) {
    INFO(c.text);
    const Value got = value("real", c.text);
    CHECK(got.fault.empty());
    CHECK(std::bit_cast<std::uint64_t>(got.value) == std::bit_cast<std::uint64_t>(c.value));
  }
  // Digits far away from their point.
  const std::string zeros(400, '0');
  CHECK(value("real", "0." + zeros + "1").value == 0);
  CHECK(value("real", "0." + zeros + "1e401").value == 1);
  CHECK(value("real", zeros + "7").value == 7);
  CHECK(value("real", "1" + zeros + "e-400").value == 1);
  CHECK(std::isnan(value("real", "nan").value));
  CHECK(std::isnan(value("real", "-NaN").value));
  for (const std::string text : {"1e309", "-1e400", "1e99999999999999999999", "0.001e400"})
    CHECK_THAT(value("real", text).fault,
               Catch::Contains("m.mtx:3: the number is beyond the range of a double"));
  CHECK_THAT(value("real", "1" + zeros).fault, Catch::Contains("beyond the range of a double"));
  for (const char* text : {"nan(12)", "nan()", "-nan(snan)", "x", "-", "+", "++1", "+-1", ".", "e5", "--1"}) {
    INFO(text);
    CHECK_THAT(value("real", text).fault, Catch::Contains("m.mtx:3: a number expected"));
  }
  for (const char* text : {"0x1p3", "1e", "1d5", "1,5", "1.5f", "nan(", "inf(1)", "infinit", "1_000"}) {
    INFO(text);
    CHECK_THAT(value("real", text).fault, Catch::Contains("m.mtx:3: text after the entry"));
  }
}

TEST_CASE("Matrix Market: an entry without a value") {
  for (const char* field : {"real", "integer"})
    CHECK_THAT(value(field, "").fault,
               Catch::Contains("m.mtx:3: the entry has no value: 'ROW COLUMN VALUE' expected"));
}

TEST_CASE("Matrix Market: integers are held exactly, or refused") {
  struct Case {
    const char* text;
    double value;
  };
  const Case read_as[] = {{"0", 0},
                          {"7", 7},
                          {"+7", 7},
                          {"-7", -7},
                          {"007", 7},
                          {"9007199254740992", 9007199254740992.0},
                          {"-9007199254740994", -9007199254740994.0},
                          {"9223372036854775808", 9223372036854775808.0}};
  for (const Case& c : read_as) {
    INFO(c.text);
    const Value got = value("integer", c.text);
    CHECK(got.fault.empty());
    CHECK(got.value == c.value);
  }
  for (const char* text : {"5.5", "5.0", "5.", "1e3", "inf", "nan", "x", "-", "++7", "+-7", "0x10"}) {
    INFO(text);
    CHECK_THAT(value("integer", text).fault, Catch::Contains("m.mtx:3: an integer expected"));
  }
  for (const char* text : {"9007199254740993", "-9007199254740993", "18446744073709551615",
                           "18446744073709551616", "1000000000000000000000000000000"}) {
    INFO(text);
    CHECK_THAT(value("integer", text).fault, Catch::Contains("m.mtx:3: a double does not hold this integer"));
  }
  CHECK(value("unsigned-integer", "18446744073709549568").value == 18446744073709549568.0);
  CHECK_THAT(value("unsigned-integer", "-1").fault, Catch::Contains("an integer from 0 on"));
  CHECK_THAT(value("integer", "7 8").fault, Catch::Contains("text after the entry"));

  // Sums at one place, too, in every way of summing them.
  const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
  CHECK((read(integer + "1 2 2\n1 2 9007199254740991\n1 2 1\n") ==
         Csr<>{2, {0, 1}, {1}, {9007199254740992.0}}));
  CHECK_THAT(fault(integer + "3 4 3\n2 3 9007199254740992\n1 1 5\n2 3 1\n"),
             Catch::Contains("m.mtx: the entries at row 2, column 3 have a sum that a double does not hold"));
  std::string many = integer + "1 1 100000\n";
  for (int i = 0; i < 100'000; ++i) many += "1 1 9007199254740991\n";
  TemporaryDirectory dir;
  write_file(dir / "many.mtx", many);
  CHECK_THROWS_WITH((io::open_csr<std::int32_t, double>(dir / "many.mtx", {.memory = 1 << 20})),
                    Catch::Contains("row 1, column 1 have a sum"));
}

TEST_CASE("Matrix Market: kinds of entries that a symmetry does not have") {
  for (const char* kind : {"pattern", "unsigned-integer"})
    CHECK_THAT(
        fault(std::string("%%MatrixMarket matrix coordinate ") + kind + " skew-symmetric\n2 2 1\n2 1 1\n"),
        Catch::Contains("m.mtx:1: a skew-symmetric matrix has negative entries") && Catch::Contains(kind));
}

TEST_CASE("Matrix Market: a file cut off at any byte is refused, or ends in a shorter number") {
  const std::string whole = real + "2 2 2\n1 1 25\n2 2 37\n";
  for (std::size_t n = 0; n < whole.size() - 2; ++n) {
    INFO(whole.substr(0, n));
    CHECK_FALSE(fault(whole.substr(0, n)).empty());
  }
}

TEST_CASE("Matrix Market: a row count without disk space is refused at once") {
  const TemporaryDirectory dir;
  write_file(dir / "m.mtx", real + "70000000000000000 2 1\n1 1 1\n");
  const io::OpenOptions here{.spool_dir = dir.path()};
  CHECK_THROWS_AS((io::open_csr<std::int64_t, double>(dir / "m.mtx", here)), IoError);
  CHECK_THROWS_WITH(
      (io::open_csr<std::int64_t, double>(dir / "m.mtx", here)),
      Catch::Contains(" MB in the folder " + dir.path() + ", where") && Catch::Contains("TMPDIR"));
}

TEST_CASE("Matrix Market: any order and any memory give the same matrix") {
  // More entries than the smallest memory holds, some rows far longer than others, some places many times.
  std::mt19937 random(7);
  struct Item {
    int row, col;
    double value;
  };
  std::vector<Item> items;
  const int rows = 3000, cols = 70'000;
  for (int i = 0; i < 120'000; ++i) {
    const int row = i % 3 == 0 ? 17 : i % 7 == 0 ? 2999 : static_cast<int>(random() % rows);
    const int col = i % 11 == 0 ? 5 : static_cast<int>(random() % cols);
    items.push_back({row, col, static_cast<double>(random() % 1000) / 8 + 1e-9 * i});
  }
  for (int i = 0; i < 30'000; ++i)
    items.push_back({17, 5, 1.0 / (i + 1)});  // one place, more than a bucket holds
  std::string text =
      real + std::to_string(rows) + " " + std::to_string(cols) + " " + std::to_string(items.size()) + "\n";
  char line[64];
  for (const Item& e : items) {
    std::snprintf(line, sizeof line, "%d %d %.17g\n", e.row + 1, e.col + 1, e.value);
    text += line;
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::pair(a.row, a.col) < std::pair(b.row, b.col);
  });
  Csr<> expected;
  expected.cols = cols;
  expected.indptr.assign(rows + 1, 0);
  for (std::size_t i = 0; i < items.size();) {
    Item sum = items[i++];
    for (; i < items.size() && items[i].row == sum.row && items[i].col == sum.col; ++i)
      sum.value += items[i].value;
    expected.indices.push_back(sum.col);
    expected.values.push_back(sum.value);
    ++expected.indptr[static_cast<std::size_t>(sum.row) + 1];
  }
  for (std::size_t r = 1; r < expected.indptr.size(); ++r) expected.indptr[r] += expected.indptr[r - 1];

  CHECK((read(text) == expected));
  CHECK((read(text, {.memory = 1 << 20}) == expected));
  for (const int threads : {1, 3, 100})
    CHECK((read(text, {.memory = 1 << 20, .threads = threads}) == expected));

  TemporaryDirectory spool;
  CHECK((read(text, {.spool_dir = spool.path(), .memory = 1 << 20}) == expected));
  CHECK(spool.files() == 0);
  // Far less than anything takes.
  for (const std::int64_t memory : {1, 17, 100, 4096})
    CHECK_THROWS_AS(
        read(real + "2 2 3\n2 1 4\n1 2 8\n2 1 1\n", {.spool_dir = spool.path(), .memory = memory}),
        ResourceError);
  CHECK(spool.files() == 0);
  CHECK_THROWS_AS(read(text, {.spool_dir = spool / "missing"}), IoError);
}

TEST_CASE("Matrix Market: header and types") {
  TemporaryDirectory dir;
  write_file(dir / "m.mtx", real + "3 4 1\n1 1 1\n");
  const io::CsrHeader header = io::inspect_matrix(dir / "m.mtx");
  CHECK(header.format == io::MatrixFormat::matrix_market);
  CHECK(header.rows == 3);
  CHECK(header.cols == 4);
  CHECK(header.entries == 1);
  CHECK_FALSE(header.nnz);
  CHECK(header.index == ScalarType::int32);
  CHECK(header.value == ScalarType::float64);
  CHECK_THROWS_AS((io::open_csr<std::int32_t, float>(dir / "m.mtx")), DataError);
  auto narrow = io::open_csr<std::int64_t, float>(dir / "m.mtx", {.convert = true});
  CHECK((drain<std::int64_t, float>(*narrow.erased(), 4) ==
         Csr<std::int64_t, float>{4, {0, 1, 1, 1}, {0}, {1}}));
  write_file(dir / "m.mtx", real + "3 3000000000 1\n1 3000000000 1\n");
  CHECK(io::inspect_matrix(dir / "m.mtx").index == ScalarType::int64);
  auto wide = io::open_csr<std::int64_t, double>(dir / "m.mtx");
  CHECK((drain<std::int64_t, double>(*wide.erased()).indices == std::vector<std::int64_t>{2'999'999'999}));
}
