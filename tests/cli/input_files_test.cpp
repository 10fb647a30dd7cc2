#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/catch.h"

#include "audio_files.h"
#include "command.h"
#include "refused.h"

// What stands where a file is to be read, and is none that can be: folders, pipes, devices, links that lead nowhere.
using namespace cli_test;

namespace {

/// One of each kind.
struct Kinds : TemporaryDirectory {
  std::string folder = *this / "folder", pipe = *this / "pipe", socket = *this / "socket",
              loop = *this / "loop", nowhere = *this / "nowhere", nothing = *this / "nothing";

  Kinds() {
    std::filesystem::create_directory(folder);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    make_socket();
    std::filesystem::create_symlink("loop", loop);
    std::filesystem::create_symlink("nothing", nowhere);
  }

  /// Of a file that is read at any position: each that is none, and why.
  std::vector<std::pair<std::string, std::string>> refusals() const {
    const std::string no_file = "not a regular file (it must be readable at any position)";
    return {{folder, std::string("cannot read: ") + std::strerror(EISDIR)},
            {pipe, no_file},
            {socket, std::string("cannot open: ") + std::strerror(ENXIO)},
            {loop, std::string("cannot open: ") + std::strerror(ELOOP)},
            {nowhere, std::string("cannot open: ") + std::strerror(ENOENT)},
            {nothing, std::string("cannot open: ") + std::strerror(ENOENT)},
            {"/dev/null", no_file},
            {"/dev/zero", no_file}};
  }

 private:
  void make_socket() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(socket.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::close(descriptor);
  }
};

}  // namespace

TEST_CASE("inputs: what is no regular file is refused by its name, wherever one is read") {
  const Kinds dir;
  const std::string matrix = dir / "m.npz", sound = dir / "a.wav", y = dir / "y.npy", f = dir / "f.npz";
  io_test::write_file(matrix, io_test::npz(io_test::members(io_test::sample(10))));
  io_test::write_file(sound, wav(audio_signal(3000, 1)));
  struct Place {
    std::vector<std::string> before, behind;  ///< the file stands between
  };
  const std::vector<Place> places{{{"smvm"}, {"--out", y}},
                                  {{"smvm"}, {"--transpose", "--out", y}},
                                  {{"smvm", matrix, "--vector"}, {"--out", y}},
                                  {{"smvm", matrix, "--vectors"}, {"--out", y}},
                                  {{"explain", "smvm"}, {}},
                                  {{"pagerank"}, {"--out", y}},
                                  {{"pagerank"}, {"--edges", "int64", "--out", y}},
                                  {{"audio"}, {"--out", f}},
                                  {{"audio", sound}, {"--features", "rms", "--out", f}},
                                  {{"audio", sound, "--segments"}, {"--features", "rms", "--out", f}}};
  for (const Place& place : places)
    for (const auto& [file, why] : dir.refusals()) {
      std::vector<std::string> line = place.before;
      line.push_back(file);
      line.insert(line.end(), place.behind.begin(), place.behind.end());
      refuses(dir, line, 4, "anabranch: " + file + ": " + why + "\n");
    }
}

TEST_CASE("inputs: of md5, word lists may be pipes, and digests whatever can be read") {
  const Kinds dir;
  const std::string digest(32, '0');
  for (const auto& [file, why] : dir.refusals())
    if (file != dir.pipe) refuses(dir, {"md5", digest, file}, 4, "anabranch: " + file + ": " + why + "\n");
  io_test::write_file(dir / "list", "abc\n");
  const auto of_digests = [&](const std::string& file, int status, const std::string& says) {
    refuses(dir, {"md5", file, dir / "list"}, status, says);
  };
  of_digests(dir.folder, 4, "anabranch: " + dir.folder + ": it is a directory\n");
  of_digests(dir.loop, 4, "anabranch: " + dir.loop + ": " + std::strerror(ELOOP) + "\n");
  of_digests(dir.socket, 4, "anabranch: " + dir.socket + ": " + std::strerror(ENXIO) + "\n");
  of_digests(dir.nowhere, 2, "'" + dir.nowhere.substr(0, 20));
  of_digests("/dev/null", 3, "anabranch: /dev/null: there is no digest in it\n");
}

TEST_CASE(
    "inputs: a matrix, a graph or sound that arrives at a pipe is no file, though standard input is named") {
  const TemporaryDirectory dir;
  const auto from_pipe = [&](const std::string& bytes, const std::vector<std::string>& arguments) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == std::ssize(bytes));
    ::close(ends[1]);
    const Outcome o = command(arguments, {.stdin_from = ends[0]});
    ::close(ends[0]);
    check_refused(o, 4, "anabranch: /dev/stdin: not a regular file (it must be readable at any position)\n");
    CHECK(dir.files() == 0);
  };
  const std::string matrix = io_test::npz(io_test::members(io_test::sample(50)));
  from_pipe(matrix, {"smvm", "/dev/stdin", "--out", dir / "y.npy"});
  from_pipe(matrix, {"smvm", "/dev/stdin", "--transpose", "--out", dir / "y.npy"});
  from_pipe(matrix, {"pagerank", "/dev/stdin", "--out", dir / "r.npy"});
  from_pipe("0 1\n", {"pagerank", "/dev/stdin", "--edges", "text", "--out", dir / "r.npy"});
  from_pipe(wav(audio_signal(3000, 1)), {"audio", "/dev/stdin", "--out", dir / "f.npz"});
}
