// The files of one run appear together, or none does.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

#include <nlohmann/json.hpp>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include "io/base/system.h"
#include "support/catch.h"
#include "support/files.h"

namespace anabranch::testing {
namespace {

/// How a file system keeps what is there before a file takes its place.
enum class Keeps { by_exchange, by_link, nothing, no_space_for_links };

/// While it lives, the k-th time that a file gets its name (0: the first) fails, or that a folder is brought to the disk
/// after that.
class Failing {
 public:
  Failing(int name, int folder, Keeps file_system) {
    names = name;
    folders = folder;
    keeps = file_system;
    auto& calls = io::detail::system_calls();
    calls.rename = [](const char* from, const char* to) { return fail(names) ? -1 : ::rename(from, to); };
    calls.exchange = [](const char* file, const char* other) {
      errno = EINVAL;
      return keeps != Keeps::by_exchange || fail(names)
                 ? -1
                 : ::renameat2(AT_FDCWD, file, AT_FDCWD, other, RENAME_EXCHANGE);
    };
    calls.link = [](const char* file, const char* other_name) {
      if (keeps == Keeps::by_link || ::access(file, F_OK) != 0) return ::link(file, other_name);
      errno = keeps == Keeps::no_space_for_links ? ENOSPC : EPERM;
      return -1;
    };
    calls.fsync = [](int fd) {
      struct stat s{};
      ::fstat(fd, &s);
      return S_ISDIR(s.st_mode) && fail(folders) ? -1 : ::fsync(fd);
    };
  }
  ~Failing() { io::detail::system_calls() = original_; }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

 private:
  static bool fail(std::atomic<int>& left) {
    if (left-- != 0) return false;
    errno = EIO;
    return true;
  }

  inline static std::atomic<int> names = -1, folders = -1;
  inline static Keeps keeps = Keeps::by_exchange;
  io::detail::SystemCalls original_ = io::detail::system_calls();
};

const char* const names[] = {"rows.npy", "pair.values.npy", "pair.offsets.npy", "lines.txt", "matrix.npz"};
constexpr int files = std::size(names);

/// Four sinks, five files.
auto four_files(const TemporaryDirectory& dir) {
  const auto numbers =
      produce(5, [](auto i) { return generate(3, [=](auto k) { return cast<double>(i * 3 + k); }); });
  const auto letters = [](auto row) { return map([](auto x) { return cast<std::uint8_t>(x + 65.0); }, row); };
  const auto entries = [](auto row) {
    return imap([](auto i, auto x) { return pack(cast<std::int32_t>(i[0]), x); }, row);
  };
  return std::tuple(consume(write(numbers, io::write_npy_rows(dir / "rows.npy"))),
                    consume(write(numbers, io::write_ragged(dir / "pair"))),
                    consume(write(map_seq(letters, numbers), io::write_lines(dir / "lines.txt"))),
                    consume(write(map_seq(entries, numbers), io::write_csr(dir / "matrix.npz", 3))));
}

std::map<std::string, std::string> contents(const TemporaryDirectory& dir) {
  std::map<std::string, std::string> all;
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    all[file.path().filename().string()] = read_file(file.path().string());
  return all;
}

}  // namespace

TEST_CASE("the files of a run appear together, or what was there before stays") {
  const Keeps keeps = GENERATE(Keeps::by_exchange, Keeps::by_link);
  for (const bool before : {false, true})
    for (int k = 0; k < 2 * files; ++k) {
      INFO("files before: " << before << ", failure " << k);
      const TemporaryDirectory dir;
      if (before)
        for (const char* name : names) write_file(dir / name, "what was there before");
      const auto was = contents(dir);
      {
        const Failing failing(k < files ? k : -1, k < files ? -1 : k - files, keeps);
        CHECK_THROWS_AS(run(four_files(dir)), IoError);
      }
      CHECK(contents(dir) == was);
      run(four_files(dir));
      CHECK(dir.files() == files);
      for (const auto& [name, bytes] : contents(dir)) CHECK(bytes != "what was there before");
    }
}

TEST_CASE("the report and the timeline of a run appear with its files, or they tell of the failure") {
  for (int k = 0; k < files + 2; ++k) {
    INFO("failure " << k);
    const TemporaryDirectory dir, about;
    RunOptions options;
    options.trace = about / "timeline.json";
    if (html_reports_available()) options.report = about / "report.html";
    const int last = files + 1 + (html_reports_available() ? 1 : 0);
    {
      const Failing failing(k, -1, Keeps::by_exchange);
      if (k < last)
        CHECK_THROWS_AS(run(four_files(dir), options), IoError);
      else
        CHECK_NOTHROW(run(four_files(dir), options));
    }
    CHECK(dir.files() == (k < last ? 0 : files));
    // What cannot be put in place itself is not tried again.
    const bool timeline = std::filesystem::exists(about / "timeline.json");
    CHECK(timeline == (k != last - 1));
    if (timeline) {
      const std::string text = read_file(about / "timeline.json");
      CHECK((text.find("Input/output error") != std::string::npos) == (k < last));
      CHECK(nlohmann::json::accept(text));
    }
    if (!html_reports_available()) continue;
    // That of a page that cannot be is: the next name can be given.
    const std::string page = read_file(about / "report.html");
    CHECK((page.find("Input/output error") != std::string::npos) == (k < last));
  }
}

TEST_CASE("where what was there before cannot be kept, though the file system could, it stays in place") {
  const TemporaryDirectory dir;
  for (const char* name : names) write_file(dir / name, "what was there before");
  const auto was = contents(dir);
  {
    const Failing failing(-1, -1, Keeps::no_space_for_links);
    CHECK_THROWS_WITH(run(four_files(dir)), Catch::Contains("cannot keep what is there before"));
  }
  CHECK(contents(dir) == was);
}

TEST_CASE(
    "where the file system neither exchanges names nor has hard links, the files of a run appear, and no "
    "other is left") {
  const TemporaryDirectory dir, linked;
  for (int i = 0; i < 2; ++i) {
    const Failing failing(-1, -1, Keeps::nothing);
    run(four_files(dir));
    CHECK(dir.files() == files);
  }
  run(four_files(linked));
  CHECK(contents(dir) == contents(linked));
  // What took no other file's place is taken back all the same, and no file is cut.
  for (int k = 0; k < 2 * files; ++k) {
    INFO("failure " << k);
    const TemporaryDirectory none, some;
    for (const char* name : names) write_file(some / name, "what was there before");
    for (const TemporaryDirectory* in : {&none, &some}) {
      const Failing failing(k < files ? k : -1, k < files ? -1 : k - files, Keeps::nothing);
      CHECK_THROWS_AS(run(four_files(*in)), IoError);
    }
    CHECK(none.files() == 0);
    CHECK(some.files() == files);
    for (const auto& [name, bytes] : contents(some))
      CHECK((bytes == "what was there before" || bytes == contents(linked)[name]));
  }
}

}  // namespace anabranch::testing
