#include <anabranch/io.h>

#include <filesystem>

#include <anabranch/ragged.h>

#include "agree.h"
#include "support/files.h"

// Results of streams in files: .npy rows, ragged pairs, sparse matrices.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;

/// Files are brought to the disk, which takes its time: a few of them.
std::vector<RunOptions> some_configurations() {
  std::vector<RunOptions> some{{.backend = Backend::interpreter}};
  const auto& all = configurations();
  for (std::size_t i = 0; i < all.size(); i += 5) some.push_back(all[i]);
  return some;
}

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 0, 0, 130, 17, 33})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

/// Runs in every configuration; what is read afterwards is always the same.
template <class T, class Read>
void check_file(const Terminal<T>& written, std::int64_t items, Read read) {
  const auto program = compile(consume(written));
  for (const RunOptions& options : some_configurations()) {
    INFO(to_string(options));
    CHECK(program.run(options)[0] == items);
    read();
  }
}

TEST_CASE("write .npy rows: items of every rank, stacked") {
  const TemporaryDirectory dir;
  const std::string path = dir / "y.npy";
  const auto check = [&]<int N, class T>(const Seq<Array<N, T>>& sequence, std::int64_t items,
                                         const Array<N + 1, T>& expected) {
    check_file(write(sequence, io::write_npy_rows(path)), items,
               [&] { CHECK((io::read_npy<N + 1, T>(path) == expected)); });
    CHECK(dir.files() == 1);
  };
  check(map_seq([](auto row) { return sum(row); }, stream_in(std::vector<Vector<float>>{{1, 2}, {}, {3}})), 3,
        Vector<float>{3, 0, 3});
  const auto cube = array_of(Index{5, 3, 4}, [](std::int64_t i) { return static_cast<std::int16_t>(i * 7); });
  check(rows(use(cube)), 5, cube);
  check(map_seq([](auto plane) { return transpose(plane); }, rows(use(cube))), 5,
        run(consume(tabulate(map_seq([](auto plane) { return transpose(plane); }, rows(use(cube)))))));
  // Known to be equal when all have been computed only.
  check(map_seq([](auto row) { return std::get<0>(filter([](auto x) { return x > 1; }, row)); },
                stream_in(std::vector<Vector<std::int32_t>>{{1, 2, 3}, {4, 5}, {0, 7, 8, 1}})),
        3, Matrix<std::int32_t>(Index{3, 2}, {2, 3, 4, 5, 7, 8}));
  check(produce(4, [](auto i) { return fill(Index{2, 0}, i); }), 4, Array<3, std::int64_t>(Index{4, 2, 0}));
  // Of nothing there is no shape.
  check(map_seq([](auto) { return fill(3, 1.0); }, stream_in(std::vector<Vector<double>>{})), 0,
        Matrix<double>(Index{0, 0}));
  check(produce(
            3, [](auto i) { return map([=](auto x) { return complex(x, cast<double>(i)); }, fill(2, 0.5)); }),
        3,
        Matrix<std::complex<double>>(Index{3, 2},
                                     {{0.5, 0}, {0.5, 0}, {0.5, 1}, {0.5, 1}, {0.5, 2}, {0.5, 2}}));
  // Rank 4, which no array in memory holds stacked: read again as a stream.
  const auto items = produce(3, [](auto i) {
    return generate(Index{2, 1, 3, 2}, [=](auto ix) { return i * 100 + ix[0] * 10 + ix[2] + ix[3]; });
  });
  check_file(write(items, io::write_npy_rows(path)), 3, [&] {
    CHECK(io::inspect_npy(path).extents == std::vector<std::int64_t>{3, 2, 1, 3, 2});
    CHECK(run(consume(elements(stream_in(io::open_npy_rows<5, std::int64_t>(path))))) ==
          run(consume(elements(items))));
  });
}

TEST_CASE("write .npy rows: items of different shapes are refused, and what was there stays") {
  const TemporaryDirectory dir;
  io::write_npy(dir / "y.npy", Vector<double>{1, 2});
  const auto refused = [&](const auto& items, const char* message) {
    const std::string said =
        fails<RunError>(consume(write(items, io::write_npy_rows(dir / "y.npy"))), {message});
    CHECK_THAT(said, Contains("y.npy") && Contains("(write_files_test.cpp:"));
    CHECK(dir.files() == 1);
    CHECK((io::read_npy<1, double>(dir / "y.npy") == Vector<double>{1, 2}));
  };
  refused(produce(50, [](auto i) { return fill(i / 40 + 3, 1.0); }),
          "item 40 has the shape [4], those before it [3]");
  refused(produce(50,
                  [](auto i) {
                    return fill(index_of(2, cond(i == 7, Exp<std::int64_t>(0), Exp<std::int64_t>(1))), 1.0);
                  }),
          "item 7 has the shape [2, 0], those before it [2, 1]");
}

TEST_CASE("write ragged pairs") {
  const TemporaryDirectory dir;
  const auto rows = some_rows();
  const auto doubled =
      map_seq([](auto row) { return map([](auto x) { return x * 2.0; }, row); }, stream_in(rows));
  check_file(write(doubled, io::write_ragged(dir / "x")), 9, [&] {
    CHECK(dir.files() == 2);
    const auto offsets = io::read_npy<1, std::int64_t>(dir / "x.offsets.npy");
    const auto values = io::read_npy<1, double>(dir / "x.values.npy");
    const auto read = Ragged<double>::from_offsets(offsets, values);
    REQUIRE(read.size() == 9);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::int64_t k = 0; k < rows[i].size(); ++k)
        REQUIRE(read[static_cast<std::int64_t>(i)][k] == rows[i][k] * 2);
  });
  check_items(stream_in(io::open_ragged<double>(dir / "x")), [&] {
    std::vector<Vector<double>> twice;
    for (const auto& row : rows)
      twice.push_back(vector_of(row.size(), [&](std::int64_t i) { return row[i] * 2; }));
    return twice;
  }());
  check_file(write(take_seq(0, doubled), io::write_ragged(dir / "none")), 0, [&] {
    CHECK((io::read_npy<1, std::int64_t>(dir / "none.offsets.npy") == Vector<std::int64_t>{0}));
    CHECK(io::read_npy<1, double>(dir / "none.values.npy").size() == 0);
  });
  const auto turns = map_seq([](auto row) { return map([](auto x) { return complex(x, -x); }, row); },
                             stream_in(std::vector<Vector<float>>{{1, 2}, {}, {3}}));
  check_file(write(turns, io::write_ragged(dir / "z")), 3, [&] {
    CHECK((io::read_npy<1, std::complex<float>>(dir / "z.values.npy") ==
           Vector<std::complex<float>>{{1, -1}, {2, -2}, {3, -3}}));
  });
  // Regular items.
  check_file(write(produce(5, [](auto i) { return fill(3, i); }), io::write_ragged(dir / "r")), 5, [&] {
    CHECK((io::read_npy<1, std::int64_t>(dir / "r.offsets.npy") == Vector<std::int64_t>{0, 3, 6, 9, 12, 15}));
  });
  CHECK_THROWS_AS(run(consume(write(doubled, io::write_ragged(dir / "no/such/x")))), IoError);
}

using Bytes = Vector<std::uint8_t>;

TEST_CASE("write lines: items of bytes, read again as lines") {
  const TemporaryDirectory dir;
  const std::string path = dir / "words.txt";
  const auto bytes = [](const std::string& text) {
    return vector_of(std::ssize(text), [&](std::int64_t i) {
      return static_cast<std::uint8_t>(text[static_cast<std::size_t>(i)]);
    });
  };
  std::vector<Bytes> lines;
  std::string expected;
  for (int k = 0; k < 300; ++k)
    for (const std::string& text : {std::string("word"), std::string(), std::string("\r in\0side", 9),
                                    std::string("\xff\x80"), std::string(static_cast<std::size_t>(k), 'x')}) {
      lines.push_back(bytes(text));
      expected += text + "\n";
    }
  check_file(write(stream_in(lines), io::write_lines(path)), std::ssize(lines), [&] {
    CHECK(read_file(path) == expected);
    std::size_t i = 0;
    for (const Bytes& line : stream_out(stream_in(io::open_lines(path)))) REQUIRE(line == lines[i++]);
    CHECK(i == lines.size());
  });
  // Computed items, and none.
  const auto upper = map_seq(
      [](auto line) {
        return map([](auto c) { return cond(c >= 'a' && c <= 'z', c - std::uint8_t{32}, c); }, line);
      },
      stream_in(std::vector<Bytes>{bytes("abc"), bytes("Z-z")}));
  check_file(write(upper, io::write_lines(path)), 2, [&] { CHECK(read_file(path) == "ABC\nZ-Z\n"); });
  check_file(write(stream_in(std::vector<Bytes>{}), io::write_lines(path)), 0,
             [&] { CHECK(read_file(path).empty()); });
  // What would be read as another line, or as two; what was there stays.
  run(consume(write(upper, io::write_lines(path))));
  for (const auto& [text, why] : {std::pair<std::string, std::string>{"a\nb", "has a line end in it"},
                                  {"\n", "has a line end in it"},
                                  {"a\r", "ends with a CR"}}) {
    std::vector<Bytes> bad(lines.begin(), lines.begin() + 40);
    bad.push_back(bytes(text));
    const auto program = compile(consume(write(stream_in(bad), io::write_lines(path))));
    for (const RunOptions& options : some_configurations())
      CHECK_THROWS_WITH(program.run(options), Contains("write_lines: ") && Contains("item 40 " + why));
    CHECK(read_file(path) == "ABC\nZ-Z\n");
    CHECK(dir.files() == 1);
  }
}

TEST_CASE("write sparse matrices") {
  const TemporaryDirectory dir;
  // Row i has its columns i % 4 .. 9 in steps of 3.
  const auto rows = produce(100, [](auto i) {
    return generate((12 - i % 4) / 3, [=](auto k) {
      const auto column = cast<std::int32_t>(i % 4 + 3 * k);
      return pack(column, cast<double>(i) + 0.25 * cast<double>(column));
    });
  });
  const auto sums = [](const std::string& path) {
    return run(
        consume(elements(map_seq([](auto row) { return sum(map([](auto e) { return get<1>(e); }, row)); },
                                 stream_in(io::open_csr<std::int32_t, double>(path))))));
  };
  const auto expected = run(consume(
      elements(map_seq([](auto row) { return sum(map([](auto e) { return get<1>(e); }, row)); }, rows))));
  for (const char* name : {"m.npz", "m.mtx"})
    check_file(write(rows, io::write_csr(dir / name, 12)), 100, [&] { CHECK(sums(dir / name) == expected); });
  CHECK(io::inspect_matrix(dir / "m.npz").cols == 12);
  CHECK(dir.files() == 2);
  const std::string said =
      fails<RunError>(consume(write(rows, io::write_csr(dir / "n.npz", 9))), {"column 9 is outside"});
  CHECK(dir.files() == 2);
  CHECK_THROWS_AS(run(consume(write(rows, io::write_csr(dir / "m.txt", 12)))), IoError);
}

TEST_CASE("write: several files in one pass, all of them or none", "[once]") {
  const TemporaryDirectory dir;
  const auto program = [&](std::int64_t at) {
    const auto items = map_seq(
        [=](auto n) {
          auto row = fill(the(n) % 7, cast<double>(the(n)));
          return std::tuple(row, sum(row), map([=](auto x) { return x / (the(n) - at); }, n));
        },
        produce(500, [](auto i) { return unit(i); }));
    auto [row, total, checked] = unzip_seq(items);
    return std::tuple(consume(write(row, io::write_ragged(dir / "rows"))),
                      consume(write(total, io::write_npy_rows(dir / "sums.npy"))),
                      consume(elements(checked)));
  };
  for (const RunOptions& options : some_configurations()) {
    CHECK_THROWS_AS(compile(program(400)).run(options), RunError);
    CHECK(dir.files() == 0);
  }
  CHECK(std::get<1>(run(program(500)))[0] == 500);
  CHECK(dir.files() == 3);
  const auto sums = io::read_npy<1, double>(dir / "sums.npy");
  for (std::int64_t i = 0; i < 500; ++i) REQUIRE(sums[i] == static_cast<double>(i % 7 * i));
}

}  // namespace
TEST_CASE("write: a report or a timeline may not take the place of a result", "[once]") {
  const TemporaryDirectory dir;
  const std::string file = dir / "y.npy";
  const auto rows = produce(5, [](auto i) { return fill(3, cast<double>(i)); });
  const auto program = compile(consume(write(rows, io::write_npy_rows(file))));
  for (const std::string& about : {file, dir / "./y.npy"}) {
    CHECK_THROWS_WITH(program.run({.trace = about}), Contains("timeline") && Contains("y.npy"));
    CHECK_THROWS_WITH(program.run({.report = about}), Contains("report") && Contains("y.npy"));
  }
  CHECK(dir.files() == 0);
  program.run();
  CHECK(dir.files() == 1);
}

TEST_CASE("write: two sinks of one file are an error, and nothing is left of either") {
  const TemporaryDirectory dir;
  const auto rows = produce(5, [](auto i) { return fill(3, cast<double>(i)); });
  const std::string path = dir / "same.npy";
  const std::string again = dir / "./same.npy";
  CHECK_THROWS_WITH(run(std::tuple(consume(write(rows, io::write_npy_rows(path))),
                                   consume(write(drop_seq(2, rows), io::write_npy_rows(again))))),
                    Catch::Contains("is writing this file"));
  CHECK(dir.files() == 0);
  // One run after the other may.
  for (int i = 0; i < 2; ++i) run(consume(write(rows, io::write_npy_rows(path))));
  CHECK(dir.files() == 1);
}

TEST_CASE("write: two sinks of one file, one by a link to where nothing is yet", "[once]") {
  const TemporaryDirectory dir;
  const auto rows = produce(5, [](auto i) { return fill(3, cast<double>(i)); });
  std::filesystem::create_symlink("target.npy", dir / "link.npy");
  CHECK_THROWS_WITH(
      run(std::tuple(consume(write(rows, io::write_npy_rows(dir / "link.npy"))),
                     consume(write(drop_seq(2, rows), io::write_npy_rows(dir / "target.npy"))))),
      Contains("is writing this file"));
  CHECK(!std::filesystem::exists(dir / "target.npy"));
}

TEST_CASE("write: a report or a timeline may not take the place of one of a sink's files", "[once]") {
  const TemporaryDirectory dir;
  const auto rows = produce(5, [](auto i) { return fill(i, cast<double>(i)); });
  const auto program = compile(consume(write(rows, io::write_ragged(dir / "r"))));
  for (const char* part : {"r.values.npy", "r.offsets.npy"}) {
    CHECK_THROWS_WITH(program.run({.trace = dir / part}), Contains("is writing this file"));
    CHECK_THROWS_WITH(program.run({.report = dir / part}), Contains("is writing this file"));
  }
  CHECK(dir.files() == 0);
}

TEST_CASE("write: what is written appears only where the other results fit into the memory given for them") {
  const TemporaryDirectory dir;
  const auto rows = produce(5, [](auto i) { return fill(3, cast<double>(i)); });
  const auto program =
      compile(std::tuple(consume(write(rows, io::write_npy_rows(dir / "y.npy"))), consume(elements(rows))));
  for (const RunOptions& options : some_configurations()) {
    INFO(to_string(options));
    Scalar<std::int64_t> items;
    Vector<double> small(Index{7}), enough(Index{15});
    CHECK_THROWS_AS(program.run_into(std::tie(items, small), options), ResourceError);
    CHECK(dir.files() == 0);
    program.run_into(std::tie(items, enough), options);
    CHECK(dir.files() == 1);
    std::filesystem::remove(dir / "y.npy");
  }
}

TEST_CASE("write: an empty path is refused before anything is computed", "[once]") {
  const auto rows = produce(5, [](auto i) { return fill(3, std::int64_t{1} / i); });
  CHECK_THROWS_WITH(run(consume(write(rows, io::write_npy_rows("")))), Contains("the path is empty"));
  const auto bytes = produce(5, [](auto i) { return fill(3, cast<std::uint8_t>(std::int64_t{1} / i)); });
  CHECK_THROWS_WITH(run(consume(write(bytes, io::write_lines("")))), Contains("the path is empty"));
}

TEST_CASE("write: a sink and a writer of one sparse matrix are an error", "[once]") {
  const TemporaryDirectory dir;
  const std::vector<Vector<std::tuple<std::int32_t, double>>> rows(3);
  const auto written = compile(consume(write(stream_in(rows), io::write_csr(dir / "m.npz", 10))));
  {
    io::CsrWriter writer(dir / "m.npz", 10, ScalarType::int32, ScalarType::float64);
    CHECK_THROWS_WITH(written.run(), Contains("is writing this file"));
    writer.commit();
  }
  CHECK(written.run()[0] == 3);
}

}  // namespace anabranch::testing
