#include "support/catch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "audio_files.h"
#include "command.h"

using namespace cli_test;
using namespace std::chrono_literals;

// What the system refuses: a place for messages, memory, threads. Each time the status says it.
namespace {

/// The status of a command line, in which `$B` is the command; its standard error, where it goes to `$E`.
struct Shell {
  TemporaryDirectory folder;
  std::string matrix = folder / "m.npz";

  Shell() {
    ::chmod(folder.path().c_str(), 0755);  // for other users as well
    REQUIRE(command({"generate", "banded", "--size", "20000", "--out", matrix}).status == 0);
  }
  int status(const std::string& line) {
    const std::string all = "B=" + command_path() + "; cd " + folder.path() + "; E=" + folder.path() +
                            "/err; exec >/dev/null 2>/dev/null; " + line;
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string error() const { return io_test::read_file(folder / "err"); }
};

/// Ends a process that does not end by itself.
class Watchdog {
 public:
  explicit Watchdog(Process& process)
      : thread_([&process](const std::stop_token& stop) {
          for (int i = 0; i < 200 && !stop.stop_requested(); ++i) std::this_thread::sleep_for(100ms);
          if (!stop.stop_requested()) process.signal(SIGKILL);
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

TEST_CASE("standard error that is closed or full changes no status") {
  Shell shell;
  for (const std::string to : {"2>/dev/full", "2>&-"}) {
    INFO(to);
    CHECK(shell.status("$B smvm nope.npz " + to) == 4);
    CHECK(shell.status("$B smvm m.npz --nope " + to) == 2);
    CHECK(shell.status("ANABRANCH_DUMP=plan,nonsense $B smvm m.npz --out y.npy " + to) == 0);
  }
  CHECK(shell.status("$B smvm m.npz >&-") == 4);
  CHECK(shell.status("$B smvm m.npz 2>&- >&- <&-") == 4);
  CHECK(shell.status("$B --version >/dev/full") == 4);
}

TEST_CASE("a message never lands in a file that took the number of standard error") {
  Shell shell;
  const std::string before = io_test::read_file(shell.matrix);
  CHECK(shell.status("$B smvm m.npz --out y.npy 2>&- >/dev/full") == 4);
  CHECK(io_test::read_file(shell.matrix) == before);
  CHECK(shell.status("$B smvm m.npz --out z.npy") == 0);
  CHECK(io_test::read_file(shell.folder / "y.npy") == io_test::read_file(shell.folder / "z.npy"));
}

TEST_CASE("too little memory: exit status 5 and a sentence, whatever the limit") {
  if (sanitized) return;
  Shell shell;
  // From where the libraries just load (127: they do not) to where all fits.
  for (int kib = 40'000; kib <= 100'000; kib += 4'000) {
    const int status = shell.status("ulimit -v " + std::to_string(kib) +
                                    "; timeout -s KILL 60 $B smvm m.npz --memory 32M --threads 2 2>$E");
    INFO(kib << " KiB: " << shell.error());
    CHECK((status == 0 || status == 5 || status == 127));
    if (status == 5) CHECK(shell.error().find("anabranch: ") == 0);
  }
}

TEST_CASE("too few threads: exit status 5 and a sentence") {
  if (sanitized) return;
  Shell shell;
  const std::string user = "setpriv --reuid 64990 --clear-groups ";
  if (::geteuid() != 0 || shell.status(user + "$B --version") != 0) {
    WARN("skipped: only root can start a process as a user who runs nothing else");
    return;
  }
  int refused = 0;
  for (int processes = 1; processes <= 6; ++processes) {
    const int status = shell.status(user + "prlimit --nproc=" + std::to_string(processes) +
                                    " timeout -s KILL 60 $B smvm m.npz --threads 4 2>$E");
    INFO(processes << " processes: " << shell.error());
    if (shell.error().find("timeout:") == 0) continue;  // it was not even started
    CHECK((status == 0 || status == 5));
    if (status == 5) CHECK(shell.error().find("anabranch: ") == 0);
    refused += status == 5;
  }
  CHECK(refused > 0);
}

TEST_CASE("too few open files: a status and a sentence, and no output") {
  if (sanitized) return;
  Shell shell;
  io_test::write_file(shell.folder / "a.wav", wav(audio_signal(3000, 1)));
  io_test::write_file(shell.folder / "g.txt", "0 1\n1 0\n");
  io_test::write_file(shell.folder / "w.txt", "abc\n");
  io_test::write_file(shell.folder / "err", "");
  const int inputs = shell.folder.files();
  const auto with = [](int files) {
    return "TMPDIR=$PWD prlimit --nofile=" + std::to_string(files) + " $B ";
  };
  // With fewer the libraries do not load: how many that takes depends on what is open where the tests are run.
  int least = 4;
  while (least < 64 && shell.status(with(least) + "--version >/dev/null 2>&1") != 0) ++least;
  const std::vector<std::string> lines{"smvm m.npz --transpose --out y.npy", "pagerank g.txt --out y.npy",
                                       "audio a.wav --features all --out y.npz",
                                       "md5 " + std::string(32, '0') + " w.txt"};
  for (const std::string& line : lines) {
    int refused = 0;
    for (const int files : {least, least + 1, least + 3}) {
      const int status = shell.status(with(files) + line + " 2>$E");
      INFO(line << " with " << files << " files: " << shell.error());
      CHECK((status == 0 || status == 1 || status == 4 ||
             status == 6));  // 6: the code generator is a file, too
      if (status > 1) {
        ++refused;
        CHECK(shell.error().starts_with("anabranch: "));
        CHECK(shell.error().find("Too many open files") != std::string::npos);
        CHECK(shell.folder.files() == inputs);
      }
      for (const char* output : {"y.npy", "y.npz"}) std::filesystem::remove(shell.folder / output);
    }
    INFO(line);
    CHECK(refused > 0);
  }
}

TEST_CASE("more files in one call than may be open at a time") {
  if (sanitized) return;
  Shell shell;
  std::filesystem::create_directory(shell.folder / "many");
  for (int i = 100; i < 300; ++i)
    io_test::write_file(shell.folder / ("many/" + std::to_string(i) + ".wav"), wav(audio_signal(600, i)));
  const std::string audio = "$B audio many/*.wav --features rms,mean --out ";
  CHECK(shell.status("prlimit --nofile=64 " + audio + "f.npz 2>$E") == 0);
  INFO(shell.error());
  const auto arrays = npz_arrays(io_test::read_file(shell.folder / "f.npz"));
  CHECK(arrays.size() == 600);
  CHECK(arrays.contains("299/rms"));
  CHECK(shell.status("prlimit --nofile=64 " + audio + "f.csv") == 0);
  CHECK(io_test::read_file(shell.folder / "f.csv").find("\nmany/299.wav,") != std::string::npos);

  // Word lists are all open: as many as the system allows, whatever limit a shell begins with.
  for (int i = 100; i < 300; ++i)
    io_test::write_file(shell.folder / ("many/" + std::to_string(i) + ".txt"), i == 299 ? "abc\n" : "x\n");
  const std::string md5 = "$B md5 900150983cd24fb0d6963f7d28e17f72 many/*.txt ";
  CHECK(shell.status("prlimit --nofile=64: " + md5 + ">found") == 0);
  CHECK(io_test::read_file(shell.folder / "found") == "900150983cd24fb0d6963f7d28e17f72  abc\n");
  CHECK(shell.status("prlimit --nofile=64 " + md5 + "2>$E") == 4);
  CHECK(shell.error().find(".txt: cannot open: Too many open files\n") != std::string::npos);
}

TEST_CASE("inputs: what is compressed is not taken for a text") {
  const TemporaryDirectory dir;
  const std::string digest(32, '0');
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find("f: it is compressed with " + says) != std::string::npos);
  };
  const std::pair<std::string, std::string> kinds[] = {{"\x1f\x8b\x08", "gzip; unpack it first: gunzip -k"},
                                                       {std::string("\xfd"
                                                                    "7zXZ\0",
                                                                    6),
                                                        "xz"},
                                                       {"\x28\xb5\x2f\xfd", "zstd"},
                                                       {"BZh91AY&SY", "bzip2"}};
  for (const auto& [begins, says] : kinds) {
    anabranch::testing::write_file(dir / "f", begins + " and more");
    refused({"md5", digest, dir / "f"}, says);
    refused({"md5", dir / "f", dir / "f"}, says);
    refused({"pagerank", dir / "f", "--edges", "text"}, says);
    refused({"smvm", dir / "f", "--out", dir / "y.npy"}, says);
    refused({"audio", dir / "f", "--out", dir / "y.npz"}, says);
  }
  anabranch::testing::write_file(dir / "f", "BZh\n");
  CHECK(command({"md5", digest, dir / "f"}).status == 1);
}

TEST_CASE("signals: a second one ends what the first could not stop") {
  const TemporaryDirectory folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int full = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(full >= 0);
  const std::string block(4096, ' ');
  while (::write(full, block.data(), block.size()) > 0) {
  }
  Process process({"doctor"}, {.stdout_to = pipe});  // it waits for a reader
  const Watchdog watchdog(process);
  wait_until([&] { return process.blocks(SIGTERM); });
  std::this_thread::sleep_for(500ms);
  process.signal(SIGTERM);
  std::this_thread::sleep_for(500ms);  // what comes sooner is the same request
  process.signal(SIGINT);
  CHECK(process.finish().status == 130);
  ::close(full);
}
