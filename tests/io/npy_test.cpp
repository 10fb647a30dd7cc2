#include "support/catch.h"

#include <anabranch/io.h>

#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

TEST_CASE("npy: arrays of every rank and type come back") {
  TemporaryDirectory dir;
  const std::string path = dir / "a.npy";
  const Array<2, double> matrix(Index<2>{{2, 3}}, {1, 2, 3, 4, 5, 6.5});
  io::write_npy(path, matrix);
  CHECK(dir.files() == 1);
  CHECK((io::read_npy<2, double>(path) == matrix));
  const io::NpyHeader header = io::inspect_npy(path);
  CHECK(header.type == ScalarType::float64);
  CHECK(header.extents == std::vector<std::int64_t>{2, 3});
  CHECK(header.bytes() == 48);
  io::write_npy(path, Array<0, std::int64_t>(7));
  CHECK((io::read_npy<0, std::int64_t>(path)[0] == 7));
  const Vector<bool> flags(Index<1>{{3}}, {true, false, true});
  io::write_npy(path, flags);
  CHECK((io::read_npy<1, bool>(path) == flags));
  io::write_npy(path, Array<4, std::uint8_t>(Index<4>{{1, 0, 2, 3}}));
  CHECK((io::read_npy<4, std::uint8_t>(path).shape() == Index<4>{{1, 0, 2, 3}}));
  const Vector<std::uint16_t> words{0, 258, 65535};
  io::write_npy(path, words);
  CHECK(io::inspect_npy(path).type == ScalarType::uint16);
  CHECK((io::read_npy<1, std::uint16_t>(path) == words));
  CHECK((io::read_npy<1, float>(path, {.convert = true}) == Vector<float>{0, 258, 65535}));
  const auto comes_back = [&]<class T>(const Vector<T>& values, const char* dtype) {
    io::write_npy(path, values);
    CHECK(io::inspect_npy(path).type == anabranch::detail::scalar_type<T>);
    CHECK(read_file(path).find(dtype) != std::string::npos);
    CHECK((io::read_npy<1, T>(path) == values));
    CHECK((io::read_npy<1, double>(path, {.convert = true})[1] == static_cast<double>(values[1])));
  };
  comes_back(Vector<std::int8_t>{-128, -1, 127}, "'|i1'");
  comes_back(Vector<std::int16_t>{-32768, -258, 32767}, "'<i2'");
  comes_back(Vector<std::uint32_t>{0, 4000000000}, "'<u4'");
  comes_back(Vector<std::uint64_t>{0, std::uint64_t{1} << 63}, "'<u8'");
  comes_back(Vector<half>{half(-0.0), half(0x1p-24), half(65504)}, "'<f2'");
  io::write_npy(path, Vector<double>{1e5, 1.0 / 3, 0x1p-25});
  CHECK((io::read_npy<1, half>(path, {.convert = true}) == Vector<half>{half(1e5), half(1.0 / 3), half(0)}));
  io::write_npy(path, Vector<float>{1.5f, -2});
  CHECK((io::read_npy<1, double>(path, {.convert = true}) == Vector<double>{1.5, -2}));
}

TEST_CASE("npy: complex numbers") {
  using Z = std::complex<float>;
  TemporaryDirectory dir;
  const std::string path = dir / "z.npy";
  write_file(path, npy("<c8", "(2, 1)", raw(std::vector<float>{1, 2, -3, 0.5f})));
  CHECK((io::read_npy<2, Z>(path) == Array<2, Z>(Index<2>{{2, 1}}, {{1, 2}, {-3, 0.5f}})));
  CHECK((io::read_npy<2, std::complex<double>>(path, {.convert = true})[1] == std::complex<double>(-3, 0.5)));
  CHECK_THROWS_WITH((io::read_npy<2, std::complex<double>>(path)),
                    Catch::Contains("elements of type complex float, but complex double was asked for"));
  CHECK_THROWS_WITH((io::read_npy<2, float>(path, {.convert = true})),
                    Catch::Contains("elements of type complex float, but float was asked for"));
  CHECK_THROWS_AS((io::read_npy<2, Z>(path, {.memory = 15})), ResourceError);
  CHECK((io::read_npy<2, Z>(path, {.memory = 16}).size() == 2));
  const io::NpyHeader header = io::inspect_npy(path);
  CHECK(header.complex);
  CHECK(header.type == ScalarType::float32);
  CHECK(header.bytes() == 16);

  // More than one piece, and the bytes that NumPy writes.
  Vector<std::complex<double>> many(20'000);
  std::vector<double> interleaved;
  for (int i = 0; i < 20'000; ++i) {
    many.set(i, {i / 4.0, -i * 3.0});
    interleaved.insert(interleaved.end(), {i / 4.0, -i * 3.0});
  }
  io::write_npy(path, many);
  CHECK((io::read_npy<1, std::complex<double>>(path) == many));
  const std::string bytes = read_file(path);
  CHECK(bytes.find("'descr': '<c16'") != std::string::npos);
  CHECK(bytes.substr(bytes.size() - raw(interleaved).size()) == raw(interleaved));
  io::write_npy(path, Vector<Z>(0));
  CHECK((io::read_npy<1, Z>(path).size() == 0));
  write_file(path, npy("<c8", "(2,)", raw(std::vector<float>{1, 2, 3})));
  CHECK_THROWS_AS((io::read_npy<1, Z>(path)), DataError);
  write_file(path, npy("<f8", "(1,)", raw(std::vector<double>{1})));
  CHECK_THROWS_WITH((io::read_npy<1, Z>(path, {.convert = true})),
                    Catch::Contains("elements of type double, but complex float was asked for"));
}

TEST_CASE("npy: arrays in Fortran order") {
  TemporaryDirectory dir;
  const std::string path = dir / "a.npy";
  write_file(path, npy("<f8", "(2, 3)", raw(std::vector<double>{1, 4, 2, 5, 3, 6}), "True"));
  CHECK(io::inspect_npy(path).fortran_order);
  const Matrix<double> matrix(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK((io::read_npy<2, double>(path) == matrix));
  CHECK((io::read_npy<2, float>(path, {.convert = true})[5] == 6));
  CHECK_THROWS_AS((io::read_npy<2, double>(path, {.memory = 47})), ResourceError);
  write_file(path, npy("|i1", "(2, 2, 2)", raw(std::vector<std::int8_t>{0, 4, 2, 6, 1, 5, 3, 7}), "True"));
  CHECK((io::read_npy<3, std::int8_t>(path) ==
         Array<3, std::int8_t>(Index{2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})));
  write_file(path, npy("<f8", "(3,)", raw(std::vector<double>{1, 2, 3}), "True"));
  CHECK((io::read_npy<1, double>(path) == Vector<double>{1, 2, 3}));
  // So many rows of nothing take no time.
  write_file(path, npy("<f8", "(576460752303423488, 0)", "", "True"));
  CHECK((io::read_npy<2, double>(path).shape() == Index{std::int64_t{1} << 59, 0}));
  // Where elements of a row belong takes memory, too.
  write_file(path, npy("|u1", "(2, 30, 40)", std::string(2400, '\1'), "True"));
  CHECK_THROWS_AS((io::read_npy<3, std::uint8_t>(path, {.memory = 2400 + 9000})), ResourceError);
  CHECK((io::read_npy<3, std::uint8_t>(path, {.memory = 2400 + 13'000}).size() == 2400));
}

TEST_CASE("npy: types as others than NumPy write them") {
  const TemporaryDirectory dir;
  const std::string path = dir / "a.npy";
  for (const char* type : {"u1", "<u1", ">u1", "=u1", "|u1"}) {
    write_file(path, npy(type, "(2,)", "\1\377"));
    CHECK((io::read_npy<1, std::uint8_t>(path) == Vector<std::uint8_t>{1, 255}));
  }
  write_file(path, npy("<b1", "(2,)", std::string("\0\1", 2)));
  CHECK((io::read_npy<1, bool>(path) == Vector<bool>{false, true}));
  for (const char* type : {"f8", "=f8", "<f8"}) {
    write_file(path, npy(type, "(1,)", raw(std::vector<double>{2.5})));
    CHECK((io::read_npy<1, double>(path) == Vector<double>{2.5}));
  }
  for (const char* type : {"|f8", ">f8", "<f", "<", "", "<u11", "u"}) {
    write_file(path, npy(type, "(1,)", raw(std::vector<double>{2.5})));
    CHECK_THROWS_AS((io::read_npy<1, double>(path)), DataError);
  }
}

TEST_CASE("npy: what does not fit is refused") {
  TemporaryDirectory dir;
  const std::string path = dir / "a.npy";
  const auto refused = [&](const std::string& bytes, const char* message) {
    write_file(path, bytes);
    CHECK_THROWS_WITH((io::read_npy<1, double>(path)), Catch::Contains(message) && Catch::Contains("a.npy"));
    CHECK_THROWS_AS((io::read_npy<1, double>(path)), DataError);
  };
  const std::vector<double> three{1, 2, 3};
  refused(npy("<f4", "(6,)", raw(three)), "type float");
  refused(npy("<f8", "(1, 3)", raw(three)), "rank 2");
  refused(npy(">f8", "(3,)", raw(three)), "big-endian");
  for (const char* other : {">i2", ">u2", ">u4", ">u8", ">f2"})
    refused(npy(other, "(3,)", raw(three)), "big-endian");
  refused(npy("<f8", "(4,)", raw(three)), "promises 4");
  refused(npy("<f8", "(2,)", raw(three)), "promises 2");
  refused(npy("<f8", "(1000000000000000000,)", raw(three)), "promises");
  refused(npy("<f8", "(3", raw(three)), "bad NPY header");
  refused(npy("<f8", "3", raw(three)), "'(' expected");
  write_file(path, npy("|b1", "(2,)", "\x01\x02"));
  CHECK_THROWS_WITH((io::read_npy<1, bool>(path)), Catch::Contains("element 1"));
  write_file(path, npy(three));
  CHECK_THROWS_AS((io::read_npy<1, double>(path, {.memory = 23})), ResourceError);
  CHECK((io::read_npy<1, double>(path, {.memory = 24}).size() == 3));
  CHECK_THROWS_AS((io::read_npy<1, double>(dir / "missing.npy")), IoError);

  const std::string whole = npy(three);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(path, whole.substr(0, n));
    CHECK_THROWS_AS((io::read_npy<1, double>(path)), DataError);
  }
}

TEST_CASE("npy: a vector written piece by piece") {
  TemporaryDirectory dir;
  const std::string path = dir / "v.npy";
  std::vector<double> all;
  {
    io::NpyWriter writer(path, ScalarType::float64);
    for (int i = 0; i < 1000; ++i) {
      const std::vector<double> part(static_cast<std::size_t>(i), i / 4.0);
      writer.append<double>(part);
      all.insert(all.end(), part.begin(), part.end());
    }
    CHECK(writer.size() == static_cast<std::int64_t>(all.size()));
    CHECK_THROWS_AS(writer.append<float>(std::vector<float>{1}), RunError);
    CHECK_FALSE(std::filesystem::exists(path));
    writer.commit();
  }
  CHECK(dir.files() == 1);
  CHECK((io::read_npy<1, double>(path) == Vector<double>(all)));

  {
    io::NpyWriter writer(path, ScalarType::int32);
  }
  CHECK(dir.files() == 1);
  CHECK((io::read_npy<1, double>(path).size() == static_cast<std::int64_t>(all.size())));
  CHECK_THROWS_AS(io::NpyWriter(dir / "no/such/v.npy", ScalarType::int32), IoError);
  CHECK_THROWS_AS(io::NpyWriter(dir.path(), ScalarType::int32), IoError);
}

TEST_CASE("npy: output through a symbolic link replaces the file it names") {
  TemporaryDirectory dir;
  write_file(dir / "real.npy", "old");
  std::filesystem::create_symlink("real.npy", dir / "link.npy");
  io::write_npy(dir / "link.npy", Vector<double>{1});
  CHECK(std::filesystem::is_symlink(dir / "link.npy"));
  CHECK((io::read_npy<1, double>(dir / "real.npy") == Vector<double>{1}));
}

TEST_CASE("writers: what comes after commit is refused, and messages name the file as it was given") {
  TemporaryDirectory dir;
  const std::vector<double> values{1, 2};
  io::NpyWriter npy(dir / "v.npy", ScalarType::float64);
  npy.append<double>(values);
  npy.commit();
  CHECK_THROWS_AS(npy.commit(), RunError);
  CHECK_THROWS_WITH(npy.append<double>(values),
                    Catch::Contains("v.npy") && Catch::Contains("committed before"));
  CHECK((io::read_npy<1, double>(dir / "v.npy") == Vector<double>{1, 2}));
  for (const char* name : {"m.npz", "m.mtx"}) {
    io::CsrWriter csr(dir / name, 3, ScalarType::int32, ScalarType::float64);
    csr.commit();
    CHECK_THROWS_WITH(csr.commit(), Catch::Contains(name) && Catch::Contains("committed before"));
  }
  const std::string nowhere = dir / "no/such/v.npy";
  CHECK_THROWS_WITH(io::NpyWriter(nowhere, ScalarType::int32),
                    Catch::StartsWith(nowhere + ": cannot create"));
}
