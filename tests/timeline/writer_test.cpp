#include "timeline/writer.h"

#include <unistd.h>

#include <cerrno>
#include <limits>
#include <thread>

#include <anabranch/error.h>

#include "io/base/system.h"
#include "io/matrix_files.h"
#include "support/catch.h"
#include "support/trace_file.h"

namespace anabranch::timeline {
namespace {

using io_test::TemporaryDirectory;
using testing::TraceFile;

std::string read_back(const std::string& text) { return nlohmann::json::parse(json_string(text)); }

/// From now on, as long as it lives, the disk is full.
struct FullDisk {
  FullDisk() {
    io::detail::system_calls().pwrite = [](int, const void*, std::size_t, off_t) -> ssize_t {
      errno = ENOSPC;
      return -1;
    };
  }
  ~FullDisk() { io::detail::system_calls().pwrite = ::pwrite; }
};

}  // namespace

TEST_CASE("timeline: text is quoted as JSON wants it") {
  for (const std::string text : {"", "plain", "a \"b\" \\ /", "line\nfeed\ttab\x01", "größe.cpp",
                                 "\xe6\xb0\xb4", "\xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf", "\x7f"})
    CHECK(read_back(text) == text);
  CHECK(read_back(std::string("a\0b", 3)) == std::string("a\0b", 3));
  const std::string no = "\xef\xbf\xbd";
  for (const std::string bad : {"\xff", "\x80", "\xc0", "\xf5"}) CHECK(read_back(bad) == no);
  CHECK(read_back("a\xe4z") == "a" + no + "z");               // Latin-1
  CHECK(read_back("\xc3") == no);                             // cut off
  CHECK(read_back("\xe6\xb0") == no + no);                    //
  CHECK(read_back("\xc0\xaf") == no + no);                    // overlong
  CHECK(read_back("\xe0\x80\xaf") == no + no + no);           //
  CHECK(read_back("\xed\xa0\x80") == no + no + no);           // a surrogate
  CHECK(read_back("\xf4\x90\x80\x80") == no + no + no + no);  // beyond U+10FFFF
}

TEST_CASE("timeline: arguments") {
  const auto parse = [](const Arguments& a) { return nlohmann::json::parse("{" + a.text() + "}"); };
  CHECK(parse(Arguments()).empty());
  const auto all = parse(Arguments()
                             .add("n", std::numeric_limits<std::int64_t>::min())
                             .add("x", 0.1)
                             .add("\"", std::string_view("\n"))
                             .add("nan", std::nan("")));
  CHECK(all["n"] == std::numeric_limits<std::int64_t>::min());
  CHECK(all["x"] == 0.1);
  CHECK(all["\""] == "\n");
  CHECK(all["nan"].is_null());
}

TEST_CASE("timeline: rows, spans and counters") {
  const TemporaryDirectory dir;
  const std::string path = dir / "t.json";
  {
    Writer writer(path, 1'000'000);
    writer.name_group(1, "one");
    writer.name_row({1, 0}, "upper");
    writer.name_row({1, 1}, "lower");
    writer.name_row({1, 1}, "named before");
    writer.span({1, 0}, "a", 1'000'001, 1'002'003, Arguments().add("k", std::int64_t{7}));
    writer.span({1, 1}, "b", 999'000, 998'000);  // before the origin, and backwards: at 0, of length 0
    writer.counter(1, "height", 1'500'000, -3);
    CHECK(!std::filesystem::exists(path));
    writer.finish();
    writer.span({1, 0}, "too late", 2'000'000, 3'000'000);
    writer.finish();
  }
  const TraceFile file(path);
  REQUIRE(file.row("upper").size() == 1);
  CHECK(file.row("upper")[0].begin_ns == 1);
  CHECK(file.row("upper")[0].end_ns == 2003);
  CHECK(file.row("upper")[0].arguments["k"] == 7);
  REQUIRE(file.row("lower").size() == 1);
  CHECK(file.row("lower")[0].begin_ns == 0);
  CHECK(file.row("lower")[0].length() == 0);
  CHECK(file.counters.at("height") == std::vector<std::int64_t>{-3});
  CHECK(file.rows.size() == 2);
  CHECK(dir.files() == 1);
}

TEST_CASE("timeline: without events, and without an end") {
  const TemporaryDirectory dir;
  Writer(dir / "none.json", 0).finish();
  CHECK(TraceFile(dir / "none.json").rows.empty());
  {
    Writer dropped(dir / "dropped.json", 0);
  }
  CHECK(dir.files() == 1);
}

TEST_CASE("timeline: from many threads") {
  const TemporaryDirectory dir;
  Writer writer(dir / "t.json", 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&writer, t] {
      for (int k = 0; k < 5000; ++k) {
        writer.name_row({1, t}, "row " + std::to_string(t));
        writer.span({1, t}, "span", k * 10, k * 10 + 5);
      }
    });
  for (auto& t : threads) t.join();
  writer.finish();
  const TraceFile file(dir / "t.json");
  for (int t = 0; t < 4; ++t) CHECK(file.row("row " + std::to_string(t)).size() == 5000);
}

TEST_CASE("timeline: a file that cannot be made, or not be written") {
  const TemporaryDirectory dir;
  CHECK_THROWS_AS(Writer(dir / "no/such/t.json", 0), IoError);
  CHECK_THROWS_WITH(Writer(dir / "no/such/t.json", 0), Catch::Contains("no/such/t.json"));
  CHECK_THROWS_WITH(Writer("/dev/full", 0), Catch::Contains("/dev/full"));
  const std::string full = dir / "t.json: cannot write: " + std::strerror(ENOSPC);
  {
    // Found out at the end.
    Writer writer(dir / "t.json", 0);
    const FullDisk disk;
    writer.span({1, 1}, "short", 0, 1);
    CHECK_NOTHROW(writer.check());
    CHECK_THROWS_WITH(writer.finish(), full);
    CHECK_NOTHROW(writer.finish());
  }
  {
    // Found out on the way.
    Writer writer(dir / "t.json", 0);
    {
      const FullDisk disk;
      for (int k = 0; k < 10'000; ++k) writer.span({1, 1}, "long", k, k + 1);
    }
    CHECK_THROWS_WITH(writer.check(), full);
    writer.span({1, 1}, "more", 0, 1);
    CHECK_THROWS_WITH(writer.finish(), full);
  }
  CHECK(dir.files() == 0);
}

}  // namespace anabranch::timeline
