#include "support/catch.h"

#include <anabranch/io.h>

#include "every_fault.h"
#include "io/items.h"
#include "io/matrix_files.h"

// What reads files, when the system refuses it something in the middle.
namespace fault_test {
namespace {

using namespace anabranch;
using io_test::TemporaryDirectory;

std::string drained(const std::string& path, const std::string& folder) {
  const auto source =
      io::open_csr<std::int32_t, double>(path, {.spool_dir = folder, .memory = std::int64_t{1} << 20});
  const auto all = io_test::drain(*source.erased(), 50, {.items = 9});
  return io_test::raw(all.indptr) + io_test::raw(all.indices) + io_test::raw(all.values);
}

/// The links of a graph, turned around in memory, or on disk.
std::string turned(const std::string& path, const std::string& folder, std::int64_t memory) {
  const io::GraphOptions options{.spool_dir = folder, .memory = memory};
  const io::InLinks graph = io::open_in_links(path, io::inspect_graph(path, options), options);
  std::string all;
  for (const io_test::ReadItem& item : io_test::items_of(*graph.rows, {.items = 9}))
    all += item[0].components[0] + ";";
  return all;
}

template <class A>
std::string drained(const Source<A>& source) {
  std::string all;
  for (const io_test::ReadItem& item : io_test::items_of(*source.erased(), {.items = 9}))
    all += item[0].components[0] + ";";
  return all;
}

void check_parsers(const Scope& scope) {
  const TemporaryDirectory folder;
  const auto matrix = io_test::sample(60);
  io_test::write_file(folder / "a.npz", io_test::npz(io_test::members(matrix)));
  io_test::write_file(folder / "b.npz", io_test::npz(io_test::members(matrix), true));
  std::string text = "%%MatrixMarket matrix coordinate integer symmetric\n300 300 300\n";
  for (int i = 300; i > 0; --i) text += std::to_string(i) + " " + std::to_string(i / 2 + 1) + " 1\n";
  io_test::write_file(folder / "c.mtx", text);
  io_test::write_file(folder / "x.npy", io_test::npy(std::vector<float>{1, 2, 3}));
  io_test::write_file(folder / "f.npy", io_test::npy("<f4", "(40, 3)", std::string(480, '\1'), "True"));
  io_test::write_file(folder / "r.offsets.npy", io_test::npy(std::vector<std::int32_t>{0, 2, 2, 3}));
  io_test::write_file(folder / "r.values.npy", io_test::npy(std::vector<float>{1, 2, 3}));
  std::string links;
  for (int i = 0; i < 200; ++i) links += std::to_string(i * 7 % 60) + " " + std::to_string(i % 41) + "\n";
  io_test::write_file(folder / "g.txt", links);
  const int files = folder.files();
  const std::vector<Program> programs{
      [&] { return turned(folder / "g.txt", folder.path(), 1 << 20); },
      [&] { return turned(folder / "c.mtx", folder.path(), 16 << 20); },
      [&] {
        return drained(io::open_csr<std::int32_t, double>(
            folder / "a.npz", {.transpose = true, .spool_dir = folder.path(), .memory = 2 << 20}));
      },
      [&] { return drained(folder / "a.npz", folder.path()); },
      [&] { return drained(folder / "b.npz", folder.path()); },
      [&] { return drained(folder / "c.mtx", folder.path()); },
      [&] {
        const auto x = io::read_npy<1, double>(folder / "x.npy", {.convert = true});
        return std::to_string(x[0] + 10 * x[1] + 100 * x[2]);
      },
      [&] { return drained(io::open_npy_rows<2, double>(folder / "f.npy", {.convert = true})); },
      [&] { return drained(io::open_ragged<float>(folder / "r")); },
      [&] { return std::to_string(io::inspect_matrix(folder / "c.mtx").entries); }};
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (const Kind kind : all_kinds()) {
      INFO("program " << p);
      check_every_fault(kind, programs[p], scope);
      CHECK(folder.files() == files);
    }
}

}  // namespace

TEST_CASE("parsers: a call from every place fails") { check_parsers({}); }
TEST_CASE("parsers: every call fails once", "[.long]") { check_parsers({.step = 1}); }
TEST_CASE("parsers: every call fails from one on", "[.long]") { check_parsers({.step = 1, .lasting = true}); }

}  // namespace fault_test
