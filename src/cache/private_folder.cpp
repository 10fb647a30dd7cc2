#include "cache/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <system_error>

namespace anabranch::cache {
namespace {

/// Nothing that is larger was written here.
constexpr off_t largest_file = 64 << 20;
/// Resolution in seconds of when a file was last read: each update is a write.
constexpr std::time_t use_is_noted_every = 3600;

std::string words_for(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  operator int() const { return fd_; }  // NOLINT: is given to system calls
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || system_calls().close(fd) == 0;
  }

 private:
  int fd_;
};

/// Why a folder or file is not trusted: others can write to it, or it belongs to another user. Empty: it is.
std::string distrust(const struct stat& status) {
  if (status.st_uid != ::geteuid()) return "belongs to another user";
  if (status.st_mode & (S_IWGRP | S_IWOTH)) return "is writable for others (chmod go-w makes it usable)";
  return {};
}

int open_folder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void make_with_parents(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    ::mkdir(path.substr(0, end).c_str(), S_IRWXU);  // where it fails, opening says so
  }
}

/// As many bytes as there are, `out.size()` at most.
bool read_all(int fd, std::string& out) {
  std::size_t at = 0;
  while (at < out.size()) {
    const ssize_t got = system_calls().read(fd, out.data() + at, out.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  out.resize(at);
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = system_calls().write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Writing beyond this limit would not fail, but kill the process.
bool exceeds_file_size_limit(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur;
}

/// A name that no other writer uses, of any process on any machine that shares the folder.
std::string unfinished_name(const std::string& name) {
  static std::atomic<unsigned> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return name + "." + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec) + "-" +
         std::to_string(count.fetch_add(1)) + std::string(unfinished);
}

}  // namespace

SystemCalls& system_calls() {
  static SystemCalls calls{
      [](int folder, const char* name, int flags, mode_t mode) {
        return ::openat(folder, name, flags, mode);
      },
      ::read,
      ::write,
      ::close,
      [](int from_folder, const char* from, int to_folder, const char* to) {
        return ::renameat(from_folder, from, to_folder, to);
      },
  };
  return calls;
}

PrivateFolder::PrivateFolder(const std::string& path) {
  fd_ = open_folder(path);
  if (fd_ < 0 && errno == ENOENT) {
    make_with_parents(path);
    fd_ = open_folder(path);
  }
  struct stat status{};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
    why_not_ = errno == ENOTDIR || errno == ELOOP ? "is no folder, or a symbolic link" : words_for(errno);
    return;
  }
  why_not_ = distrust(status);
}

PrivateFolder::~PrivateFolder() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<std::string> PrivateFolder::read(const std::string& name) const {
  if (!why_not_.empty()) return std::nullopt;
  // Without O_NONBLOCK, opening a pipe that has no writer would block for ever.
  Descriptor file(
      system_calls().openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  struct stat status{};
  if (!file || ::fstat(file, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || !distrust(status).empty() || status.st_size > largest_file)
    return std::nullopt;
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (!read_all(file, bytes)) return std::nullopt;
  if (std::time(nullptr) - status.st_mtime >= use_is_noted_every) ::futimens(file, nullptr);
  return bytes;
}

std::string PrivateFolder::write(const std::string& name, std::string_view bytes) const {
  if (!why_not_.empty()) return why_not_;
  if (exceeds_file_size_limit(bytes.size())) return words_for(EFBIG);
  const std::string temporary = unfinished_name(name);
  Descriptor file(system_calls().openat(
      fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return words_for(errno);
  if (write_all(file, bytes) && file.close() &&
      system_calls().renameat(fd_, temporary.c_str(), fd_, name.c_str()) == 0)
    return {};
  const int error = errno;
  remove(temporary);
  return words_for(error);
}

void PrivateFolder::remove(const std::string& name) const { ::unlinkat(fd_, name.c_str(), 0); }

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  std::vector<File> out;
  if (!why_not_.empty()) return out;
  const int own = ::openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a position of its own
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
  if (!folder) return out;
  while (const dirent* entry = ::readdir(folder.get())) {
    struct stat status{};
    if (::fstatat(fd_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
      out.push_back({entry->d_name, status.st_size, status.st_mtime});
  }
  return out;
}

}  // namespace anabranch::cache
