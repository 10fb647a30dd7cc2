#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "system.h"

namespace anabranch::io::detail {

namespace {

[[noreturn]] void throw_os(const std::string& name, const char* what, int error) {
  throw IoError(fmt::format("{}: {}: {}", name, what, std::generic_category().message(error)));
}

class MemoryFile final : public ReadFile {
 public:
  MemoryFile(std::string name, std::vector<unsigned char> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}
  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, void* into, std::int64_t bytes) const override {
    if (offset < 0 || bytes < 0 || offset > size() || bytes > size() - offset)
      throw DataError(fmt::format("{}: the file ends at byte {}, before byte {}", name_, size(), offset));
    if (bytes > 0) std::memcpy(into, bytes_.data() + offset, static_cast<std::size_t>(bytes));
  }

 private:
  std::string name_;
  std::vector<unsigned char> bytes_;
};

/// A name no other writer of this process or machine uses at the same time.
std::string unique_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.{}-{}.tmp", path, ::getpid(), counter.fetch_add(1));
}

int open_retrying(const std::string& path, int flags, mode_t mode) {
  int fd;
  do fd = system_calls().open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

SystemCalls& system_calls() {
  static SystemCalls calls{
      [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      ::pread,
      ::pwrite,
      ::close,
      [](const char* from, const char* to) { return ::rename(from, to); },
  };
  return calls;
}

std::shared_ptr<ReadFile> memory_file(std::string name, std::vector<unsigned char> bytes) {
  return std::make_shared<MemoryFile>(std::move(name), std::move(bytes));
}

std::shared_ptr<File> File::open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever.
  const int fd = open_retrying(path, O_RDONLY | O_NONBLOCK, 0);
  if (fd < 0) throw_os(path, "cannot open", errno);
  auto file = std::shared_ptr<File>(new File(fd, path, 0));
  struct stat status{};
  if (::fstat(fd, &status) != 0) throw_os(path, "cannot examine", errno);
  if (S_ISDIR(status.st_mode)) throw_os(path, "cannot read", EISDIR);
  if (!S_ISREG(status.st_mode))
    throw IoError(path + ": not a regular file (it must be readable at any position)");
  file->size_ = status.st_size;
  return file;
}

std::shared_ptr<File> File::create(const std::string& path, const std::string& name) {
  const int fd = open_retrying(path, O_RDWR | O_CREAT | O_EXCL, 0666);
  if (fd < 0) throw_os(name, "cannot create", errno);
  return std::shared_ptr<File>(new File(fd, name, 0));
}

std::string File::spool_folder(const std::string& directory) {
  if (!directory.empty()) return directory;
  if (const char* tmpdir = std::getenv("TMPDIR"); tmpdir && *tmpdir) return tmpdir;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

std::shared_ptr<File> File::spool(const std::string& directory, std::string name) {
  const std::string chosen = spool_folder(directory);
  std::string pattern = chosen + "/anabranch-spool-XXXXXX";
  const int fd = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (fd < 0) throw_os(chosen, "cannot create a spool file", errno);
  ::unlink(pattern.c_str());
  return std::shared_ptr<File>(new File(fd, std::move(name), 0));
}

File::~File() {
  if (fd_ >= 0) system_calls().close(fd_);
}

void File::read(std::int64_t offset, void* into, std::int64_t bytes) const {
  auto* at = static_cast<unsigned char*>(into);
  while (bytes > 0) {
    const ssize_t got = system_calls().pread(fd_, at, static_cast<std::size_t>(bytes), offset);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_os(name_, fmt::format("cannot read at byte {}", offset).c_str(), errno);
    }
    if (got == 0)
      throw DataError(fmt::format("{}: the file ends at byte {}, in the middle of its data", name_, offset));
    at += got;
    offset += got;
    bytes -= got;
  }
}

void File::prefetch(std::int64_t offset, std::int64_t bytes) const {
  ::posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

void File::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  const auto* at = static_cast<const unsigned char*>(from);
  while (bytes > 0) {
    const ssize_t put = system_calls().pwrite(fd_, at, static_cast<std::size_t>(bytes), offset);
    if (put < 0) {
      if (errno == EINTR) continue;
      throw_os(name_, "cannot write", errno);
    }
    if (put == 0) throw_os(name_, "cannot write", ENOSPC);
    at += put;
    offset += put;
    bytes -= put;
    if (offset > size_) size_ = offset;
  }
}

void File::discard(std::int64_t offset, std::int64_t bytes) {
  // A hint: not every file system can.
  (void)::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

std::int64_t File::free_space() const {
  struct statvfs status{};
  if (::fstatvfs(fd_, &status) != 0) return INT64_MAX;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(status.f_bavail, status.f_frsize, &bytes)) return INT64_MAX;
  return bytes;
}

void File::close() {
  if (fd_ < 0) return;
  const int fd = std::exchange(fd_, -1);
  // EINTR: Linux has closed the descriptor all the same.
  if (system_calls().close(fd) != 0 && errno != EINTR) throw_os(name_, "cannot close", errno);
}

BufferedWriter::BufferedWriter(std::shared_ptr<File> file, std::int64_t begin, std::int64_t capacity)
    : file_(std::move(file)), buffer_(static_cast<std::size_t>(capacity)), written_(begin) {}

void BufferedWriter::append(const void* from, std::int64_t bytes) {
  const auto capacity = static_cast<std::int64_t>(buffer_.size());
  if (bytes >= capacity) {
    flush();
    file_->write(written_, from, bytes);
    written_ += bytes;
    return;
  }
  if (used_ + bytes > capacity) flush();
  if (bytes > 0) std::memcpy(buffer_.data() + used_, from, static_cast<std::size_t>(bytes));
  used_ += bytes;
}

void BufferedWriter::flush() {
  file_->write(written_, buffer_.data(), used_);
  written_ += used_;
  used_ = 0;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw IoError(path + ": cannot write: it exists and is not a regular file");
  // Through a symbolic link the file it names is replaced, not the link.
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
    if (auto target = std::filesystem::canonical(path, ignored); !ignored) path_ = target.string();
  temporary_ = unique_beside(path_);
  file_ = File::create(temporary_, path);
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::check_open() const {
  if (committed_) throw RunError(path_ + ": the file is complete: it was committed before");
}

void AtomicFile::commit() {
  file_->close();
  if (system_calls().rename(temporary_.c_str(), path_.c_str()) != 0)
    throw_os(path_, "cannot put in place", errno);
  committed_ = true;
}

}  // namespace anabranch::io::detail
