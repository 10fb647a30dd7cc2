#include <anabranch/io.h>

#include "agree.h"
#include "support/files.h"

// A checksum that is wrong is known at the end only: what a program may have given by then.
namespace anabranch::testing {
namespace {

/// A file of `rows` rows of one 1.0 each, in the first column.
void write_ones(const std::string& path, std::int64_t rows) {
  io::CsrWriter writer(path, 3, ScalarType::int32, ScalarType::float64);
  const auto n = static_cast<std::size_t>(rows);
  writer.append<std::int32_t, double>(std::vector<std::int64_t>(n, 1), std::vector<std::int32_t>(n, 0),
                                      std::vector<double>(n, 1.0));
  writer.commit();
}

auto sums(const Source<Vector<std::tuple<std::int32_t, double>>>& source) {
  return map_seq(
      [](auto row) {
        auto [columns, values] = unzip(row);
        return sum(values);
      },
      stream_in(source));
}

TEST_CASE("a damaged member: no result of a run; stream_out may give items before it throws", "[once]") {
  const TemporaryDirectory dir;
  const std::string path = dir / "m.npz";
  const std::int64_t rows = 60'000;
  write_ones(path, rows);
  const std::string whole = read_file(path);
  std::string damaged = whole;
  const std::size_t value = 1000 + 8 * 100;  // of row 100 or so; the values are the file's first member
  damaged[value] = static_cast<char>(damaged[value] ^ 0x40);
  const auto source = io::open_csr<std::int32_t, double>(path);
  const auto program = compile(consume(elements(sums(source))));

  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](const std::string& bytes) {
    file.seekp(0).write(bytes.data(), std::ssize(bytes)).flush();
  };
  put(damaged);
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    REQUIRE_THROWS_AS(program.run({.backend = backend}), DataError);
    std::int64_t given = 0;
    const auto read = [&] {
      for (const auto& item : stream_out(sums(source), {.backend = backend})) given += item.size();
    };
    REQUIRE_THROWS_WITH(read(), Catch::Contains("data.npy: the checksum (CRC-32)"));
    REQUIRE(given < rows);
  }
  put(whole);
  REQUIRE(program().size() == rows);
}

}  // namespace
}  // namespace anabranch::testing
