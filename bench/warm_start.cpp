#include <anabranch/anabranch.h>
#include <anabranch/io.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/contest.h"
#include "support/new_process.h"
#include "support/programs.h"

/// What a process starts with when an earlier one has left
/// its kernels on disk, beside what it takes without them.
namespace {

using namespace anabranch;
using namespace anabranch::bench;
namespace fs = std::filesystem;

/// A matrix file, and a cache of kernels that this process and those it starts use.
class Workplace {
 public:
  Workplace() : folder_(fs::temp_directory_path() / "anabranch-bench-XXXXXX") {
    std::string pattern = folder_.string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    ::setenv("ANABRANCH_CACHE_DIR", (folder_ / "kernels").c_str(), 1);
    keep_kernels(true);
  }
  ~Workplace() { fs::remove_all(folder_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  static void keep_kernels(bool yes) { ::setenv("ANABRANCH_CACHE", yes ? "on" : "off", 1); }
  std::string matrix() const { return folder_ / "matrix.npz"; }

 private:
  fs::path folder_;
};

/// Runs a program whose kernel no other seed has.
RunReport run_with_seed(double seed) {
  const std::vector<std::int32_t> indptr{0, 1, 3}, indices{0, 1, 0};
  const std::vector<double> values{1, 2, 3};
  const auto x = use(Vector<double>(std::vector<double>{1, 1}));
  const auto dot_row = [=](Acc<SparseRow> row) {
    auto [columns, v] = unzip(row);
    return fold(plus, seed, zip_with(times, v, gather(columns, x)));
  };
  RunReport report;
  const auto rows = stream_in(io::csr_view(2, 2, indptr, indices, values));
  static_cast<void>(run(consume(elements(map_seq(dot_row, rows))), {.threads = 1}, &report));
  return report;
}

double seconds_from_disk(double seed) {
  const RunReport report = run_with_seed(seed);
  if (report.kernels_from_disk != 1) throw std::runtime_error("the kernel did not come from disk");
  return report.compile_seconds;
}

void add_kernels() {
  constexpr double target = 1e-3;
  const auto figure = [](std::function<double()> measure) {
    return [measure = std::move(measure)] {
      in_new_process([] { return run_with_seed(1).seconds + run_with_seed(2).seconds; });
      return Measure([measure] { return in_new_process(measure); });
    };
  };
  add_figure("kernel/from_disk/first", "the smvm kernel, first of a process", target,
             figure([] { return seconds_from_disk(1); }));
  add_figure("kernel/from_disk", "a later one", target, figure([] {
               run_with_seed(1);
               return seconds_from_disk(2);
             }));
}

/// From start to end of the command. Throws unless it succeeds.
double command_seconds(const std::vector<std::string>& arguments) {
  const std::string command = fs::read_symlink("/proc/self/exe").parent_path() / "anabranch";
  std::vector<char*> argv{const_cast<char*>(command.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t silent;
  ::posix_spawn_file_actions_init(&silent);
  ::posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", 1, 0);
  const double begin = now();
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, command.c_str(), &silent, nullptr, argv.data(), environ);
  int status = -1;
  if (!failed) ::waitpid(child, &status, 0);
  const double spent = now() - begin;
  ::posix_spawn_file_actions_destroy(&silent);
  if (failed || status != 0) throw std::runtime_error(command + " failed");
  return spent;
}

void add_command(const Workplace& work) {
  const std::string matrix = work.matrix();
  const auto figure = [matrix](bool warm) {
    return [matrix, warm] {
      Workplace::keep_kernels(warm);
      command_seconds({"generate", "laplacian2d", "--size", "100", "--out", matrix});
      command_seconds({"smvm", matrix});
      return Measure([matrix, warm] {
        Workplace::keep_kernels(warm);
        return command_seconds({"smvm", matrix});
      });
    };
  };
  const std::string note = "the command, 50,000 entries, ";
  add_figure("command/smvm/warm", note + "its kernel on disk", 60e-3, figure(true));
  add_figure("command/smvm/cold", note + "without a cache", 0, figure(false));
}

}  // namespace

int main(int argc, char** argv) {
  const Workplace work;
  add_kernels();
  add_command(work);
  return run_all(argc, argv);
}
