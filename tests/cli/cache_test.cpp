#include "support/catch.h"

#include <array>
#include <filesystem>

#include "command.h"

using namespace cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Start with_cache(const std::string& folder) {
  return {.environment = {"ANABRANCH_CACHE=on", "ANABRANCH_CACHE_DIR=" + folder}};
}

struct Kernels {
  int compiled, from_disk;
  friend bool operator==(const Kernels&, const Kernels&) = default;
};
Kernels kernels(const Outcome& outcome) {
  const auto json = outcome.json();
  return {json["kernels"]["compiled"].get<int>(), json["kernels"]["from_disk"].get<int>()};
}

/// A copy of the library with its code generator in a folder of their own, where the code generator cannot be
/// opened although it is there: an object of a kind that is never loaded.
class LibraryWithoutGenerator {
 public:
  LibraryWithoutGenerator() {
    const auto folder = std::filesystem::path(command_path()).parent_path() / "../lib";
    std::filesystem::copy_file(folder / "libanabranch.so.0.1", library());
    std::filesystem::copy_file(folder / "libanabranch-llvm.so", generator());
    patch(16, 1);  // ET_REL
  }
  std::string library() const { return dir_ / "libanabranch.so.0.1"; }
  std::string generator() const { return dir_ / "libanabranch-llvm.so"; }
  Start start(const std::string& cache) const {
    Start out = with_cache(cache);
    out.environment.push_back("LD_PRELOAD=" + library());
    return out;
  }
  /// As another code generator, of the same name, would have it.
  void change_build_id() const {
    std::string beginning(4096, '\0');
    std::ifstream(generator(), std::ios::binary).read(beginning.data(), 4096);
    constexpr std::array<char, 16> note{4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    const auto at = beginning.find(std::string(note.data(), note.size()));
    REQUIRE(at != std::string::npos);
    patch(at + note.size(), static_cast<char>(~beginning[at + note.size()]));
  }

 private:
  void patch(std::size_t at, char byte) const {
    std::fstream file(generator(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }
  TemporaryDirectory dir_;
};

}  // namespace

TEST_CASE("md5: kernels that compare what is found are made before words stream by, and counted") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "none", "foo\nbar\n");
  io_test::write_file(dir / "one", "foo\nabc\n");
  const auto md5 = [&](const std::string& list, const std::string& cache) {
    const Outcome o =
        command({"md5", "900150983cd24fb0d6963f7d28e17f72", dir / list, "--json"}, with_cache(dir / cache));
    INFO(o.err);
    REQUIRE(o.status == (list == "one" ? 0 : 1));
    return kernels(o);
  };
  const auto in_cache = [&](const std::string& cache) {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / cache))
      files += entry.is_regular_file() ? 1 : 0;
    return files;
  };
  const Kernels first = md5("none", "a");
  CHECK(first == Kernels{in_cache("a"), 0});
  CHECK(md5("one", "a") == Kernels{0, first.compiled});
  CHECK(in_cache("a") == first.compiled);
  CHECK(md5("one", "b") == first);
  CHECK(in_cache("b") == first.compiled);
}

TEST_CASE("a second process takes its kernels from disk: the same bits, and it says so") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(400))));
  const Start start = with_cache(dir / "cache");
  const auto smvm = [&](const std::string& out, const Start& with) {
    const Outcome o = command({"smvm", dir / "m.npz", "--out", dir / out, "--json"}, with);
    INFO(o.err);
    REQUIRE(o.status == 0);
    return kernels(o);
  };
  CHECK(smvm("first.npy", start) == Kernels{1, 0});
  CHECK(smvm("second.npy", start) == Kernels{0, 1});
  CHECK(io_test::read_file(dir / "first.npy") == io_test::read_file(dir / "second.npy"));
  CHECK(has(command({"smvm", dir / "m.npz"}, start).out, "(kernels from the cache)"));
  CHECK(smvm("third.npy", {}) == Kernels{1, 0});  // ANABRANCH_CACHE=off, as for all tests
  CHECK(io_test::read_file(dir / "first.npy") == io_test::read_file(dir / "third.npy"));
}

TEST_CASE(
    "a warm start needs no code generator, but one that is no other than the one that made the kernels") {
  if (sanitized) return;  // their runtime insists on being loaded first
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(400))));
  const std::vector<std::string> smvm{"smvm", dir / "m.npz", "--json"};
  const LibraryWithoutGenerator library;
  const Start start = library.start(dir / "cache");
  CHECK(command(smvm, start).status == 6);  // it is nowhere yet
  CHECK(kernels(command(smvm, with_cache(dir / "cache"))) == Kernels{1, 0});
  CHECK(kernels(command(smvm, start)) == Kernels{0, 1});
  library.change_build_id();
  const Outcome changed = command(smvm, start);
  CHECK(changed.status == 6);
  CHECK(has(changed.err, "only ET_DYN and ET_EXEC can be loaded"));
}

TEST_CASE("doctor tells where the kernels are, or why they are nowhere") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "m.npz", io_test::npz(io_test::members(io_test::sample(10))));
  const std::string folder = dir / "cache";
  const auto doctor = [](const Start& start) { return command({"doctor"}, start).out; };
  CHECK(has(doctor(with_cache(folder)),
            "kernel cache    " + folder + ": 0 kernels, 0 bytes of at most 256.0 MiB\n"));
  command({"smvm", dir / "m.npz"}, with_cache(folder));
  CHECK(has(doctor(with_cache(folder)), ": 1 kernel, "));
  Start small = with_cache(folder);
  small.environment.emplace_back("ANABRANCH_CACHE_SIZE=1M");
  CHECK(has(doctor(small), " of at most 1.0 MiB\n"));

  std::filesystem::permissions(folder, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  CHECK(has(doctor(with_cache(folder)), "kernel cache    in memory only: " + folder +
                                            ": is writable for others (chmod go-w makes it usable)\n"));
  CHECK(command({"smvm", dir / "m.npz"}, with_cache(folder)).status == 0);
  CHECK(has(doctor({}), "kernel cache    in memory only: switched off by ANABRANCH_CACHE\n"));
  CHECK(has(doctor(with_cache(dir / "m.npz")), "in memory only: " + (dir / "m.npz") + ": is no folder"));
  CHECK(command({"smvm", dir / "m.npz"}, with_cache(dir / "m.npz")).status == 0);
}
