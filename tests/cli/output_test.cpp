#include "support/catch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "audio_files.h"
#include "command.h"
#include "refused.h"

using namespace cli_test;

namespace {

struct Matrix {
  TemporaryDirectory dir;
  std::string path = dir / "m.npz";
  Matrix() { io_test::write_file(path, io_test::npz(io_test::members(io_test::sample(1000)))); }
};

}  // namespace

TEST_CASE("output: files that cannot be read or written give exit code 4 and a reason") {
  const Matrix m;
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& reason) {
    const Outcome o = command(arguments);
    INFO(o.err);
    CHECK(o.status == 4);
    CHECK(o.out.empty());
    CHECK(o.err.find(reason) != std::string::npos);
  };
  fails({"smvm", m.dir / "none.npz"}, std::strerror(ENOENT));
  fails({"smvm", m.dir.path()}, std::strerror(EISDIR));
  REQUIRE(::mkfifo((m.dir / "pipe").c_str(), 0600) == 0);
  fails({"smvm", m.dir / "pipe"}, "not a regular file");
  fails({"smvm", m.path, "--vector", m.dir / "none.npy"}, std::strerror(ENOENT));
  fails({"smvm", m.path, "--out", m.dir / "no/such/y.npy"}, std::strerror(ENOENT));
  fails({"smvm", m.path, "--out", m.dir.path()}, "not a regular file");
  fails({"smvm", m.path, "--out", "/dev/full"}, "not a regular file");
  fails({"smvm", m.path, "--out", "/dev/stdout"}, "not a regular file");
  fails({"smvm", m.path, "--trace", m.dir / "no/such/t.json"}, m.dir / "no/such/t.json: cannot create");
  fails({"smvm", m.path, "--repeat", "3", "--trace", m.dir.path()}, "not a regular file");
  fails({"smvm", m.path, "--report", m.dir / "no/such/r.html"}, m.dir / "no/such/r.html: cannot create");
  fails({"generate", "banded", "--size", "10", "--out", m.dir / "no/such/g.npz"},
        m.dir / "no/such/g.npz: cannot create: " + std::strerror(ENOENT));
  if (::geteuid() != 0) {
    ::chmod(m.path.c_str(), 0);
    fails({"smvm", m.path}, std::strerror(EACCES));
  }
}

TEST_CASE("output: a place where no file can be is refused before anything is computed") {
  const Matrix m;
  const std::string digest(32, '0'), list = m.dir / "list", sound = m.dir / "a.wav";
  io_test::write_file(list, "abc\n");
  io_test::write_file(sound, "no sound: this is not looked at");
  REQUIRE(::mkfifo((m.dir / "pipe.npz").c_str(), 0600) == 0);
  std::filesystem::create_directory(m.dir / "folder.npz");
  std::filesystem::create_symlink("no/such/f.npz", m.dir / "nowhere.npz");
  struct Writer {
    std::vector<std::string> line;  ///< the name of the file comes behind
    std::string ending;
  };
  const std::vector<Writer> writers{{{"smvm", m.path, "--out"}, ".npy"},
                                    {{"pagerank", m.path, "--out"}, ".npy"},
                                    {{"audio", sound, "--features", "rms", "--out"}, ".npz"},
                                    {{"audio", sound, "--features", "rms", "--out"}, ".csv"},
                                    {{"md5", digest, list, "--trace"}, ".json"},
                                    {{"md5", digest, list, "--report"}, ".html"}};
  for (const Writer& writer : writers) {
    const auto fails = [&](const std::string& file, const std::string& why) {
      std::vector<std::string> line = writer.line;
      line.push_back(file);
      refuses(m.dir, line, 4, why + "\n");
    };
    const auto error = [](int number) { return std::string(": cannot create: ") + std::strerror(number); };
    const std::string long_name = m.dir / std::string(300, 'n') + writer.ending;
    fails(long_name, "anabranch: " + long_name + error(ENAMETOOLONG));
    const std::string below_file = list + "/f" + writer.ending;
    fails(below_file, "anabranch: " + below_file + error(ENOTDIR));
    const std::string no_folder = m.dir / "no/such/f" + writer.ending;
    fails(no_folder, "anabranch: " + no_folder + error(ENOENT));
  }
  const auto fails = [&](const std::string& file, const std::string& says) {
    refuses(m.dir, {"audio", sound, "--features", "rms", "--out", m.dir / file}, 4,
            "anabranch: " + says + "\n");
  };
  fails("pipe.npz", m.dir / "pipe.npz: cannot write: it exists and is not a regular file");
  fails("folder.npz", m.dir / "folder.npz: cannot write: it exists and is not a regular file");
  fails("nowhere.npz", m.dir / "no/such/f.npz: cannot create: " + std::strerror(ENOENT));
}

TEST_CASE("output: no input is written over, whatever its name") {
  namespace fs = std::filesystem;
  const TemporaryDirectory dir;
  const std::string digest(32, '0'), bytes = "whatever it is";
  struct Line {
    std::vector<std::string> before;  ///< the output comes behind
    std::string input, ending, says;
  };
  const std::string x = dir / "x", none = dir / "none";
  const std::vector<Line> lines{
      {{"smvm", x, "--out"}, x, ".npy", "the matrix"},
      {{"smvm", none, "--vector", x, "--out"}, x, ".npy", "the vector x"},
      {{"smvm", none, "--vectors", x, "--out"}, x, ".npy", "the matrix of vectors x"},
      {{"pagerank", x, "--out"}, x, ".npy", "the graph"},
      {{"audio", none, x, "--features", "rms", "--out"}, x, ".npz", "an input"},
      {{"audio", none, "--features", "rms", "--segments", x, "--out"}, x, ".csv", "the file of segments"},
      {{"md5", x, none, "--trace"}, x, ".json", "the file of digests"},
      {{"md5", digest, none, x, "--report"}, x, ".html", "a word list"}};
  for (const Line& one : lines) {
    const std::string other = dir / "other" + one.ending;
    for (const bool symbolic : {false, true}) {
      io_test::write_file(x, bytes);
      if (symbolic)
        fs::create_symlink("x", other);
      else
        fs::create_hard_link(x, other);
      for (const std::string& name : {other, dir / "./other" + one.ending}) {
        std::vector<std::string> line = one.before;
        line.push_back(name);
        refuses(dir, line, 2, " " + name + ": this is " + one.says + " itself (");
      }
      CHECK(io_test::read_file(x) == bytes);
      fs::remove(other);
    }
  }
}

TEST_CASE("output: a file that may not grow is a failed write, and nothing remains of it") {
  const Matrix m;
  std::string entries = "%%MatrixMarket matrix coordinate real general\n1000 1000 1000\n";
  for (int i = 1; i <= 1000; ++i) entries += std::to_string(i) + " 1 1\n";
  io_test::write_file(m.dir / "m.mtx", entries);
  const std::vector<std::vector<std::string>> writers{
      {"smvm", m.path, "--out", m.dir / "y.npy"},
      {"smvm", m.path, "--trace", m.dir / "t.json"},
      {"smvm", m.path, "--report", m.dir / "r.html"},
      {"smvm", m.dir / "m.mtx"},
      {"generate", "banded", "--size", "1000", "--out", m.dir / "g.npz"},
      {"generate", "banded", "--size", "1000", "--out", m.dir / "g.mtx"}};
  for (const auto& arguments : writers) {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit little{1000, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);  // the command inherits it
    const Outcome o = command(arguments);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    INFO(o.err);
    CHECK(o.status == 4);
    CHECK(o.err.find(std::strerror(EFBIG)) != std::string::npos);
    CHECK(m.dir.files() == 2);
  }
}

TEST_CASE("output: what is replaced keeps its permissions, and symbolic links stay") {
  namespace fs = std::filesystem;
  const Matrix m;
  fs::create_directory(m.dir / "results");
  fs::create_symlink("results/y.npy", m.dir / "y.npy");
  CHECK(command({"smvm", m.path, "--out", m.dir / "y.npy"}).status == 0);
  CHECK(npy_vector<double>(m.dir / "results/y.npy").size() == 1000);
  REQUIRE(::chmod((m.dir / "results/y.npy").c_str(), 0600) == 0);
  CHECK(command({"smvm", m.path, "--out", m.dir / "y.npy", "--trace", m.dir / "t.json"}).status == 0);
  CHECK(fs::is_symlink(fs::symlink_status(m.dir / "y.npy")));
  struct stat status{};
  REQUIRE(::stat((m.dir / "results/y.npy").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);

  // Two names of one file that is not there yet.
  fs::remove(m.dir / "results/y.npy");
  const Outcome same =
      command({"smvm", m.path, "--out", m.dir / "results/y.npy", "--trace", m.dir / "y.npy"});
  CHECK(same.status == 2);
  CHECK(same.err.find("this is the file of --out") != std::string::npos);
}

TEST_CASE("output: an output file is replaced as a whole, and only by a result") {
  const Matrix m;
  const std::string y = m.dir / "y.npy";
  io_test::write_file(y, "what was there before");
  auto broken = io_test::sample(1000);
  broken.indices.back() = 50;
  io_test::write_file(m.dir / "broken.npz", io_test::npz(io_test::members(broken)));
  CHECK(command({"smvm", m.dir / "broken.npz", "--out", y}).status == 3);
  CHECK(io_test::read_file(y) == "what was there before");
  CHECK(command({"smvm", m.path, "--out", y}).status == 0);
  CHECK(npy_vector<double>(y).size() == 1000);
  CHECK(m.dir.files() == 3);
}

TEST_CASE("output: standard output that is full or closed is a failed write") {
  const Matrix m;
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"smvm", m.path, "--json"}, {"smvm", m.path}, {"explain", "smvm"}, {"doctor"}, {"--help"}}) {
    const Outcome full = command(arguments, {.stdout_to = "/dev/full"});
    CHECK(full.status == 4);
    CHECK(full.err.find(std::strerror(ENOSPC)) != std::string::npos);
    const Outcome closed = command(arguments, {.stdout_closed = true});
    CHECK(closed.status == 4);
    CHECK(closed.err == "anabranch: standard output: its reader has gone\n");
  }
}

TEST_CASE("output: standard input that is closed cannot be read") {
  const TemporaryDirectory dir;
  const std::string digest = "900150983cd24fb0d6963f7d28e17f72";
  const int status = std::system(
      ("'" + command_path() + "' md5 " + digest + " - <&- >'" + dir / "out" + "' 2>'" + dir / "err" + "'")
          .c_str());
  CHECK(WEXITSTATUS(status) == 4);
  CHECK(io_test::read_file(dir / "err").find(std::strerror(EBADF)) != std::string::npos);
}

TEST_CASE("output: standard output that does not block is waited for") {
  const std::string expected = command({"completion", "zsh"}).out;
  // The pipe holds less than that, and is read when the command has filled it.
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  REQUIRE(::fcntl(ends[1], F_SETPIPE_SZ, 4096) >= 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(command_path().c_str(), "anabranch", "completion", "zsh", nullptr);
    ::_exit(126);
  }
  REQUIRE(child > 0);
  ::close(ends[1]);
  std::string got;
  for (char block[2048];;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const ssize_t n = ::read(ends[0], block, sizeof block);
    if (n == 0) break;
    if (n > 0) got.append(block, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(expected.size() > 2 * 4096);
  CHECK(got == expected);
}

TEST_CASE("output: colour is for terminals") {
  const Matrix m;
  const std::vector<std::string> wrong{"smvm", m.dir / "none.npz"};
  const std::string escape = "\x1b[";
  CHECK(command(wrong, {.environment = {"TERM=xterm"}}).err.find(escape) == std::string::npos);
  const Start terminal{.environment = {"TERM=xterm", "NO_COLOR="}, .stderr_terminal = true};
  CHECK(command(wrong, terminal).err.find(escape) != std::string::npos);
  const Start plain{.environment = {"TERM=xterm", "NO_COLOR=1"}, .stderr_terminal = true};
  const Outcome quiet = command(wrong, plain);
  CHECK(quiet.err.find(escape) == std::string::npos);
  CHECK(quiet.err.find("anabranch: ") == 0);
}
