#include "cache/kernel_cache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "cache/entry.h"
#include "support/catch.h"
#include "support/files.h"

using namespace anabranch::cache;
using anabranch::testing::read_file;
using anabranch::testing::TemporaryDirectory;
using anabranch::testing::write_file;
namespace fs = std::filesystem;

namespace {

Settings in(const std::string& folder, std::int64_t bound = 1 << 20) {
  Settings settings;
  settings.folder = folder;
  settings.bound = bound;
  return settings;
}

std::string image_of(const std::string& key, std::size_t bytes = 100) {
  std::string out(bytes, 'x');
  return out.replace(0, std::min(bytes, key.size()), key.substr(0, bytes));
}

mode_t mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

void make_older(const std::string& path, std::chrono::hours by) {
  fs::last_write_time(path, fs::last_write_time(path) - by);
}
bool is_older_than_an_hour(const std::string& path) {
  return fs::file_time_type::clock::now() - fs::last_write_time(path) > std::chrono::hours(1);
}

/// Replaces the table's calls while it lives: each gives or takes few bytes at a time and is interrupted now
/// and then, and the k-th fails.
class Faults {
 public:
  Faults(int at, int error) {
    left = at;
    code = error;
    interrupted = 0;
    SystemCalls& calls = system_calls();
    calls.openat = [](int folder, const char* name, int flags, mode_t mode) {
      return fail() ? -1 : ::openat(folder, name, flags, mode);
    };
    calls.read = [](int fd, void* to, std::size_t n) -> ssize_t {
      return fail() || interrupt() ? -1 : ::read(fd, to, std::min<std::size_t>(n, 50));
    };
    calls.write = [](int fd, const void* from, std::size_t n) -> ssize_t {
      return fail() || interrupt() ? -1 : ::write(fd, from, std::min<std::size_t>(n, 50));
    };
    calls.close = [](int fd) {
      const bool failed = fail();
      ::close(fd);
      return failed ? -1 : 0;
    };
    calls.renameat = [](int a, const char* from, int b, const char* to) {
      return fail() ? -1 : ::renameat(a, from, b, to);
    };
  }
  ~Faults() { system_calls() = original; }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  static bool happened() { return left < 0; }

 private:
  static bool fail() {
    if (left-- != 0) return false;
    errno = code;
    return true;
  }
  static bool interrupt() {
    errno = EINTR;
    return ++interrupted % 3 == 0;
  }
  SystemCalls original = system_calls();
  inline static int left, code, interrupted;
};

}  // namespace

TEST_CASE("what was stored is found again, by this object and another") {
  const TemporaryDirectory dir;
  const std::string folder = dir / "some/where/kernels";
  KernelCache cache(in(folder));
  CHECK_FALSE(cache.find("key"));
  cache.store("key", "image");
  CHECK(cache.find("key") == "image");
  CHECK(KernelCache(in(folder)).find("key") == "image");
  CHECK_FALSE(cache.find("another key"));
  cache.store("key", "another image");
  CHECK(cache.find("key") == "another image");
  cache.store("empty", "");
  CHECK(cache.find("empty") == "");

  const Inventory inventory = cache.inventory();
  CHECK(inventory.folder == folder);
  CHECK(inventory.why_not.empty());
  CHECK(inventory.why_not_stored.empty());
  CHECK(inventory.entries == 2);
  CHECK(inventory.bytes > 0);
  CHECK(inventory.bound == 1 << 20);
}

TEST_CASE("folders and entries are this user's alone") {
  const TemporaryDirectory dir;
  const mode_t before = ::umask(0);
  KernelCache(in(dir / "a/b")).store("key", "image");
  ::umask(before);
  CHECK(mode_of(dir / "a") == 0700);
  CHECK(mode_of(dir / "a/b") == 0700);
  CHECK(mode_of(dir / "a/b/" + entry_name("key")) == 0600);
}

TEST_CASE("a cache that is off finds and keeps nothing, and makes no folder") {
  const TemporaryDirectory dir;
  Settings settings = in(dir / "kernels");
  settings.why_not = "switched off";
  KernelCache cache(settings);
  CHECK(cache.off());
  cache.store("key", "image");
  CHECK_FALSE(cache.find("key"));
  CHECK(cache.inventory().why_not == "switched off");
  CHECK(dir.files() == 0);
}

TEST_CASE("a folder that others can write to, of another user, or behind a link is not used") {
  const TemporaryDirectory dir;
  const std::string folder = dir / "kernels";
  KernelCache(in(folder)).store("key", "image");
  const auto refused = [&](const std::string& path, const std::string& why) {
    KernelCache cache(in(path));
    CHECK_FALSE(cache.find("key"));
    cache.store("other", "image");
    CHECK(cache.inventory().why_not == why);
    CHECK_FALSE(fs::exists(folder + "/" + entry_name("other")));
  };
  for (const mode_t mode : {0720, 0702, 01777}) {
    ::chmod(folder.c_str(), mode);
    refused(folder, "is writable for others (chmod go-w makes it usable)");
  }
  ::chmod(folder.c_str(), 0755);
  CHECK(KernelCache(in(folder)).find("key") == "image");

  fs::create_directory_symlink(folder, dir / "link");
  refused(dir / "link", "is no folder, or a symbolic link");
  write_file(dir / "file", "");
  refused(dir / "file", "is no folder, or a symbolic link");
  if (::geteuid() == 0) {
    REQUIRE(::chown(folder.c_str(), 1234, 1234) == 0);
    refused(folder, "belongs to another user");
  }
}

TEST_CASE("an entry that others can write to, of another user, or that is no file is not read") {
  const TemporaryDirectory dir;
  KernelCache cache(in(dir.path()));
  const std::string path = dir / entry_name("key");
  const auto again = [&] {
    fs::remove(path);
    cache.store("key", "image");
    REQUIRE(cache.find("key") == "image");
  };
  for (const mode_t mode : {0620, 0602}) {
    again();
    ::chmod(path.c_str(), mode);
    CHECK_FALSE(cache.find("key"));
  }
  if (::geteuid() == 0) {
    again();
    REQUIRE(::chown(path.c_str(), 1234, 1234) == 0);
    CHECK_FALSE(cache.find("key"));
  }
  again();
  fs::rename(path, dir / "elsewhere");
  fs::create_symlink(dir / "elsewhere", path);
  CHECK_FALSE(cache.find("key"));
  cache.store("key", "image");  // replaces the link
  CHECK(cache.find("key") == "image");

  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(cache.find("key"));  // and does not wait for somebody to write
  fs::remove(path);
  fs::create_directory(path);
  CHECK_FALSE(cache.find("key"));
  cache.store("key", "image");
  CHECK_FALSE(cache.find("key"));
}

TEST_CASE("a damaged entry is not found, and replaced") {
  const TemporaryDirectory dir;
  KernelCache cache(in(dir.path()));
  cache.store("key", "image");
  const std::string path = dir / entry_name("key"), whole = read_file(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_file(path, bytes);
    CHECK_FALSE(cache.find("key"));
    write_file(path, whole.substr(0, at));
    CHECK_FALSE(cache.find("key"));
  }
  // Of another key: a fingerprint that two keys share.
  fs::copy_file(path, dir / entry_name("other"));
  CHECK_FALSE(cache.find("other"));
  cache.store("key", "image");
  CHECK(cache.find("key") == "image");
  // Far too large to be one.
  fs::resize_file(path, std::uintmax_t{1} << 40);
  CHECK_FALSE(cache.find("key"));
}

TEST_CASE("what was not used for the longest time goes when the bound is reached") {
  const TemporaryDirectory dir;
  const auto entry = static_cast<std::int64_t>(encode_entry("key 00", image_of("key 00", 1000)).size());
  const auto key = [](int k) { return "key " + std::to_string(10 + k); };
  const auto path = [&](int k) { return dir / entry_name(key(k)); };
  write_file(dir / "notes.txt", std::string(100'000, 'x'));  // is none of ours: neither counted nor removed
  {
    KernelCache cache(in(dir.path(), 16 * entry));
    for (int k = 0; k < 16; ++k) {
      cache.store(key(k), image_of(key(k), 1000));
      make_older(path(k), std::chrono::hours(100 - k));
    }
    CHECK(cache.inventory().bytes == 16 * entry);
    CHECK(cache.find(key(0)));  // the oldest was used just now
    CHECK_FALSE(is_older_than_an_hour(path(0)));
    CHECK(is_older_than_an_hour(path(1)));
    cache.store(key(16), image_of(key(16), 1000));
    CHECK(cache.inventory().bytes == 14 * entry);  // an eighth more than needed
  }
  KernelCache cache(in(dir.path(), 16 * entry));
  for (const int gone : {1, 2, 3}) CHECK_FALSE(cache.find(key(gone)));
  for (const int kept : {0, 4, 15, 16}) CHECK(cache.find(key(kept)));
  // Never beyond the bound, whoever stores.
  for (int k = 20; k < 100; ++k) {
    KernelCache(in(dir.path(), 16 * entry)).store(key(k), image_of(key(k), 1000));
    cache.store(key(k) + "b", image_of(key(k), 999));
    CHECK(cache.inventory().bytes <= 17 * entry);
  }
  CHECK(cache.find(key(99)));
  // Something that is larger than everything may be is not worth everything.
  const auto entries = cache.inventory().entries;
  cache.store("large", std::string(static_cast<std::size_t>(16 * entry), 'x'));
  CHECK_FALSE(cache.find("large"));
  CHECK(cache.inventory().entries == entries);
  CHECK(fs::file_size(dir / "notes.txt") == 100'000);
}

TEST_CASE("what killed writers left is removed after a while") {
  const TemporaryDirectory dir;
  const std::string young = dir / (entry_name("a") + ".1-2-3.tmp"),
                    old = dir / (entry_name("b") + ".1-2-3.tmp");
  const std::string strange = dir / "something.tmp";
  for (const auto& path : {young, old, strange}) write_file(path, "half");
  for (const auto& path : {old, strange}) make_older(path, std::chrono::hours(2));
  KernelCache(in(dir.path())).store("key", "image");
  CHECK(fs::exists(young));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(strange));
}

TEST_CASE("a folder that goes away is made again") {
  const TemporaryDirectory dir;
  KernelCache cache(in(dir / "kernels"));
  cache.store("key", "image");
  fs::remove_all(dir / "kernels");
  CHECK_FALSE(cache.find("key"));
  cache.store("key", "image");
  CHECK(cache.find("key") == "image");
}

TEST_CASE("whatever call of the system fails: nothing wrong is found, nothing is left behind") {
  const TemporaryDirectory dir;
  KernelCache cache(in(dir.path()));
  const std::string image = image_of("key", 300);
  for (const int error : {EIO, ENOSPC, EROFS, EMFILE}) {
    bool happened = true;
    for (int at = 0; happened; ++at) {
      INFO("error " << error << " at call " << at);
      REQUIRE(at < 100);
      {
        const Faults faults(at, error);
        CHECK_NOTHROW(cache.store("key", image));
        const auto found = cache.find("key");
        if (found) CHECK(*found == image);
        happened = Faults::happened();
        if (!happened) CHECK(found == image);
      }
      CHECK(dir.files() <= 1);
      const auto found = cache.find("key");
      if (found) CHECK(*found == image);
      cache.store("key", image);
      CHECK(cache.find("key") == image);
      fs::remove(dir / entry_name("key"));
    }
  }
  // What is wrong is said where somebody asks.
  const Faults faults(0, ENOSPC);
  const Inventory inventory = cache.inventory();
  CHECK(inventory.why_not.empty());
  CHECK(inventory.why_not_stored == "No space left on device");
}

TEST_CASE("where no folder can be made there is no cache") {
  const TemporaryDirectory dir;
  write_file(dir / "file", "");
  KernelCache cache(in(dir / "file/kernels"));
  CHECK_NOTHROW(cache.store("key", "image"));
  CHECK_FALSE(cache.find("key"));
  CHECK(cache.inventory().why_not == "is no folder, or a symbolic link");
  CHECK(KernelCache(in("/proc/kernels")).inventory().why_not == "No such file or directory");
}

TEST_CASE("a limit on the size of files keeps entries away instead of ending the process") {
  const TemporaryDirectory dir;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit low{1000, before.rlim_max};
  KernelCache cache(in(dir.path()));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  cache.store("large", std::string(2000, 'x'));
  cache.store("small", "image");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(cache.find("large"));
  CHECK(cache.find("small") == "image");
  CHECK(dir.files() == 1);
}

TEST_CASE("threads and processes share a cache: each finds nothing or the whole") {
  const TemporaryDirectory dir;
  constexpr int keys = 20;
  // A small bound: entries come and go all the time.
  const auto work = [&](KernelCache& cache, int seed) {
    for (int i = 0; i < 400; ++i) {
      const std::string key = "key " + std::to_string((i * 7 + seed) % keys);
      const std::string image = image_of(key, 500 + key.size() * 100);
      const auto found = cache.find(key);
      if (found && *found != image) return false;
      if (!found || i % 5 == 0) cache.store(key, image);
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    KernelCache own(in(dir.path(), 8000));
    ::_exit(work(own, c) ? 0 : 1);
  }
  KernelCache cache(in(dir.path(), 8000));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&, t] { right += work(cache, t); });
  for (auto& thread : threads) thread.join();
  CHECK(right == 3);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (const auto& file : fs::directory_iterator(dir.path())) CHECK(file.path().extension() == ".kernel");
}

TEST_CASE("the process's cache is as the environment says, until another one is chosen") {
  const TemporaryDirectory dir;
  CHECK(kernel_cache()->off());  // in tests
  CHECK(kernel_cache() == kernel_cache());
  set_kernel_cache(std::make_shared<KernelCache>(in(dir.path())));
  CHECK_FALSE(kernel_cache()->off());
  set_kernel_cache(nullptr);
  CHECK(kernel_cache()->off());
}
