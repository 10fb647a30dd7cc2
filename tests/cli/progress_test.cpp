#include "support/catch.h"

#include <algorithm>

#include "apps/common/progress_meter.h"
#include "command.h"

using namespace cli_test;
using anabranch::Progress;
using anabranch::apps::ProgressMeter;
using anabranch::apps::short_count;
using anabranch::apps::short_time;

namespace {

struct Matrix {
  TemporaryDirectory dir;
  std::string path = dir / "m.npz";
  Matrix() { io_test::write_file(path, io_test::npz(io_test::members(io_test::sample(1000)))); }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A stream of 10^6 items of three elements each, 24 bytes an item, `million` items a second.
Progress at(double seconds, double million = 0.1) {
  const auto items = static_cast<std::int64_t>(seconds * million * 1e6);
  return {.items = items,
          .total_items = 1'000'000,
          .chunks = items / 1000,
          .work = 3 * items,
          .total_work = 3'000'000,
          .bytes = 24 * items,
          .seconds = seconds};
}

constexpr std::size_t wide = 1000;

}  // namespace

TEST_CASE("progress: numbers and times as people read them") {
  for (const auto& [number, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                                {950, "950"},
                                                                                {999.6, "1.00 k"},
                                                                                {1234, "1.23 k"},
                                                                                {12'345, "12.3 k"},
                                                                                {999'400, "999 k"},
                                                                                {2.5e6, "2.50 M"},
                                                                                {7e9, "7.00 G"}})
    CHECK(short_count(number) == text);
  for (const auto& [seconds, text] : std::vector<std::pair<double, std::string>>{{0, "0.0 s"},
                                                                                 {9.94, "9.9 s"},
                                                                                 {9.96, "10 s"},
                                                                                 {59.4, "59 s"},
                                                                                 {59.6, "1 min 0 s"},
                                                                                 {200, "3 min 20 s"},
                                                                                 {7500, "2 h 5 min"}})
    CHECK(short_time(seconds) == text);
}

TEST_CASE("progress: how far, how fast, how long") {
  ProgressMeter meter;
  meter.add(at(0));
  CHECK(meter.text(wide) == "  0 %, 0 of 1.00 M items");
  for (int i = 1; i <= 20; ++i) meter.add(at(i * 0.1));
  CHECK(
      meter.text(wide) ==
      " 20 %, 200 k of 1.00 M items, 600 k elements, 4.8 MB, 2.4 MB/s now, 2.4 MB/s on average, 8.0 s left");
  // Three times as fast for two seconds: the present rate is that of these, and what is left is told by it.
  for (int i = 1; i <= 24; ++i) {
    Progress p = at(2.0);
    p.items += i * 30'000;
    p.work = 3 * p.items;
    p.bytes = 24 * p.items;
    p.seconds += i * 0.1;
    meter.add(p);
  }
  CHECK(meter.text(wide) ==
        " 92 %, 920 k of 1.00 M items, 2.76 M elements, 22.1 MB, 7.2 MB/s now, 5.02 MB/s on average, 0.3 s "
        "left");
  // The last chunk.
  meter.add(at(5.0, 0.2));
  CHECK(has(meter.text(wide), "100 %, 1.00 M of 1.00 M items"));
  CHECK(!has(meter.text(wide), "left"));
  // The next run of the same stream, and another stream.
  meter.add(at(0.1));
  CHECK(!has(meter.text(wide), "/s"));
  Progress other = at(0.5);
  other.stage = 1;
  meter.add(other);
  CHECK(!has(meter.text(wide), " now"));
}

TEST_CASE("progress: of what is not known nothing is said") {
  ProgressMeter meter;
  for (int i = 0; i <= 10; ++i)
    meter.add({.items = i * 100, .chunks = i, .work = i * 100, .seconds = i * 0.1});
  CHECK(meter.text(wide) == "1.00 k items, 1 k items/s now, 1 k items/s on average");
  ProgressMeter items;  // whose number is known, but not their sizes
  for (int i = 0; i <= 10; ++i)
    items.add({.items = i, .total_items = 100, .chunks = i, .work = i * i, .seconds = i * 0.1});
  CHECK(has(items.text(wide), " 10 %, 10 of 100 items, 100 elements"));
  CHECK(has(items.text(wide), "9.0 s left"));
  ProgressMeter empty;
  empty.add({.total_items = 0, .total_work = 0});
  CHECK(empty.text(wide) == "0 of 0 items");
}

TEST_CASE("progress: on a narrow terminal the most telling parts stay, in their order") {
  ProgressMeter meter;
  for (int i = 0; i <= 20; ++i) meter.add(at(i * 0.1));
  CHECK(
      meter.text(99) ==
      " 20 %, 200 k of 1.00 M items, 600 k elements, 4.8 MB, 2.4 MB/s now, 2.4 MB/s on average, 8.0 s left");
  CHECK(meter.text(79) == " 20 %, 200 k of 1.00 M items, 600 k elements, 4.8 MB, 2.4 MB/s now, 8.0 s left");
  CHECK(meter.text(62) == " 20 %, 200 k of 1.00 M items, 4.8 MB, 2.4 MB/s now, 8.0 s left");
  CHECK(meter.text(31) == " 20 %, 2.4 MB/s now, 8.0 s left");
  CHECK(meter.text(17) == " 20 %, 8.0 s left");
  CHECK(meter.text(10) == " 20 %");
  CHECK(meter.text(3) == " 20");
  CHECK(meter.text(0).empty());
}

TEST_CASE(
    "progress: on a terminal one line that is wiped in the end, elsewhere nothing unless it is asked for") {
  const Matrix m;
  std::vector<std::string> run{"smvm", m.path, "--scheduler", "fixed:1", "--repeat", "300", "--json"};
  CHECK(command(run).err.empty());
  const Start terminal{.environment = {"TERM=xterm"}, .stderr_terminal = true};
  const Outcome shown = command(run, terminal);
  CHECK(shown.status == 0);
  CHECK(has(shown.err, "\rrun "));
  CHECK(has(shown.err, " items"));
  CHECK(!has(shown.err, "\n"));
  CHECK(has(shown.err, "\x1b[32m"));
  CHECK(shown.err.back() == '\r');
  CHECK(shown.json()["items"] == 1000);
  // What is wiped is what was shown.
  const std::size_t last = shown.err.rfind('\r', shown.err.size() - 2);
  CHECK(shown.err.find_first_not_of(" \r", last) == std::string::npos);

  const Outcome plain = command(run, {.environment = {"TERM=xterm", "NO_COLOR=1"}, .stderr_terminal = true});
  CHECK(has(plain.err, "\rrun "));
  CHECK(!has(plain.err, "\x1b"));
  CHECK(!has(command(run, {.environment = {"TERM=dumb"}, .stderr_terminal = true}).err, "\x1b"));

  run.push_back("--no-progress");
  CHECK(command(run, terminal).err.empty());
}

TEST_CASE("progress: asked for on a pipe it comes in lines, the last of which is the end") {
  const Matrix m;
  for (const char* repeat : {"1", "3"}) {
    const Outcome o =
        command({"smvm", m.path, "--scheduler", "fixed:100", "--progress", "--repeat", repeat, "--json"});
    CHECK(o.status == 0);
    CHECK(has(o.err, "100 %, 1.00 k of 1.00 k items, "));
    CHECK(o.err.back() == '\n');
    CHECK(!has(o.err, "\r"));
    CHECK(!has(o.err, "\x1b"));
    CHECK(has(o.err, "run 3 of 3: ") == (std::string(repeat) == "3"));
    CHECK(o.json()["chunks"] == 10);  // and standard output has the report only
  }
  const Outcome interpreted = command({"smvm", m.path, "--backend", "interpreter", "--progress"});
  CHECK(interpreted.status == 0);
  CHECK(has(interpreted.err, "100 %, 1.00 k of 1.00 k items"));
  // An error comes after it, in a line of its own.
  auto broken = io_test::sample(1000);
  broken.indices.back() = 50;
  io_test::write_file(m.dir / "broken.npz", io_test::npz(io_test::members(broken)));
  const Outcome failed = command({"smvm", m.dir / "broken.npz", "--scheduler", "fixed:100", "--progress"});
  CHECK(failed.status == 3);
  CHECK(has(failed.err, " 90 %, "));
  CHECK(has(failed.err, "\nanabranch: "));
}

TEST_CASE("progress: a full or closed standard error changes nothing") {
  const Matrix m;
  // Progress is for people: what they see does not decide what is done.
  const std::vector<std::string> run{"smvm", m.path, "--progress", "--out", m.dir / "y.npy"};
  CHECK(command(run, {.environment = {}, .stderr_closed = true}).status == 0);
  CHECK(npy_vector<double>(m.dir / "y.npy").size() == 1000);
}
