#include "support/catch.h"

#include <filesystem>
#include <fstream>

#include "command.h"

using namespace cli_test;

namespace {
constexpr std::int64_t MiB = 1 << 20;
constexpr std::int64_t allowance = 160 * MiB;
}  // namespace

TEST_CASE("memory: a file eight times larger than the bound streams within it") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  REQUIRE(
      command({"generate", "laplacian3d", "--size", "96", "--points", "27", "--out", dir / "m.npz"}).status ==
      0);
  REQUIRE(std::filesystem::file_size(dir / "m.npz") > 8 * 32 * MiB);
  std::string first;
  for (const char* scheduler : {"adaptive", "paper", "fixed:1000000"}) {
    INFO(scheduler);
    const Outcome o = command({"smvm", dir / "m.npz", "--memory", "32M", "--out", dir / "y.npy", "--json",
                               "--repeat", "2", "--scheduler", scheduler});
    INFO(o.err);
    REQUIRE(o.status == 0);
    const auto report = o.json();
    CHECK(report["peak_bytes"].get<std::int64_t>() <= 32 * MiB);
    CHECK(o.peak_resident_bytes <= 32 * MiB + allowance);
    CHECK(report["peak_resident_bytes"].get<std::int64_t>() <= 32 * MiB + allowance);
    const std::string bytes = io_test::read_file(dir / "y.npy");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  // Row sums of the interior are 0: 26 - 26 neighbours.
  const auto y = npy_vector<double>(dir / "y.npy");
  REQUIRE(y.size() == 96 * 96 * 96);
  CHECK(y[0] == 26 - 7);
  CHECK(y[96 * 96 * 48 + 96 * 48 + 48] == 0);
}

TEST_CASE("memory: Matrix Market is sorted within the bound") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "800", "--out", dir / "m.mtx"}).status == 0);
  REQUIRE(command({"generate", "laplacian2d", "--size", "800", "--out", dir / "m.npz"}).status == 0);
  const Outcome o = command({"smvm", dir / "m.mtx", "--memory", "12M", "--out", dir / "y.npy"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  CHECK(o.peak_resident_bytes <= 12 * MiB + allowance);
  REQUIRE(command({"smvm", dir / "m.npz", "--out", dir / "z.npy"}).status == 0);
  CHECK(io_test::read_file(dir / "y.npy") == io_test::read_file(dir / "z.npy"));
}

TEST_CASE("memory: several x in Fortran order are turned around within the bound") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  io_test::Csr<> one_row;
  one_row.cols = 4000;
  one_row.indptr = {0, 1};
  one_row.indices = {3};
  one_row.values = {1};
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(one_row)));
  const std::int64_t elements =
      4000 * 7000;  // 214 MiB as doubles; zeros, which the file system need not store
  const std::string header = io_test::npy("<f4", "(4000, 7000)", "", "True");
  io_test::write_file(dir / "x.npy", header);
  std::filesystem::resize_file(dir / "x.npy", header.size() + elements * sizeof(float));
  const Outcome o = command({"smvm", dir / "a.npz", "--vectors", dir / "x.npy", "--memory", "224M"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  CHECK(o.peak_resident_bytes <= 224 * MiB + allowance);
}

TEST_CASE("memory: a million nodes are printed within the bound") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  io_test::write_file(dir / "g.i32", io_test::raw(std::vector<std::int32_t>{3, 5}));
  for (const bool json : {false, true}) {
    std::vector<std::string> line{"pagerank",    dir / "g.i32", "--nodes",      "1000000",
                                  "--top",       "1000000",     "--memory",     "48M",
                                  "--tolerance", "0",           "--iterations", "1"};
    if (json) line.emplace_back("--json");
    io_test::write_file(dir / "out", "");
    const Outcome o =
        command(line, {.stdout_to = dir / "out"});  // what this process holds would count as the command's
    INFO(o.err);
    REQUIRE(o.status == 0);
    CHECK(o.peak_resident_bytes <= 48 * MiB + allowance);
    if (!json) continue;
    std::ifstream out(dir / "out");
    CHECK(nlohmann::json::accept(out));
    out.clear();
    out.seekg(0);
    std::int64_t nodes = 0;
    for (std::string text; std::getline(out, text);) nodes += text.starts_with("      \"node\": ") ? 1 : 0;
    CHECK(nodes == 1'000'000);
  }
}

TEST_CASE("memory: generate needs little") {
  if (sanitized) return;
  const TemporaryDirectory dir;
  const Outcome o =
      command({"generate", "laplacian3d", "--size", "80", "--points", "27", "--out", dir / "m.npz"});
  REQUIRE(o.status == 0);
  REQUIRE(std::filesystem::file_size(dir / "m.npz") > 150 * MiB);
  CHECK(o.peak_resident_bytes < 60 * MiB);
}

TEST_CASE("memory: what cannot fit is refused before it is allocated, with its size") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "1000", "--out", dir / "m.npz"}).status == 0);
  Outcome o = command({"smvm", dir / "m.npz", "--memory", "8M", "--out", dir / "y.npy"});
  CHECK(o.status == 5);
  CHECK(o.err.find("the vector x (7.6 MiB) and the result y (7.6 MiB)") != std::string::npos);
  CHECK(o.out.empty());
  if (!sanitized) CHECK(o.peak_resident_bytes < 40 * MiB);

  // One row of a million entries, 12 MB.
  io_test::Csr<> wide;
  wide.cols = 1000;
  for (int i = 0; i < 1'000'000; ++i) {
    wide.indices.push_back(i % 1000);
    wide.values.push_back(1);
  }
  wide.indptr = {0, 1'000'000};
  io_test::write_file(dir / "wide.npz", io_test::npz(io_test::members(wide)));
  o = command({"smvm", dir / "wide.npz", "--memory", "8M", "--out", dir / "y.npy"});
  CHECK(o.status == 5);
  CHECK(o.err.find("row 0 has 1000000 entries") != std::string::npos);
  CHECK(o.err.find("x and y take 7.8 KiB of the memory bound of 8.0 MiB") != std::string::npos);
  CHECK(dir.files() == 2);
  CHECK(command({"smvm", dir / "wide.npz", "--memory", "20M"}).status == 0);
}
