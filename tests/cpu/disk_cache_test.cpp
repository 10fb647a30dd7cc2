#include <sched.h>

#include <atomic>
#include <thread>

#include "cache/entry.h"
#include "cpu/build_id.h"
#include "cpu/code_generator.h"
#include "cpu/processor.h"
#include "support/catch.h"
#include "support/own_kernel_cache.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/random_kernel.h"

using namespace anabranch;
using namespace anabranch::test;
using anabranch::testing::OwnKernelCache;
using anabranch::testing::read_file;
using anabranch::testing::TemporaryDirectory;
using anabranch::testing::write_file;

namespace {

/// On disk and in memory nothing is known.
class NoKernels : public OwnKernelCache {
 public:
  NoKernels() { cpu::clear_cache(); }
};

struct Counts {
  std::int64_t known, from_disk, compiled;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Where the kernels that `f` asks for came from.
template <class F>
Counts counts(F&& f) {
  const auto before = cpu::cache_statistics();
  f();
  const auto after = cpu::cache_statistics();
  return {after.hits - before.hits, after.from_disk - before.from_disk, after.compiled - before.compiled};
}

/// Of rows that are short but for the last one.
KernelBuilder sum_of_products(int last_row = 200, bool fetches_ahead = false) {
  std::vector<std::int64_t> offsets{0, 3, 3, 40, 41};
  offsets.push_back(offsets.back() + last_row);
  std::vector<double> values, x;
  for (int i = 0; i < offsets.back(); ++i) values.push_back(1.0 / (i + 1));
  for (int i = 0; i < 100; ++i) x.push_back(i * 0.37);
  std::vector<std::int64_t> columns;
  for (int i = 0; i < offsets.back(); ++i) columns.push_back(i * 31 % 100);
  auto k = spmv(offsets, columns, values, x);
  k.fetches_ahead = fetches_ahead;
  return k;
}

}  // namespace

TEST_CASE("a kernel that a process does not know comes from disk, and gives the same bits") {
  const NoKernels cache;
  auto k = sum_of_products();
  std::vector<std::byte> compiled, loaded;
  CHECK(counts([&] { compiled = k.run(); }) == Counts{0, 0, 1});
  CHECK(counts([&] { CHECK(k.run() == compiled); }) == Counts{1, 0, 0});
  CHECK(cache.entries() == 1);
  cpu::clear_cache();
  CHECK(counts([&] { loaded = k.run(); }) == Counts{0, 1, 0});
  CHECK(loaded == compiled);
  CHECK(counts([&] { CHECK(k.run() == compiled); }) == Counts{1, 0, 0});
  // Scalar code is another kernel.
  cpu::CompileOptions scalar;
  scalar.lanes = 1;
  CHECK(counts([&] { CHECK(k.run(scalar) == compiled); }) == Counts{0, 0, 1});
  CHECK(cache.entries() == 2);
}

TEST_CASE("code for long rows is compiled, or taken from disk, once there is such a row") {
  const NoKernels cache;
  auto brief = sum_of_products();
  CHECK(counts([&] { brief.run(); }) == Counts{0, 0, 1});
  for (const int last_row : {256, 4097, 20000}) {
    cpu::clear_cache();
    auto k = sum_of_products(last_row);
    std::vector<std::byte> expected;
    CHECK(counts([&] { expected = k.run(); }) == Counts{0, last_row == 256 ? 1 : 2, last_row == 256 ? 1 : 0});
    // A row that is cut into pieces, and a kernel that has the code already.
    CHECK(counts([&] { CHECK(k.run({}, 1) == expected); }) == Counts{1, 0, 0});
    // Another process.
    cpu::clear_cache();
    CHECK(counts([&] { CHECK(k.run({}, 1) == expected); }) == Counts{0, 2, 0});
    CHECK(cache.entries() == 2);
  }
}

TEST_CASE("code that fetches ahead is compiled, or taken from disk, once there is something to fetch") {
  const NoKernels cache;
  auto near = sum_of_products();
  CHECK(counts([&] { near.run(); }) == Counts{0, 0, 1});
  for (const int last_row : {200, 20000}) {
    const int images = last_row == 200 ? 2 : 4;  // of long rows, too, one that fetches and one that does not
    auto far = sum_of_products(last_row, true);
    std::vector<std::byte> expected;
    far.run();
    CHECK(cache.entries() == images);
    CHECK(counts([&] { expected = far.run(); }) == Counts{1, 0, 0});
    cpu::clear_cache();
    CHECK(counts([&] { CHECK(far.run() == expected); }) == Counts{0, images, 0});
  }
}

TEST_CASE("code for long rows is kept on disk for vectors of 32 bytes, too") {
  const NoKernels cache;
  const struct Off {
    Off() { ::setenv("ANABRANCH_OFF", "avx512", 1); }
    ~Off() { ::unsetenv("ANABRANCH_OFF"); }
  } off;
  auto k = sum_of_products(300);
  const Counts found{0, 2, 0};
  CHECK(counts([&] { k.run(); }) == Counts{0, 0, 2});
  cpu::clear_cache();
  CHECK(counts([&] { k.run(); }) == found);
  CHECK(cache.entries() == 2);
}

TEST_CASE("code for long rows that many threads need at once is compiled by one of them") {
  const NoKernels cache;
  std::vector<std::int64_t> offsets{0};
  for (int row = 0; row < 64; ++row) offsets.push_back(offsets.back() + 300);
  const auto n = static_cast<std::size_t>(offsets.back());
  auto k =
      spmv(offsets, std::vector<std::int64_t>(n, 0), std::vector<double>(n, 0.5), std::vector<double>{3.0});
  k.fetches_ahead = false;
  const cpu::ParallelFor by_threads = [](std::int64_t pieces,
                                         const std::function<void(std::int64_t)>& piece) {
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < pieces; ++i) threads.emplace_back([&, i] { piece(i); });
    for (auto& thread : threads) thread.join();
  };
  std::vector<std::byte> got;
  CHECK(counts([&] { got = k.run({}, 300, by_threads); }) == Counts{0, 0, 2});
  CHECK(got == k.run());
}

TEST_CASE("random kernels from disk are the compiled ones") {
  const NoKernels cache;
  for (unsigned seed = 0; seed < 25; ++seed) {
    INFO("seed " << seed);
    auto k = random_kernel(seed);
    cpu::clear_cache();
    REQUIRE(disagreement(k, {0, 13}) == "");
    cpu::clear_cache();
    CHECK(counts([&] { REQUIRE(disagreement(k, {0, 13}) == ""); }).compiled == 0);
  }
}

TEST_CASE("an entry on disk that is damaged or no image is compiled anew and replaced") {
  const NoKernels cache;
  auto k = sum_of_products();
  const auto expected = k.run();
  const std::string path = cache.path(), whole = read_file(path);
  const auto compiled_anew = [&](const std::string& bytes) {
    write_file(path, bytes);
    cpu::clear_cache();
    CHECK(counts([&] { CHECK(k.run() == expected); }) == Counts{0, 0, 1});
    CHECK(read_file(path) == whole);
    cpu::clear_cache();
    CHECK(counts([&] { CHECK(k.run() == expected); }) == Counts{0, 1, 0});
  };
  std::string bytes = whole;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  compiled_anew(bytes);
  compiled_anew(whole.substr(0, whole.size() / 2));
  compiled_anew("");
  // Whole, and by somebody who knows the key, but of another ABI.
  std::uint64_t key_bytes = 0;
  std::memcpy(&key_bytes, whole.data() + 8, sizeof key_bytes);
  const std::string key = whole.substr(40, key_bytes);
  REQUIRE(anabranch::cache::decode_entry(whole, key));
  compiled_anew(anabranch::cache::encode_entry(key, "no image"));
}

TEST_CASE("a key on disk names the code generator and the processor, and no name of the user's") {
  const NoKernels cache;
  auto k = sum_of_products();
  k.kernel().name = "very_own_name";
  cpu::compile(k.kernel());
  const std::string entry = read_file(cache.path());
  for (const std::string& part :
       {cpu::CodeGenerator::get().build_id, cpu::processor_identity(), kernel::key_of(k.kernel())}) {
    CHECK_FALSE(part.empty());
    CHECK(entry.find(part) != std::string::npos);
  }
  CHECK(entry.find("very_own_name") == std::string::npos);
}

TEST_CASE("kernels whose texts are asked for, or for other processors, are not kept on disk") {
  const NoKernels cache;
  auto k = sum_of_products();
  cpu::CompileOptions texts;
  std::string ir;
  texts.ir = &ir;
  cpu::compile(k.kernel(), texts);
  cpu::CompileOptions other;
  other.cpu = "haswell";
  cpu::compile(k.kernel(), other);
  CHECK(cache.entries() == 0);
}

TEST_CASE("threads that ask for one kernel take one from disk") {
  const NoKernels cache;
  auto k = sum_of_products();
  cpu::compile(k.kernel());
  cpu::clear_cache();
  std::atomic<int> ready{0};
  const auto all = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        auto mine = sum_of_products();
        for (++ready; ready < 4;) std::this_thread::yield();
        cpu::compile(mine.kernel());
      });
    for (auto& thread : threads) thread.join();
  };
  CHECK(counts(all) == Counts{3, 1, 0});
}

TEST_CASE("the code generator's build id is read from its file without loading it") {
  const cpu::CodeGenerator& generator = cpu::CodeGenerator::get();
  CHECK(generator.build_id.size() == 40);
  CHECK(cpu::code_generator_build_id() == generator.build_id);
  CHECK(cpu::build_id_of_file(generator.path) == generator.build_id);
  static const int here = 0;
  CHECK(cpu::build_id_of_object_at(&here) != generator.build_id);
  CHECK(cpu::build_id_of_object_at(nullptr).empty());
}

TEST_CASE("files that are no libraries have no build id") {
  const TemporaryDirectory dir;
  CHECK(cpu::build_id_of_file(dir / "none").empty());
  CHECK(cpu::build_id_of_file(dir.path()).empty());
  write_file(dir / "text", std::string(1000, 'x'));
  CHECK(cpu::build_id_of_file(dir / "text").empty());
  const std::string& path = cpu::CodeGenerator::get().path;
  std::string bytes(4096, '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), 4096);
  write_file(dir / "library", bytes);
  const std::string id = cpu::CodeGenerator::get().build_id;
  CHECK(cpu::build_id_of_file(dir / "library") == id);
  // Cut off or damaged anywhere: another id at worst, no access out of bounds.
  for (std::size_t size = 0; size < bytes.size(); size += 8) {
    write_file(dir / "short", bytes.substr(0, size));
    const std::string found = cpu::build_id_of_file(dir / "short");
    CHECK((found.empty() || found == id));
  }
  for (std::size_t at = 0; at < 1024; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    write_file(dir / "damaged", damaged);
    CHECK_NOTHROW(cpu::build_id_of_file(dir / "damaged"));
  }
}

TEST_CASE("the processor is the same on every core") {
  cpu_set_t all;
  CPU_ZERO(&all);
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(cpu::processor_identity().size() > 20);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(cpu::read_processor_identity() == cpu::processor_identity());
  }
  ::sched_setaffinity(0, sizeof all, &all);
}
