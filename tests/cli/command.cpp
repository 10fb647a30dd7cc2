#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cli_test {

namespace {

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

Pipe make_terminal() {
  Pipe p;
  if (::openpty(&p.read, &p.write, nullptr, nullptr, nullptr) != 0)
    throw std::runtime_error("no pseudo-terminal");
  ::fcntl(p.read, F_SETFD, FD_CLOEXEC);
  ::fcntl(p.write, F_SETFD, FD_CLOEXEC);
  return p;
}

}  // namespace

std::string command_path() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("anabranch").string();
}

Process::Process(const std::vector<std::string>& arguments, const Start& start) {
  Pipe out;
  if (start.stdout_to.empty())
    out = make_pipe();
  else
    out.write = ::open(start.stdout_to.c_str(), O_WRONLY | O_CLOEXEC);
  if (start.stdout_closed) ::close(std::exchange(out.read, -1));
  Pipe err = start.stderr_terminal ? make_terminal() : make_pipe();
  if (start.stderr_closed) ::close(std::exchange(err.read, -1));
  const std::string path = command_path();
  std::vector<const char*> argv{path.c_str()};
  for (const std::string& a : arguments) argv.push_back(a.c_str());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) {
    if (start.stdin_from >= 0) ::dup2(start.stdin_from, STDIN_FILENO);
    ::dup2(out.write, STDOUT_FILENO);
    ::dup2(err.write, STDERR_FILENO);
    for (const std::string& e : start.environment) ::putenv(const_cast<char*>(e.c_str()));
    ::execv(path.c_str(), const_cast<char**>(argv.data()));
    ::_exit(127);
  }
  ::close(out.write);
  ::close(err.write);
  out_ = out.read;
  err_ = err.read;
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (int fd : {out_, err_})
    if (fd >= 0) ::close(fd);
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::blocks(int signal) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  const std::string name = "SigBlk:";
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, name.size(), name) == 0)
      return (std::stoull(line.substr(name.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

void wait_until(const std::function<bool()>& ready) {
  const auto begin = std::chrono::steady_clock::now();
  while (!ready()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(1))
      throw std::runtime_error("what the test waits for does not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

bool Process::has_written_to(const std::string& folder) const {
  std::error_code gone;  // the process, or a descriptor, may be meanwhile
  const std::filesystem::path descriptors = "/proc/" + std::to_string(pid_) + "/fd";
  const std::string inside = std::filesystem::canonical(folder).string() + "/";
  std::filesystem::directory_iterator entry(descriptors, gone);
  for (; !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
    std::error_code closed;
    const std::string file = std::filesystem::read_symlink(entry->path(), closed).string();
    if (!file.starts_with(inside) || !std::filesystem::is_regular_file(entry->path(), closed)) continue;
    if (const auto bytes = std::filesystem::file_size(entry->path(), closed); !closed && bytes > 0)
      return true;
  }
  return false;
}

Outcome Process::finish() {
  Outcome outcome;
  std::array<int*, 2> fds{&out_, &err_};
  std::array<std::string*, 2> texts{&outcome.out, &outcome.err};
  while (out_ >= 0 || err_ >= 0) {
    std::array<pollfd, 2> waiting{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    for (std::size_t i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = ::read(*fds[i], buffer, sizeof buffer);  // a terminal ends with EIO
      if (n > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      else
        ::close(std::exchange(*fds[i], -1));
    }
  }
  int status = 0;
  rusage usage{};
  ::wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.peak_resident_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  return outcome;
}

}  // namespace cli_test
