#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/audio_files.h"
#include "cli/command.h"
#include "every_fault.h"
#include "support/catch.h"
#include "support/files.h"

// The command, when the system refuses it something: the right status, a sentence, nothing half written.
namespace fault_test {
namespace {

constexpr const char* features = "rms,spectral_centroid";
constexpr const char* digest_of_waterfall = "911b1ca4b34d45a115afee01b1e4fbb9";

/// Files to work on, and kernels that are compiled: LLVM is another question.
struct Inputs {
  cli_test::TemporaryDirectory folder;
  std::string npz = folder / "m.npz", mtx = folder / "m.mtx", sound = folder / "s.wav",
              words = folder / "w.txt";

  Inputs() {
    ::setenv("ANABRANCH_CACHE", "on", 1);
    ::setenv("ANABRANCH_CACHE_DIR", folder.path().c_str(), 1);
    for (const std::string& file : {npz, mtx})
      REQUIRE(cli_test::command({"generate", "laplacian2d", "--size", "30", "--out", file}).status == 0);
    io_test::write_file(sound, cli_test::wav(cli_test::audio_signal(20'000, 1)));
    io_test::write_file(words, "river\nwaterfall\nbrook\n");
    REQUIRE(cli_test::command({"smvm", npz}).status == 0);
    REQUIRE(cli_test::command({"pagerank", npz}).status == 0);
    REQUIRE(cli_test::command({"audio", sound, "--features", features, "--out", folder / "f.npz"}).status ==
            0);
    REQUIRE(cli_test::command({"md5", digest_of_waterfall, words}).status == 0);
  }
  ~Inputs() { ::setenv("ANABRANCH_CACHE", "off", 1); }
};

std::vector<std::vector<std::string>> commands(const Inputs& inputs) {
  return {
      {"smvm", inputs.npz, "--threads", "2", "--out", "@/y.npy", "--trace", "@/t.json", "--report",
       "@/r.html"},
      {"smvm", inputs.mtx, "--threads", "2", "--out", "@/y.npy"},
      {"smvm", inputs.npz, "--transpose", "--threads", "2", "--out", "@/y.npy"},
      {"pagerank", inputs.npz, "--threads", "2", "--memory", "1M", "--out", "@/r.npy"},
      {"pagerank", inputs.mtx, "--threads", "2", "--out", "@/r.npy"},
      {"audio", inputs.sound, "--features", features, "--threads", "2", "--memory", "4M", "--out", "@/f.npz"},
      {"audio", inputs.sound, "--features", "mean", "--threads", "2", "--out", "@/f.csv"},
      {"md5", digest_of_waterfall, inputs.words, "--threads", "2"},
      {"generate", "banded", "--size", "100", "--out", "@/m.npz"},
      {"generate", "rmat", "--size", "64", "--out", "@/m.mtx"},
      {"explain", "smvm", inputs.npz},
      {"doctor"},
      {"smvm", "--help"}};
}

}  // namespace

TEST_CASE("command: system calls and thread starts fail") {
  const Inputs inputs;
  for (const auto& arguments : commands(inputs))
    for (const Kind kind : all_kinds()) {
      INFO(fmt::format("{}", fmt::join(arguments, " ")));
      if (kind != Kind::allocation) check_every_fault(kind, arguments, {.depth = 1});
    }
}

TEST_CASE("command: allocations fail") {
  const Inputs inputs;
  const auto all = commands(inputs);
  CHECK(check_every_fault(Kind::allocation, all[0], {.step = 37}) > 50);
}

TEST_CASE("command: all allocations fail from one on") {
  const Inputs inputs;
  const auto all = commands(inputs);
  CHECK(check_every_fault(Kind::allocation, all[0], {.step = 37, .lasting = true}) > 50);
}

/// A case for each command: an allocation each takes thousands of processes.
TEMPLATE_TEST_CASE_SIG("command: every call fails once", "[.long]", ((std::size_t number), number), 0, 1, 2,
                       3, 4, 5, 6, 7, 8, 9, 10, 11, 12) {
  const Inputs inputs;
  const auto all = commands(inputs);
  REQUIRE(all.size() == 13);  // more of them: name them above
  for (const Kind kind : all_kinds())
    for (const bool lasting : {false, true}) {
      INFO(fmt::format("{}", fmt::join(all[number], " ")));
      check_every_fault(kind, all[number], {.step = 1, .lasting = lasting});
    }
}

}  // namespace fault_test
