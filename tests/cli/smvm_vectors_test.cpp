#include "support/catch.h"

#include <cmath>
#include <limits>

#include "command.h"

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
