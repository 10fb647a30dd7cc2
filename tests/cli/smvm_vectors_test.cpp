#include "support/catch.h"

#include <cmath>
#include <limits>

#include "command.h"
#include "refused.h"

using namespace cli_test;
using io_test::Csr;
using io_test::sample;

namespace {

template <class I, class T>
Csr<I, T> transposed(const Csr<I, T>& a) {
  Csr<I, T> out;
  out.cols = a.rows();
  for (std::int64_t c = 0; c < a.cols; ++c) {
    for (std::size_t r = 0; r + 1 < a.indptr.size(); ++r)
      for (auto k = static_cast<std::size_t>(a.indptr[r]); k < static_cast<std::size_t>(a.indptr[r + 1]); ++k)
        if (a.indices[k] == c) {
          out.indices.push_back(static_cast<I>(r));
          out.values.push_back(a.values[k]);
        }
    out.indptr.push_back(static_cast<I>(out.indices.size()));
  }
  return out;
}

template <class T>
std::string matrix_npy(const std::vector<T>& values, std::size_t rows, std::size_t cols,
                       bool fortran = false) {
  std::vector<T> stored(values.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j)
      stored[fortran ? j * rows + i : i * cols + j] = values[i * cols + j];
  return io_test::npy(sizeof(T) == 4 ? "<f4" : "<f8",
                      "(" + std::to_string(rows) + ", " + std::to_string(cols) + ")", io_test::raw(stored),
                      fortran ? "True" : "False");
}

/// Column j of a row-major matrix.
template <class T>
std::vector<T> column(const std::vector<T>& values, std::size_t cols, std::size_t j) {
  std::vector<T> out;
  for (std::size_t i = j; i < values.size(); i += cols) out.push_back(values[i]);
  return out;
}

bool shape_is(const std::string& file, const std::string& shape) {
  return io_test::read_file(file).substr(0, 128).find("'shape': (" + shape + ")") != std::string::npos;
}

template <class I, class T>
void check_transposed() {
  const TemporaryDirectory dir;
  const Csr<I, T> a = sample<I, T>(500);
  io_test::write_file(dir / "x.npy", io_test::npy(whole_numbers<T>(500)));
  const std::vector<T> expected = product(transposed(a), whole_numbers<T>(500));
  for (const bool compressed : {false, true}) {
    io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a), compressed));
    const Outcome o = command(
        {"smvm", dir / "a.npz", "--transpose", "--vector", dir / "x.npy", "--out", dir / "y.npy", "--json"});
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(npy_vector<T>(dir / "y.npy") == expected);
    const auto report = o.json();
    CHECK(report["matrix"]["transposed"] == true);
    CHECK(report["matrix"]["rows"] == 50);
    CHECK(report["matrix"]["columns"] == 500);
    CHECK(report["nnz"] == a.values.size());
  }
}

}  // namespace

TEST_CASE("smvm --transpose: all types") {
  check_transposed<std::int32_t, float>();
  check_transposed<std::int32_t, double>();
  check_transposed<std::int64_t, float>();
  check_transposed<std::int64_t, double>();
}

TEST_CASE("smvm --transpose: Matrix Market, duplicates, symmetric ones") {
  const TemporaryDirectory dir;
  const auto of = [&](const std::string& text, const std::vector<double>& x) {
    io_test::write_file(dir / "a.mtx", text);
    io_test::write_file(dir / "x.npy", io_test::npy(x));
    const Outcome o =
        command({"smvm", dir / "a.mtx", "--transpose", "--vector", dir / "x.npy", "--out", dir / "y.npy"});
    INFO(o.err);
    REQUIRE(o.status == 0);
    return npy_vector<double>(dir / "y.npy");
  };
  const std::string banner = "%%MatrixMarket matrix coordinate real ";
  CHECK(of(banner + "general\n3 2 4\n3 1 4\n1 1 0.5\n1 2 2\n1 2 3\n", {1, 10, 100}) ==
        std::vector<double>{400.5, 5});
  CHECK(of(banner + "skew-symmetric\n2 2 1\n2 1 7\n", {1, 10}) == std::vector<double>{70, -7});
  CHECK(of(banner + "symmetric\n2 2 2\n1 1 1\n2 1 7\n", {1, 10}) == std::vector<double>{71, 7});
  CHECK(of(banner + "general\n2 3 0\n", {1, 10}) == std::vector<double>{0, 0, 0});
}

TEST_CASE("smvm --transpose: of the transposed matrix the same bytes, whatever the memory") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "rmat", "--size", "32768", "--out", dir / "a.npz"}).status == 0);
  std::vector<double> x;
  for (int i = 0; i < 32768; ++i) x.push_back(1.0 / (i + 1));
  io_test::write_file(dir / "x.npy", io_test::npy(x));
  std::string first;
  for (const char* memory : {"2M", "16M", "1G"}) {
    INFO(memory);
    const Outcome o = command({"smvm", dir / "a.npz", "--transpose", "--vector", dir / "x.npy", "--out",
                               dir / "y.npy", "--memory", memory},
                              {.environment = {"TMPDIR=" + dir.path()}});
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(dir.files() == 3);
    const std::string bytes = io_test::read_file(dir / "y.npy");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  REQUIRE(command({"generate", "laplacian2d", "--size", "70", "--out", dir / "s.npz"}).status == 0);
  for (const bool transpose : {false, true}) {
    std::vector<std::string> arguments{"smvm", dir / "s.npz", "--out", dir / (transpose ? "t.npy" : "s.npy")};
    if (transpose) arguments.push_back("--transpose");
    REQUIRE(command(arguments).status == 0);
  }
  CHECK(io_test::read_file(dir / "s.npy") == io_test::read_file(dir / "t.npy"));
}

TEST_CASE("smvm --vectors: each column as its vector alone, in C and Fortran order") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "powerlaw", "--size", "2000", "--seed", "5", "--out", dir / "a.npz"}).status ==
          0);
  for (const std::size_t k : {1U, 2U, 3U, 8U, 17U}) {
    INFO(k);
    std::vector<double> x;
    for (std::size_t i = 0; i < 2000 * k; ++i) x.push_back(1.0 / (static_cast<double>(i) + 1));
    io_test::write_file(dir / "x.npy", matrix_npy(x, 2000, k));
    io_test::write_file(dir / "f.npy", matrix_npy(x, 2000, k, true));
    for (const char* file : {"x.npy", "f.npy"}) {
      const Outcome o =
          command({"smvm", dir / "a.npz", "--vectors", dir / file, "--out", dir / "y.npy", "--json"});
      INFO(o.err);
      REQUIRE(o.status == 0);
      CHECK(o.json()["vectors"] == k);
      CHECK(shape_is(dir / "y.npy", "2000, " + std::to_string(k)));
      const auto y = npy_vector<double>(dir / "y.npy");
      REQUIRE(y.size() == 2000 * k);
      for (const std::size_t j : {std::size_t{0}, k - 1}) {
        io_test::write_file(dir / "one.npy", io_test::npy(column(x, k, j)));
        REQUIRE(
            command({"smvm", dir / "a.npz", "--vector", dir / "one.npy", "--out", dir / "z.npy"}).status ==
            0);
        CHECK(npy_vector<double>(dir / "z.npy") == column(y, k, j));
      }
    }
  }
}

TEST_CASE("smvm --vectors: floats, transposed, the interpreter, schedulers") {
  const TemporaryDirectory dir;
  const Csr<std::int64_t, float> a = sample<std::int64_t, float>(500);
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  const std::vector<float> x = whole_numbers<float>(500 * 3);
  io_test::write_file(dir / "x.npy", matrix_npy(x, 500, 3));
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--backend", "interpreter"},
                                               {"--scheduler", "fixed:7"},
                                               {"--threads", "1"}}) {
    std::vector<std::string> arguments{"smvm",        dir / "a.npz", "--transpose", "--vectors",
                                       dir / "x.npy", "--out",       dir / "y.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome o = command(arguments);
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(shape_is(dir / "y.npy", "50, 3"));
    const auto y = npy_vector<float>(dir / "y.npy");
    for (std::size_t j = 0; j < 3; ++j) CHECK(column(y, 3, j) == product(transposed(a), column(x, 3, j)));
  }
  // No rows, no columns, no vectors.
  io_test::write_file(dir / "none.npy", matrix_npy(std::vector<float>{}, 50, 0));
  REQUIRE(command({"smvm", dir / "a.npz", "--vectors", dir / "none.npy", "--out", dir / "y.npy"}).status ==
          0);
  CHECK(shape_is(dir / "y.npy", "500, 0"));
}

TEST_CASE("smvm: shapes that do not fit are named") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample(300))));  // 300 x 50
  io_test::write_file(dir / "v50.npy", io_test::npy(std::vector<double>(50)));
  io_test::write_file(dir / "v300.npy", io_test::npy(std::vector<double>(300)));
  io_test::write_file(dir / "m50.npy", matrix_npy(std::vector<double>(50 * 4), 50, 4));
  io_test::write_file(dir / "m4.npy", matrix_npy(std::vector<double>(50 * 4), 4, 50));
  io_test::write_file(dir / "i.npy", io_test::npy("<i8", "(50, 1)", std::string(400, '\1')));
  const auto refused = [&](const std::vector<std::string>& more, const std::string& sentence,
                           int status = 3) {
    std::vector<std::string> arguments{"smvm", dir / "a.npz", "--out", dir / "y.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == status);
    CHECK(o.err.find(sentence) != std::string::npos);
    CHECK(dir.files() == 6);
  };
  refused({"--vector", dir / "v300.npy"}, "300 elements, but the matrix has 50 columns");
  refused({"--transpose", "--vector", dir / "v50.npy"},
          "50 elements, but the transposed matrix has 300 columns");
  refused({"--vector", dir / "m50.npy"},
          "a vector is needed, this is an array of rank 2 (--vectors takes several)");
  refused({"--vectors", dir / "v50.npy"}, "this is an array of rank 1 (--vector takes one)");
  refused({"--vectors", dir / "m4.npy"},
          "4 rows, but the matrix has 50 columns; this array has its vectors as rows");
  refused({"--transpose", "--vectors", dir / "m50.npy"},
          "50 rows, but the transposed matrix has 300 columns");
  refused({"--vectors", dir / "i.npy"}, "int64, which the matrix's double cannot hold exactly");
  refused({"--vector", dir / "v50.npy", "--vectors", dir / "m50.npy"}, "excludes", 2);
  refused({"--transpose=1"}, "transpose", 2);
  refused({"--vectors", dir / "y.npy"}, "y.npy", 2);
  refused({"--vectors", dir / "m50.npy", "--memory", "10K"}, "the vectors x", 5);
}

TEST_CASE("smvm --vectors: files that are no matrix of numbers, or another than they say") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample<std::int32_t, float>(300))));
  io_test::write_file(dir / "x.npy", "");
  const auto refuses_file = [&](const std::string& bytes, const std::string& says) {
    io_test::write_file(dir / "x.npy", bytes);
    refuses(dir, {"smvm", dir / "a.npz", "--vectors", dir / "x.npy", "--out", dir / "y.npy"}, 3,
            "anabranch: " + dir / "x.npy" + ": " + says);
  };
  const std::string good = matrix_npy(whole_numbers<float>(50 * 2), 50, 2);
  refuses_file("", "0 bytes are too few for an NPY array");
  refuses_file(good.substr(0, 9), "9 bytes are too few for an NPY array");
  refuses_file(good.substr(0, 50), "50 bytes are too few for an NPY array");
  refuses_file(good.substr(0, good.size() - 1),
               "the header promises 50 x 2 elements of 4 bytes (<f4), but there are 399");
  refuses_file(good + "x", "the header promises 50 x 2 elements of 4 bytes (<f4), but there are 401");
  refuses_file(io_test::read_file(dir / "a.npz"), "not an NPY array (wrong first bytes)");
  std::string version = good;
  version[6] = 4;
  refuses_file(version, "NPY version 4.0 is not known");
  const std::string bytes(400, '\0');
  const auto refuses_shape = [&](const std::string& shape, const std::string& says) {
    refuses_file(io_test::npy("<f4", shape, bytes), says);
  };
  refuses_file(io_test::npy("<f4", "()", std::string(4, '\0')),
               "--vectors takes a matrix with a vector in each column, this is an array of rank 0\n");
  refuses_shape("(50, 2, 1)",
                "--vectors takes a matrix with a vector in each column, this is an array of rank 3\n");
  refuses_shape("(-50, 2)", "bad NPY header: the extent -50 is negative (at character ");
  refuses_shape("(50, 9223372036854775807)", "the header promises 50 x 9223372036854775807 elements");
  refuses_shape("(50, 99999999999999999999)", "bad NPY header: an extent beyond 64 bits (at character ");
  refuses_shape("(50.0, 2)", "bad NPY header: ");
  refuses_shape("(99, 1)", "the header promises 99 x 1 elements");
  refuses_shape("(100, 1)", "100 rows, but the matrix has 50 columns\n");
  for (const bool fortran : {false, true}) {
    refuses_file(matrix_npy(std::vector<float>{}, 0, 2, fortran), "0 rows, but the matrix has 50 columns\n");
    refuses_file(matrix_npy(std::vector<float>{}, 49, 0, fortran),
                 "49 rows, but the matrix has 50 columns\n");
    refuses_file(matrix_npy(std::vector<float>(2 * 50), 2, 50, fortran),
                 "2 rows, but the matrix has 50 columns; this array has its vectors as rows\n");
  }
  const auto refuses_type = [&](const std::string& dtype, std::size_t width, const std::string& says) {
    refuses_file(io_test::npy(dtype, "(50, 1)", std::string(50 * width, '\0')), says);
  };
  refuses_type(
      "<f8", 8,
      "elements of type double, which the matrix's float cannot hold exactly; convert one of them\n");
  refuses_type("<i4", 4, "elements of type int32, which the matrix's float cannot hold exactly; ");
  refuses_type("<c8", 8, "elements of type complex float, which the matrix's float cannot hold exactly; ");
  refuses_type(">f4", 4, "dtype '>f4' is big-endian; only little-endian is read\n");
  refuses_type("|S4", 4, "dtype '|S4' is text, not numbers\n");
  for (const char* dtype : {"|O", "<f16", "<M8[ns]", "<f0", ""})
    refuses_type(dtype, 8, "dtype '" + std::string(dtype) + "' is not supported (");
  refuses_file(io_test::npy("|b1", "(50, 1)", std::string(50, '\2')),
               "element 0 is the byte 2, not a bool\n");
}

TEST_CASE("smvm --vectors: NaNs and infinities are numbers; of no vectors nothing is left, in either order") {
  const TemporaryDirectory dir;
  Csr<> a;  // 1 0 | 0 2 | 0 3
  a.cols = 2;
  a.indptr = {0, 1, 2, 3};
  a.indices = {0, 1, 1};
  a.values = {1, 2, 3};
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const bool fortran : {false, true}) {
    io_test::write_file(dir / "x.npy", matrix_npy(std::vector<double>{nan, 5, inf, -inf}, 2, 2, fortran));
    REQUIRE(command({"smvm", dir / "a.npz", "--vectors", dir / "x.npy", "--out", dir / "y.npy"}).status == 0);
    const auto y = npy_vector<double>(dir / "y.npy");
    REQUIRE(y.size() == 6);
    CHECK(std::isnan(y[0]));
    CHECK(std::vector<double>(y.begin() + 1, y.end()) == std::vector<double>{5, inf, -inf, inf, -inf});
    io_test::write_file(dir / "x.npy", matrix_npy(std::vector<double>{}, 2, 0, fortran));
    const Outcome o =
        command({"smvm", dir / "a.npz", "--vectors", dir / "x.npy", "--out", dir / "y.npy", "--json"});
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(o.json()["vectors"] == 0);
    CHECK(shape_is(dir / "y.npy", "3, 0"));
  }
}

TEST_CASE("smvm --transpose: matrices that are damaged are refused before they are sorted") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", "");
  const auto refuses_matrix = [&](const std::string& bytes, const std::string& says) {
    io_test::write_file(dir / "a.npz", bytes);
    refuses(dir, {"smvm", dir / "a.npz", "--transpose", "--out", dir / "y.npy"}, 3,
            "anabranch: " + dir / "a.npz" + ": " + says);
  };
  const auto with = [](auto change) {
    Csr<> a = sample(300);
    change(a);
    return io_test::npz(io_test::members(a));
  };
  refuses_matrix(with([](Csr<>& a) { a.indices[700] = 50; }),
                 "indices.npy: entry 700 (byte 2800 of the array) is column 50");
  refuses_matrix(with([](Csr<>& a) { a.indices[700] = -1; }),
                 "indices.npy: entry 700 (byte 2800 of the array) is column -1");
  refuses_matrix(with([](Csr<>& a) { a.indptr[0] = 1; }), "indptr.npy: begins with 1, not 0");
  refuses_matrix(with([](Csr<>& a) { a.indptr[100] = -1; }), "indptr.npy: offset 100 is -1, smaller than");
  refuses_matrix(with([](Csr<>& a) { a.indptr.back() += 1; }), "indptr.npy: ends with ");
  const std::string good = with([](Csr<>&) {});
  refuses_matrix(good.substr(0, good.size() / 2), "not a usable zip file");
  std::string flipped = good;
  const std::size_t value = flipped.find("data.npy") + 8 + 200;
  flipped[value] = static_cast<char>(flipped[value] ^ 1);
  refuses_matrix(flipped, "data.npy: the checksum (CRC-32) of its bytes is ");
}

TEST_CASE("smvm --explain: says what would run, and runs nothing") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample(300))));
  const Outcome o = command({"smvm", dir / "a.npz", "--explain"});
  CHECK(o.status == 0);
  for (const char* part : {"stream_in", "gather", "kernels"}) CHECK(o.out.find(part) != std::string::npos);
  CHECK(dir.files() == 1);
}

TEST_CASE("smvm --vectors: of a matrix without rows y has as many columns as there are vectors") {
  const TemporaryDirectory dir;
  Csr<> a;
  a.cols = 5;
  a.indptr.resize(1);
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  for (const std::size_t vectors : {0, 1, 3}) {
    io_test::write_file(dir / "x.npy",
                        matrix_npy(whole_numbers<double>(5 * std::int64_t(vectors)), 5, vectors));
    for (const char* backend : {"cpu", "interpreter"}) {
      const Outcome o = command(
          {"smvm", dir / "a.npz", "--vectors", dir / "x.npy", "--out", dir / "y.npy", "--backend", backend});
      INFO(o.err);
      REQUIRE(o.status == 0);
      CHECK(shape_is(dir / "y.npy", "0, " + std::to_string(vectors)));
    }
  }
}
