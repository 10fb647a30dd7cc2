#include "support/catch.h"

#include <algorithm>

#include <anabranch/io.h>

#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

template <class I, class T>
void write(const std::string& path, const Csr<I, T>& m, std::int64_t batch) {
  io::CsrWriter writer(path, m.cols, detail::scalar_type<I>, detail::scalar_type<T>);
  for (std::int64_t r = 0; r < m.rows(); r += batch) {
    std::vector<std::int64_t> lengths;
    const std::int64_t end = std::min(r + batch, m.rows());
    for (std::int64_t i = r; i < end; ++i)
      lengths.push_back(m.indptr[static_cast<std::size_t>(i) + 1] - m.indptr[static_cast<std::size_t>(i)]);
    const auto begin = static_cast<std::size_t>(m.indptr[static_cast<std::size_t>(r)]);
    const auto n = static_cast<std::size_t>(m.indptr[static_cast<std::size_t>(end)]) - begin;
    writer.template append<I, T>(lengths, std::span(m.indices).subspan(begin, n),
                                 std::span(m.values).subspan(begin, n));
  }
  writer.commit();
}

template <class I, class T>
void round_trip() {
  TemporaryDirectory dir;
  const auto m = sample<I, T>(5000);
  for (std::int64_t batch : {1, 100, 5000}) {
    write(dir / "m.npz", m, batch);
    auto source = io::open_csr<I, T>(dir / "m.npz");
    CHECK(drain<I, T>(*source.erased(), m.cols) == m);
  }
  CHECK(dir.files() == 1);
}

}  // namespace

TEST_CASE("CsrWriter: npz of all types") {
  round_trip<std::int32_t, float>();
  round_trip<std::int32_t, double>();
  round_trip<std::int64_t, float>();
  round_trip<std::int64_t, double>();
}

TEST_CASE("CsrWriter: Matrix Market keeps every bit of the values") {
  TemporaryDirectory dir;
  auto m = sample(3000);
  // Columns of a row in rising order, as the reader gives them.
  for (std::size_t r = 0; r + 1 < m.indptr.size(); ++r)
    std::sort(m.indices.begin() + m.indptr[r], m.indices.begin() + m.indptr[r + 1]);
  for (std::size_t i = 0; i < m.values.size(); ++i)
    m.values[i] = 1.0 / static_cast<double>(i + 3) * (i % 2 ? 1 : -1e-300);
  write(dir / "m.mtx", m, 70);
  auto source = io::open_csr<std::int32_t, double>(dir / "m.mtx");
  CHECK((drain(*source.erased(), m.cols) == m));
  const std::string text = read_file(dir / "m.mtx");
  CHECK(text.substr(0, 46) == "%%MatrixMarket matrix coordinate real general\n");
  CHECK(text.find('\0') == std::string::npos);
}

TEST_CASE("CsrWriter: nothing remains without commit, an existing file stays") {
  TemporaryDirectory dir;
  write_file(dir / "m.npz", "old");
  {
    io::CsrWriter writer(dir / "m.npz", 10, ScalarType::int32, ScalarType::float64);
    writer.append<std::int32_t, double>(std::vector<std::int64_t>{1}, std::vector<std::int32_t>{3},
                                        std::vector<double>{1});
    CHECK(writer.rows() == 1);
    CHECK(writer.nnz() == 1);
  }
  CHECK(dir.files() == 1);
  CHECK(read_file(dir / "m.npz") == "old");
}

TEST_CASE("CsrWriter: a stop while it is finished leaves nothing") {
  const TemporaryDirectory dir;
  std::stop_source stop;
  stop.request_stop();
  {
    io::CsrWriter writer(dir / "m.npz", 10, ScalarType::int32, ScalarType::float64);
    writer.append<std::int32_t, double>(std::vector<std::int64_t>{1}, std::vector<std::int32_t>{3},
                                        std::vector<double>{1});
    CHECK_THROWS_AS(writer.finish(stop.get_token()), Cancelled);
    CHECK_THROWS_AS(writer.commit(), IoError);
  }
  CHECK(dir.files() == 0);
}

TEST_CASE("CsrWriter: what does not fit is refused") {
  TemporaryDirectory dir;
  io::CsrWriter writer(dir / "m.npz", 10, ScalarType::int32, ScalarType::float64);
  using L = std::vector<std::int64_t>;
  using C = std::vector<std::int32_t>;
  using V = std::vector<double>;
  CHECK_THROWS_AS((writer.append<std::int32_t, double>(L{2}, C{3}, V{1})), RunError);
  CHECK_THROWS_AS((writer.append<std::int32_t, double>(L{-1, 2}, C{3}, V{1})), RunError);
  CHECK_THROWS_AS((writer.append<std::int32_t, double>(L{1}, C{10}, V{1})), RunError);
  CHECK_THROWS_AS((writer.append<std::int32_t, double>(L{1}, C{-1}, V{1})), RunError);
  writer.append<std::int32_t, double>(L{1, 0}, C{9}, V{1});
  CHECK_THROWS_WITH((writer.append<std::int32_t, double>(L{0, 2, 0, 1}, C{0, 1, 10}, V{1, 2, 3})),
                    Catch::Contains("m.npz: row 5: column 10 is outside [0, 10)"));
  CHECK_THROWS_AS((writer.append<std::int32_t, float>(L{1}, C{1}, std::vector<float>{1})), RunError);
  CHECK_THROWS_AS(io::CsrWriter(dir / "m.txt", 10, ScalarType::int32, ScalarType::float64), IoError);
  CHECK_THROWS_AS(io::CsrWriter(dir / "m.npz", 10, ScalarType::float32, ScalarType::float64), RunError);
}

TEST_CASE("CsrWriter: two of one file are an error") {
  TemporaryDirectory dir;
  for (const char* name : {"m.npz", "m.mtx"}) {
    const std::string again = dir / std::string("./") + name;
    {
      io::CsrWriter first(dir / name, 3, ScalarType::int32, ScalarType::float64);
      CHECK_THROWS_WITH(io::CsrWriter(again, 4, ScalarType::int32, ScalarType::float64),
                        Catch::Contains("is writing this file"));
      first.commit();
    }
    io::CsrWriter(again, 4, ScalarType::int32, ScalarType::float64).commit();
    CHECK(io::inspect_matrix(dir / name).cols == 4);
  }
}
