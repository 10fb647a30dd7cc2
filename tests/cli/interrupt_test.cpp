#include "support/catch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "audio_files.h"
#include "command.h"
#include "support/page_file.h"

using namespace cli_test;
using namespace std::chrono_literals;

namespace {

Start with_cache(const std::string& folder) {
  return {.environment = {"ANABRANCH_CACHE=on", "ANABRANCH_CACHE_DIR=" + folder}};
}

/// Kernels that the command has compiled before it ends, or is stopped once it has compiled one.
int kernels_made(const std::vector<std::string>& arguments, bool stopped) {
  const TemporaryDirectory cache;
  Process process(arguments, with_cache(cache.path()));
  if (stopped) {
    wait_until([&] { return cache.files() > 0; });
    process.signal(SIGINT);
  }
  const Outcome o = process.finish();
  INFO(o.err);
  CHECK(o.status == (stopped ? 130 : 0));
  return static_cast<int>(cache.files());
}

/// Sends the signal once `ready`, and expects the exit code soon.
void stops(const std::vector<std::string>& arguments, int signal, int status,
           const std::function<bool(const Process&)>& ready) {
  Process process(arguments);
  wait_until([&] { return process.blocks(signal) && ready(process); });
  std::this_thread::sleep_for(200ms);
  process.signal(signal);
  const auto sent = std::chrono::steady_clock::now();
  const Outcome o = process.finish();
  INFO(o.err);
  CHECK(o.status == status);
  CHECK(o.out.empty());
  // Within one chunk (100 ms); the rest is for a busy machine.
  CHECK(std::chrono::steady_clock::now() - sent < 3s);
}

bool always(const Process&) { return true; }

}  // namespace

TEST_CASE("signals: a run stops cleanly, without output") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "700", "--out", dir / "m.npz"}).status == 0);
  for (const char* backend : {"cpu", "interpreter"})
    for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
      INFO(backend << " " << signal);
      stops({"smvm", dir / "m.npz", "--repeat", "1000000", "--backend", backend, "--out", dir / "y.npy"},
            signal, status, always);
      CHECK(dir.files() == 1);
    }
}

TEST_CASE("signals: a pipe that nobody writes to is not waited for") {
  const TemporaryDirectory dir;
  REQUIRE(::mkfifo((dir / "words").c_str(), 0600) == 0);
  stops({"md5", std::string(32, '0'), dir / "words"}, SIGTERM, 143, always);
}

TEST_CASE("signals: a run that was stopped leaves a report that says so") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "700", "--out", dir / "m.npz"}).status == 0);
  stops({"smvm", dir / "m.npz", "--backend", "interpreter", "--report", dir / "r.html"}, SIGINT, 130, always);
  const auto run = anabranch::testing::PageFile(dir / "r.html").data["run"];
  CHECK(run["cancelled"] == true);
  CHECK(run["error"] == "the run was cancelled");
}

TEST_CASE("signals: a hang-up stops, and what comes twice at once is one request") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(audio_signal(3000, 1)));
  const std::vector<std::string> line{"audio",      dir / "a.wav", "--out",       dir / "f.npz",
                                      "--features", "lpc",         "--lpc-order", "128"};
  for (const auto& [signal, status] : {std::pair{SIGHUP, 129}, std::pair{SIGTERM, 143}})
    for (const auto pause : {0ms, 5ms}) {
      const TemporaryDirectory cache;  // kernels are being compiled, which takes a while to stop
      Process process(line, with_cache(cache.path()));
      wait_until([&] { return cache.files() > 0; });
      process.signal(signal);
      std::this_thread::sleep_for(pause);
      process.signal(signal);
      const Outcome o = process.finish();
      INFO(o.err);
      CHECK(o.status == status);
      CHECK(dir.files() == 1);
    }
}

TEST_CASE("signals: those that are ignored stay so") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "300", "--out", dir / "m.npz"}).status == 0);
  const auto ignored = std::signal(SIGINT, SIG_IGN);  // by processes that this one starts, too
  Process process({"smvm", dir / "m.npz", "--repeat", "1000000", "--out", dir / "y.npy"});
  std::signal(SIGINT, ignored);
  // For a moment a thread that starts another one blocks all.
  wait_until([&] { return process.blocks(SIGTERM) && !process.blocks(SIGINT); });
  process.signal(SIGINT);
  std::this_thread::sleep_for(100ms);
  process.signal(SIGTERM);
  CHECK(process.finish().status == 143);
}

TEST_CASE("signals: sorting a Matrix Market file stops") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "900", "--out", dir / "m.mtx"}).status == 0);
  Process process({"smvm", dir / "m.mtx", "--memory", "32M", "--repeat", "1000000", "--out", dir / "y.npy"},
                  {.environment = {"TMPDIR=" + dir.path()}});
  wait_until([&] { return process.blocks(SIGINT); });
  std::this_thread::sleep_for(40ms);
  process.signal(SIGINT);
  CHECK(process.finish().status == 130);
  CHECK(dir.files() == 1);
}

TEST_CASE("signals: explaining what is made of a Matrix Market file stops while that is sorted") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "laplacian2d", "--size", "900", "--out", dir / "m.mtx"}).status == 0);
  Process process({"explain", "smvm", dir / "m.mtx"});
  wait_until([&] { return process.blocks(SIGINT); });
  process.signal(SIGINT);
  CHECK(process.finish().status == 130);
}

TEST_CASE("signals: writing features stops") {
  const TemporaryDirectory dir, out;
  io_test::write_file(dir / "a.wav", wav(audio_signal(220'500, 9)));
  std::string lines;  // short ones, so that most of their many lags are 0, and quickly computed
  for (int i = 0; i < 10'000; ++i) lines += std::to_string(i * 20) + " 16\n";
  io_test::write_file(dir / "s.txt", lines);
  for (const char* name : {"f.csv", "f.npz"}) {
    Process process({"audio", dir / "a.wav", "--segments", dir / "s.txt", "--features", "autocorrelation",
                     "--max-size", "4000", "--out", out / name});
    wait_until([&] { return process.has_written_to(out.path()); });
    process.signal(SIGINT);
    const Outcome o = process.finish();
    INFO(o.err);
    CHECK(o.status == 130);
    CHECK(out.files() == 0);
  }
}

TEST_CASE("signals: generate leaves nothing behind") {
  const TemporaryDirectory dir;
  for (const char* name : {"m.npz", "m.mtx"}) {
    stops({"generate", "laplacian3d", "--size", "2000", "--points", "27", "--out", dir / name}, SIGTERM, 143,
          [&](const Process& process) { return process.has_written_to(dir.path()); });
    CHECK(dir.files() == 0);
  }
}

TEST_CASE("signals: a kill leaves nothing behind, where the file system has files without a name") {
  const TemporaryDirectory dir;
  const mode_t mask = ::umask(022);  // of the command, too
  if (const int file = ::open(dir.path().c_str(), O_RDWR | O_TMPFILE, 0600); file >= 0) {
    ::close(file);
  } else {
    ::umask(mask);
    WARN("this file system has no files without a name");
    return;
  }
  Process process({"generate", "laplacian3d", "--size", "2000", "--points", "27", "--out", dir / "m.npz"});
  ::umask(mask);
  wait_until([&] { return process.has_written_to(dir.path()); });
  REQUIRE(process.has_written_to(dir.path()));
  process.signal(SIGKILL);
  process.finish();
  CHECK(dir.files() == 0);
}

TEST_CASE("signals: generate stops before the first row") {
  const TemporaryDirectory dir;
  stops({"generate", "powerlaw", "--size", "100000000000", "--out", dir / "m.npz"}, SIGINT, 130, always);
  CHECK(dir.files() == 0);
}

TEST_CASE("signals: compiling stops, and the report says so") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.wav", wav(audio_signal(3000, 1)));
  const std::vector<std::string> line{"audio",      dir / "a.wav", "--out",       dir / "f.npz",
                                      "--features", "lpc",         "--lpc-order", "128"};
  CHECK(kernels_made(line, true) < 400);  // of four for each order, but two
  CHECK(dir.files() == 1);
  std::vector<std::string> with_report = line;
  with_report.insert(with_report.end(), {"--report", dir / "r.html"});
  CHECK(kernels_made(with_report, true) < 400);
  CHECK(anabranch::testing::PageFile(dir / "r.html").data["run"]["cancelled"] == true);
}

TEST_CASE("signals: compiling what md5 compares suspects with stops") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "words", "password\n");
  std::string rules;
  for (const char* change : {"lower", "upper", "capitalize", "toggle", "leet"})
    for (const char* digits : {"append-digit", "append-2-digits", "append-3-digits", "append-4-digits"})
      rules += (rules.empty() ? "" : ",") + std::string(change) + "+" + digits;
  const std::vector<std::string> line{"md5", "5f4dcc3b5aa765d61d8327deb882cf99", dir / "words", "--rules",
                                      rules};
  CHECK(kernels_made(line, true) < kernels_made(line, false));
}
