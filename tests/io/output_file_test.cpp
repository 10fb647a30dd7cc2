#include "support/catch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include <anabranch/io.h>

#include "io/base/file.h"
#include "io/base/system.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

struct stat status_of(const std::string& path) {
  struct stat out{};
  REQUIRE(::stat(path.c_str(), &out) == 0);
  return out;
}
unsigned mode_of(const std::string& path) { return status_of(path).st_mode & 07777; }

void write_text(const std::string& path, const std::string& text) {
  io::detail::AtomicFile file(path);
  file.file()->write(0, text.data(), static_cast<std::int64_t>(text.size()));
  file.commit();
}

/// Every way to write a file.
struct Output {
  const char* ending;
  std::function<void(const std::string&)> write;
};
const Output outputs[] = {
    {".npy", [](const std::string& path) { io::write_npy(path, Vector<double>({1, 2, 3})); }},
    {".npz",
     [](const std::string& path) {
       io::CsrWriter writer(path, 3, ScalarType::int32, ScalarType::float64);
       writer.append<std::int32_t, double>(std::vector<std::int64_t>{1}, std::vector<std::int32_t>{2},
                                           std::vector<double>{5});
       writer.commit();
     }},
    {".mtx",
     [](const std::string& path) {
       io::CsrWriter writer(path, 3, ScalarType::int32, ScalarType::float64);
       writer.append<std::int32_t, double>(std::vector<std::int64_t>{1}, std::vector<std::int32_t>{2},
                                           std::vector<double>{5});
       writer.commit();
     }},
};

/// A system that has no files without a name, or has them, where the test's own does.
class Nameless {
 public:
  explicit Nameless(bool available) {
    if (available) return;
    io::detail::system_calls().open = [](const char* path, int flags, mode_t mode) {
      if ((flags & O_TMPFILE) != O_TMPFILE) return ::open(path, flags, mode);
      errno = EOPNOTSUPP;
      return -1;
    };
  }
  ~Nameless() { io::detail::system_calls() = original_; }
  Nameless(const Nameless&) = delete;
  Nameless& operator=(const Nameless&) = delete;

 private:
  io::detail::SystemCalls original_ = io::detail::system_calls();
};

/// What the system was asked for, in order, while it lives: "fsync" of a file or a folder, "rename".
class Recorder {
 public:
  Recorder() {
    calls().clear();
    fail_at() = -1;
    auto& table = io::detail::system_calls();
    table.fsync = [](int fd) {
      struct stat s{};
      ::fstat(fd, &s);
      calls().push_back(S_ISDIR(s.st_mode) ? "fsync folder" : "fsync file");
      if (fail_at()-- == 0) {
        errno = EIO;
        return -1;
      }
      return ::fsync(fd);
    };
    table.rename = [](const char* from, const char* to) {
      calls().push_back("rename");
      return ::rename(from, to);
    };
  }
  ~Recorder() { io::detail::system_calls() = original_; }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  static std::vector<std::string>& calls() {
    static std::vector<std::string> list;
    return list;
  }
  static int& fail_at() {
    static int at = -1;
    return at;
  }

 private:
  io::detail::SystemCalls original_ = io::detail::system_calls();
};

}  // namespace

TEST_CASE("output file: it is on the disk before it appears, its name before commit returns") {
  const Nameless nameless(GENERATE(true, false));
  for (const Output& output : outputs) {
    INFO(output.ending);
    const TemporaryDirectory dir;
    const Recorder recorder;
    output.write(dir / std::string("out") + output.ending);
    std::vector<std::string> calls = Recorder::calls();
    CHECK(calls.front() == "fsync file");  // and again, once it has a name
    calls.erase(calls.begin(), std::find(calls.begin(), calls.end(), "rename"));
    CHECK(calls == std::vector<std::string>{"rename", "fsync folder"});
  }
}

TEST_CASE("output file: one that cannot be brought to disk does not appear") {
  const Nameless nameless(GENERATE(true, false));
  for (const Output& output : outputs) {
    INFO(output.ending);
    const TemporaryDirectory dir;
    const std::string path = dir / std::string("out") + output.ending;
    write_file(path, "what was there before");
    int of_folder = 0;
    for (;; ++of_folder) {
      const Recorder recorder;
      Recorder::fail_at() = of_folder;
      CHECK_THROWS_WITH(output.write(path), Catch::Contains("cannot bring to disk"));
      if (Recorder::calls().back() == "fsync folder") break;
      CHECK(read_file(path) == "what was there before");
      CHECK(dir.files() == 1);
      REQUIRE(of_folder < 2);
    }
    CHECK(of_folder >= 1);
    // When only the folder fails the file is there, whole, but a crash may lose its name.
    CHECK(read_file(path) != "what was there before");
    CHECK(dir.files() == 1);
  }
}

TEST_CASE("output file: where the system can, it has no name before it is complete") {
  const TemporaryDirectory dir;
  const mode_t mask = ::umask(022);
  const int descriptor = ::open(dir.path().c_str(), O_RDWR | O_TMPFILE, 0600);
  const bool can = descriptor >= 0;
  if (can) ::close(descriptor);
  for (const bool available : {true, false}) {
    const Nameless nameless(available);
    io::detail::AtomicFile file(dir / "out");
    CHECK(dir.files() == (can && available ? 0 : 1));
    file.file()->write(0, "new", 3);
    file.complete();
    CHECK(dir.files() == 1);
    CHECK(!std::filesystem::exists(dir / "out"));
  }
  ::umask(mask);
  CHECK(dir.files() == 0);
}

TEST_CASE("output file: where a name cannot be given later it has one from the beginning") {
  const TemporaryDirectory dir;
  const Nameless original(true);
  static int links_allowed;
  io::detail::system_calls().link_open = [](const char* descriptor, const char* name) {
    if (links_allowed-- > 0) return ::linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    errno = EDQUOT;
    return -1;
  };
  links_allowed = 0;
  write_text(dir / "out", "old");
  CHECK(read_file(dir / "out") == "old");
  const int descriptor = ::open(dir.path().c_str(), O_RDWR | O_TMPFILE, 0600);
  if (descriptor < 0) {
    WARN("this file system has no files without a name");
    return;
  }
  ::close(descriptor);
  // It could at first, and cannot at the end.
  const mode_t mask = ::umask(022);
  links_allowed = 1;
  CHECK_THROWS_WITH(write_text(dir / "out", "new"),
                    Catch::Contains("cannot put in place: Disk quota exceeded"));
  ::umask(mask);
  CHECK(read_file(dir / "out") == "old");
  CHECK(dir.files() == 1);
}

TEST_CASE("output file: a new one has the permissions of the user's mask") {
  const Nameless nameless(GENERATE(true, false));
  const TemporaryDirectory dir;
  const mode_t before = ::umask(027);
  write_text(dir / "new", "x");
  ::umask(before);
  CHECK(mode_of(dir / "new") == 0640);
  const mode_t again = ::umask(0);
  write_text(dir / "for all", "x");
  ::umask(again);
  CHECK(mode_of(dir / "for all") == 0666);
}

TEST_CASE("output file: a file that is replaced keeps its permissions") {
  const Nameless nameless(GENERATE(true, false));
  for (const Output& output : outputs)
    for (const mode_t mode : {0600u, 0640u, 0666u, 0444u}) {
      INFO(output.ending << " " << mode);
      const TemporaryDirectory dir;
      const std::string path = dir / std::string("out") + output.ending;
      write_file(path, "old");
      REQUIRE(::chmod(path.c_str(), mode) == 0);
      output.write(path);
      CHECK(read_file(path) != "old");
      CHECK(mode_of(path) == mode);
    }
}

TEST_CASE("output file: where no permissions can be given, a file is replaced unless it let more in") {
  const TemporaryDirectory dir;
  const io::detail::SystemCalls original = io::detail::system_calls();
  write_file(dir / "out", "old");
  REQUIRE(::chmod((dir / "out").c_str(), 0644) == 0);
  static mode_t given;
  io::detail::system_calls().fchmod = [](int fd, mode_t) {
    ::fchmod(fd, given);  // as the file system has it for all files
    errno = EPERM;
    return -1;
  };
  given = 0644;
  CHECK_NOTHROW(write_text(dir / "out", "new"));
  CHECK(read_file(dir / "out") == "new");
  given = 0666;
  CHECK_THROWS_WITH(write_text(dir / "out", "newer"), Catch::Contains("cannot keep the permissions"));
  CHECK(read_file(dir / "out") == "new");
  CHECK(dir.files() == 1);
  io::detail::system_calls() = original;
}

TEST_CASE("output file: a file that is replaced keeps its owner, where the system allows it") {
  const TemporaryDirectory dir;
  write_file(dir / "out", "old");
  if (::geteuid() != 0) {
    WARN("only root can give files to others");
    return;
  }
  REQUIRE(::chown((dir / "out").c_str(), 12345, 23456) == 0);
  REQUIRE(::chmod((dir / "out").c_str(), 02640) == 0);
  write_text(dir / "out", "new");
  CHECK(status_of(dir / "out").st_uid == 12345);
  CHECK(status_of(dir / "out").st_gid == 23456);
  CHECK(mode_of(dir / "out") == 02640);
}

TEST_CASE("output file: who cannot keep the group lets nobody else in") {
  if (::geteuid() != 0) {
    WARN("only root can become another user");
    return;
  }
  const TemporaryDirectory dir;
  REQUIRE(::chmod(dir.path().c_str(), 0777) == 0);
  write_file(dir / "out", "old");
  REQUIRE(::chown((dir / "out").c_str(), 12345, 23456) == 0);
  REQUIRE(::chmod((dir / "out").c_str(), 04664) == 0);
  // Of the effective user only: it comes back.
  REQUIRE(::setegid(34567) == 0);
  REQUIRE(::seteuid(34567) == 0);
  write_text(dir / "out", "new");
  REQUIRE(::seteuid(0) == 0);
  REQUIRE(::setegid(0) == 0);
  CHECK(read_file(dir / "out") == "new");
  CHECK(status_of(dir / "out").st_uid == 34567);
  CHECK(mode_of(dir / "out") == 0644);
}

TEST_CASE("output file: an access control list is kept") {
  const TemporaryDirectory dir;
  write_file(dir / "out", "old");
  // Version 2; user::rw-, user:12345:r--, group::---, mask::r--, other::---
  const std::uint16_t entries[][4] = {{0x01, 6, 0xffff, 0xffff},
                                      {0x02, 4, 12345, 0},
                                      {0x04, 0, 0xffff, 0xffff},
                                      {0x10, 4, 0xffff, 0xffff},
                                      {0x20, 0, 0xffff, 0xffff}};
  std::string list("\x02\0\0\0", 4);
  list.append(reinterpret_cast<const char*>(entries), sizeof entries);
  constexpr const char* name = "system.posix_acl_access";
  if (::setxattr((dir / "out").c_str(), name, list.data(), list.size(), 0) != 0) {
    WARN("this file system has no access control lists");
    return;
  }
  write_text(dir / "out", "new");
  char got[256];
  const ssize_t n = ::getxattr((dir / "out").c_str(), name, got, sizeof got);
  CHECK(std::string(got, static_cast<std::size_t>(std::max<ssize_t>(n, 0))) == list);
  CHECK(mode_of(dir / "out") == 0640);
}

TEST_CASE("output file: symbolic links stay, and lead to the file") {
  namespace fs = std::filesystem;
  const TemporaryDirectory dir;
  fs::create_directory(dir / "data");
  const auto is_link = [&](const char* name) { return fs::is_symlink(fs::symlink_status(dir / name)); };

  fs::create_symlink("data/file", dir / "link");
  fs::create_symlink("link", dir / "link to link");
  write_text(dir / "link to link", "first");  // it names a file that is not there yet
  CHECK(read_file(dir / "data/file") == "first");
  CHECK(is_link("link"));
  CHECK(is_link("link to link"));

  REQUIRE(::chmod((dir / "data/file").c_str(), 0600) == 0);
  write_text(dir / "link", "second");
  CHECK(read_file(dir / "data/file") == "second");
  CHECK(mode_of(dir / "data/file") == 0600);
  CHECK(is_link("link"));

  fs::create_symlink(dir / "missing/file", dir / "nowhere");
  CHECK_THROWS_WITH(write_text(dir / "nowhere", "x"), Catch::Contains("cannot create"));
  CHECK(is_link("nowhere"));

  fs::create_symlink("b", dir / "a");
  fs::create_symlink("a", dir / "b");
  CHECK_THROWS_AS(write_text(dir / "a", "x"), IoError);

  fs::create_symlink("data", dir / "folder");
  CHECK_THROWS_WITH(write_text(dir / "folder", "x"), Catch::Contains("not a regular file"));
  write_text(dir / "folder/other", "third");
  CHECK(read_file(dir / "data/other") == "third");
}

/// The number in the last name that was given to a file beside an output: those of the process count up.
int number_of_temporary(const TemporaryDirectory& dir) {
  const std::string probe = dir / "probe";
  write_text(probe, "x");
  int number = -1;
  {
    io::detail::AtomicFile file(probe);
    file.commit_for_now();  // what was there before has such a name now
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("probe.")) number = std::stoi(name.substr(name.find('-') + 1));
    }
  }
  std::filesystem::remove(probe);
  return number;
}
std::string temporary_name(const std::string& path, int number) {
  return path + "." + std::to_string(::getpid()) + "-" + std::to_string(number) + ".tmp";
}

TEST_CASE("output file: the process may go to another folder meanwhile") {
  const TemporaryDirectory dir;
  const std::string before = std::filesystem::current_path();
  std::filesystem::create_directories(dir / "other");
  std::filesystem::current_path(dir / ".");
  for (const bool commits : {false, true}) {
    std::filesystem::current_path(dir / ".");
    io::detail::AtomicFile file("here");
    std::filesystem::current_path(dir / "other");
    if (commits) file.commit();
  }
  std::filesystem::current_path(before);
  CHECK(std::filesystem::exists(dir / "here"));
  CHECK(std::filesystem::is_empty(dir / "other"));
  CHECK(dir.files() == 2);  // with the folder
}

TEST_CASE("output file: a name beside it that is taken is passed over") {
  const Nameless nameless(GENERATE(true, false));
  const TemporaryDirectory dir;
  const std::string path = dir / "out";
  int number = number_of_temporary(dir);
  for (int k = 1; k <= 3; ++k) write_file(temporary_name(path, number + k), "stale");
  write_text(path, "old");
  CHECK(read_file(path) == "old");
  for (int k = 1; k <= 3; ++k) CHECK(read_file(temporary_name(path, number + k)) == "stale");

  number = number_of_temporary(dir);
  {
    io::detail::AtomicFile file(path);
    write_file(temporary_name(path, number + 2), "stale");
    file.file()->write(0, "new", 3);
    file.commit_for_now();
    CHECK(read_file(path) == "new");
    file.undo();
  }
  CHECK(read_file(path) == "old");
  CHECK(read_file(temporary_name(path, number + 2)) == "stale");
}

TEST_CASE("output file: the longest names, and none") {
  const Nameless nameless(GENERATE(true, false));
  for (const std::size_t length : {200, 230, 246, 255}) {
    const TemporaryDirectory dir;
    const std::string path = dir / std::string(length, 'a');
    write_text(path, "old");
    {
      io::detail::AtomicFile file(path);
      file.file()->write(0, "new", 3);
      file.commit_for_now();
      file.undo();
    }
    CHECK(read_file(path) == "old");
    CHECK(dir.files() == 1);
  }
  {
    const TemporaryDirectory dir;
    const std::string path = dir / std::string(256, 'a');
    CHECK_THROWS_WITH(io::detail::AtomicFile(path), path + ": cannot create: File name too long");
    CHECK(dir.files() == 0);
  }
  CHECK_THROWS_WITH(write_text("", "x"), Catch::Contains("the path is empty"));
  CHECK_THROWS_AS(io::write_npy("", Vector<double>({1})), IoError);
  CHECK_THROWS_AS(io::NpyWriter("", ScalarType::float64), IoError);
  CHECK_THROWS_AS(io::TextWriter(""), IoError);
  CHECK_THROWS_AS(io::NpzWriter(""), IoError);
}
