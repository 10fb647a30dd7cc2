#include "io/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/system.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t write_back_bytes = 32 << 20;

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

/// A name for a file beside this one that this process has not used. One of the same number before may have, and have left
/// the file.
std::string unique_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string ending = fmt::format(".{}-{}.tmp", ::getpid(), counter.fetch_add(1));
  const std::size_t name = path.rfind('/') + 1;  // 0 without a folder
  return path.substr(0, name + NAME_MAX - ending.size()) + ending;
}

int open_retrying(const std::string& path, int flags, mode_t mode) {
  int fd;
  do fd = system_calls().open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

std::string followed(const std::string& path) {
  std::filesystem::path at = path;
  for (int links = 0; links < 40; ++links) {
    std::error_code failed;
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(at, failed))) return at.string();
    const auto target = std::filesystem::read_symlink(at, failed);
    if (failed) throw_os(path, "cannot follow the symbolic link", failed.value());
    at = at.parent_path() / target;
  }
  throw_os(path, "cannot write", ELOOP);
}

SystemCalls& system_calls() {
  static SystemCalls calls{
      [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      ::pread,
      ::pwrite,
      ::close,
      ::fsync,
      ::fchmod,
      [](const char* from, const char* to) { return ::rename(from, to); },
      [](const char* file, const char* other) {
        return ::renameat2(AT_FDCWD, file, AT_FDCWD, other, RENAME_EXCHANGE);
      },
      ::link,
      [](const char* descriptor, const char* name) {
        return ::linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
      },
      [](int fd, void* into, std::size_t bytes) { return ::read(fd, into, bytes); },
      ::poll,
  };
  return calls;
}

std::shared_ptr<ReadFile> memory_file(std::string name, std::vector<unsigned char> bytes) {
  return std::make_shared<MemoryFile>(std::move(name), std::move(bytes));
}

std::shared_ptr<File> File::open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that has no writer would block for ever.
  auto file = closed(path);
  file->fd_ = open_retrying(path, O_RDONLY | O_NONBLOCK, 0);
  if (file->fd_ < 0) throw_os(path, "cannot open", errno);
  struct stat status{};
  if (::fstat(file->fd_, &status) != 0) throw_os(path, "cannot examine", errno);
  if (S_ISDIR(status.st_mode)) throw_os(path, "cannot read", EISDIR);
  if (!S_ISREG(status.st_mode))
    throw IoError(path + ": not a regular file (it must be readable at any position)");
  file->size_ = status.st_size;
  file->modified_ = status.st_mtim;
  if (file->size_ == 0 && file->has_bytes())
    throw IoError(
        path +
        ": its size is 0, but it has bytes, as files of /proc have: read it as a stream, through a pipe");
  return file;
}

std::shared_ptr<File> File::create(const std::string& path, const std::string& name, mode_t mode) {
  auto file = closed(name);
  file->fd_ = open_retrying(path, O_RDWR | O_CREAT | O_EXCL, mode);
  if (file->fd_ < 0 && errno == EEXIST) return nullptr;
  if (file->fd_ < 0) throw_os(name, "cannot create", errno);
  return file;
}

/// Whether a file in the folder of this path may get its name later: tried with another one, since a file that could not would
/// be lost at its end. Some systems have files without a name, but no hard links, or forbid these.
bool File::can_name_later(const std::string& path) {
  const auto trial = closed(path);
  trial->fd_ = open_retrying(std::filesystem::path(path).parent_path(), O_RDWR | O_TMPFILE, 0600);
  if (trial->fd_ < 0) return false;
  for (;;) {
    const std::string name = unique_beside(path);
    if (trial->link_as(name)) return ::unlink(name.c_str()) == 0;
    if (errno != EEXIST) return false;
  }
}

std::shared_ptr<File> File::create_nameless(const std::string& path, const std::string& name, mode_t mode) {
  if (!can_name_later(path)) return nullptr;
  auto file = closed(name);
  file->fd_ = open_retrying(std::filesystem::path(path).parent_path(), O_RDWR | O_TMPFILE, mode);
  struct stat status{};
  if (file->fd_ < 0 || ::fstat(file->fd_, &status) != 0) return nullptr;
  // Linux before 6.0 does not look at the user's mask here on some file systems: then it has all permissions.
  return (status.st_mode & 0666) == 0666 ? nullptr : file;
}

std::shared_ptr<File> File::folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  auto folder = closed(parent.empty() ? "." : parent);
  folder->fd_ = open_retrying(folder->name_, O_RDONLY | O_DIRECTORY, 0);
  if (folder->fd_ >= 0) return folder;
  if (errno == EACCES) return nullptr;
  throw_os(path, "cannot create", errno);
}

std::string File::spool_folder(const std::string& directory) {
  if (!directory.empty()) return directory;
  if (const char* tmpdir = std::getenv("TMPDIR"); tmpdir && *tmpdir) return tmpdir;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

std::shared_ptr<File> File::spool(const std::string& directory, std::string name) {
  const std::string chosen = spool_folder(directory);
  std::string pattern = chosen + "/anabranch-spool-XXXXXX";
  auto file = closed(std::move(name));
  file->fd_ = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (file->fd_ < 0) throw_os(chosen, "cannot create a spool file", errno);
  ::unlink(pattern.c_str());
  return file;
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

bool File::has_bytes() const {
  char byte;
  ssize_t got;
  do got = system_calls().pread(fd_, &byte, 1, 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) throw_os(name_, "cannot read", errno);
  return got > 0;
}

void File::prefetch(std::int64_t offset, std::int64_t bytes) const {
  ::posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

void File::check_unchanged() const {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) throw_os(name_, "cannot examine", errno);
  if (status.st_size != size_ || status.st_mtim.tv_sec != modified_.tv_sec ||
      status.st_mtim.tv_nsec != modified_.tv_nsec)
    throw DataError(name_ + ": the file changed while it was read");
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

void File::take_permissions(const std::string& path, const struct stat& was) {
  constexpr const char* list = "system.posix_acl_access";
  mode_t mode = was.st_mode & 07777;
  const mode_t everybody = (mode & S_IRWXO) << 3;  // as bits of a group
  bool group_kept = true;
  if (::fchown(fd_, was.st_uid, was.st_gid) != 0) {
    mode &= 0777;
    group_kept = ::fchown(fd_, static_cast<uid_t>(-1), was.st_gid) == 0;
  }
  char entries[4096];
  const ssize_t bytes = ::getxattr(path.c_str(), list, entries, sizeof entries);
  const bool none = bytes < 0 && (errno == ENODATA || errno == ENOTSUP);
  if (none) (void)::fremovexattr(fd_, list);  // one that the folder gives to new files
  // With a list, the mode's bits of the group are the most that any of its entries grants.
  const bool list_kept =
      none || (bytes > 0 && ::fsetxattr(fd_, list, entries, static_cast<std::size_t>(bytes), 0) == 0);
  if (!group_kept || !list_kept) mode &= ~static_cast<mode_t>(S_IRWXG) | everybody;
  if (system_calls().fchmod(fd_, mode) == 0) return;
  // File systems without owners give all files the same permissions, and refuse to change them.
  const int failed = errno;
  struct stat now{};
  if (failed == EPERM && ::fstat(fd_, &now) == 0 && (now.st_mode & 07777 & ~mode) == 0) return;
  throw_os(name_, "cannot keep the permissions", failed);
}

bool File::link_as(const std::string& path) {
  return system_calls().link_open(fmt::format("/proc/self/fd/{}", fd_).c_str(), path.c_str()) == 0;
}

void File::sync() {
  int failed;
  do failed = system_calls().fsync(fd_);
  while (failed != 0 && errno == EINTR);
  // EINVAL: a file system that does not know this for folders.
  if (failed != 0 && errno != EINVAL) throw_os(name_, "cannot bring to disk", errno);
}

void File::discard(std::int64_t offset, std::int64_t bytes) {
  // A hint: not every file system can.
  (void)::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

void File::start_writing_back(std::int64_t offset, std::int64_t bytes) {
  (void)::sync_file_range(fd_, offset, bytes, SYNC_FILE_RANGE_WRITE);
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
    : file_(std::move(file)),
      buffer_(static_cast<std::size_t>(capacity)),
      written_(begin),
      written_back_(begin) {}

/// Of a long file the system would keep all in memory until it must, or until `sync`, which would then take long.
void BufferedWriter::write(const void* from, std::int64_t bytes) {
  file_->write(written_, from, bytes);
  written_ += bytes;
  if (written_ - written_back_ < write_back_bytes) return;
  file_->start_writing_back(written_back_, written_ - written_back_);
  written_back_ = written_;
}

void BufferedWriter::append(const void* from, std::int64_t bytes) {
  const auto capacity = static_cast<std::int64_t>(buffer_.size());
  if (bytes >= capacity) {
    flush();
    write(from, bytes);
    return;
  }
  if (used_ + bytes > capacity) flush();
  if (bytes > 0) std::memcpy(buffer_.data() + used_, from, static_cast<std::size_t>(bytes));
  used_ += bytes;
}

void BufferedWriter::flush() {
  write(buffer_.data(), used_);
  used_ = 0;
}

AtomicFile::Temporary::~Temporary() {
  if (!path.empty()) ::unlink(path.c_str());
}

AtomicFile::AtomicFile(const std::string& path) : path_(followed(path)), place_(path_) {
  if (path.empty()) throw IoError("cannot write: the path is empty");
  struct stat was{};
  const bool replaces = ::stat(path.c_str(), &was) == 0;
  // A file without a name would meet this only when it is complete.
  if (!replaces && errno == ENAMETOOLONG) throw_os(path_, "cannot create", errno);
  if (replaces && !S_ISREG(was.st_mode))
    throw IoError(path + ": cannot write: it exists and is not a regular file");
  // The process may go to another folder meanwhile.
  std::error_code failed;
  if (const auto absolute = std::filesystem::absolute(path_, failed); !failed) place_ = absolute.string();
  folder_ = File::folder_of(place_);
  // Until it has its permissions, only this user may open it.
  const mode_t mode = replaces ? 0600 : 0666;
  file_ = File::create_nameless(place_, path_, mode);
  while (!file_) {
    std::string name = unique_beside(place_);
    file_ = File::create(name, path_, mode);
    if (file_) temporary_.path = std::move(name);
  }
  if (replaces) file_->take_permissions(path_, was);
}

AtomicFile::~AtomicFile() = default;

void AtomicFile::check_open() const {
  if (committed_) throw RunError(path_ + ": the file is complete: it was committed before");
  if (failed_) throw IoError(path_ + ": the file is not complete: it could not be written before");
}

void AtomicFile::complete() {
  if (complete_) return;
  file_->sync();
  if (temporary_.path.empty()) {
    std::string name;
    do {
      name = unique_beside(place_);
      if (file_->link_as(name)) temporary_.path = std::move(name);
    } while (temporary_.path.empty() && errno == EEXIST);
    if (temporary_.path.empty()) throw_os(path_, "cannot put in place", errno);
    file_->sync();  // again: some file systems (btrfs) keep no record of what has no name
  }
  file_->close();
  complete_ = true;
}

void AtomicFile::put_in_place() {
  if (system_calls().rename(temporary_.path.c_str(), place_.c_str()) != 0)
    throw_os(path_, "cannot put in place", errno);
  temporary_.path.clear();
  is_in_place();
}

void AtomicFile::is_in_place() {
  in_place_ = committed_ = true;
  if (folder_) folder_->sync();
}

void AtomicFile::commit() {
  complete();
  put_in_place();
}

void AtomicFile::commit_for_now() {
  complete();
  if (exchange()) {
    is_in_place();
  } else {
    keep_what_is_there();
    put_in_place();
  }
}

/// The file and what is in place get each other's names. False where nothing is there, or the file system cannot do it.
bool AtomicFile::exchange() {
  struct stat there{};
  if (::lstat(place_.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return false;
  if (system_calls().exchange(temporary_.path.c_str(), place_.c_str()) != 0) {
    // Where the file cannot have the name at all, the rename that comes then says so.
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM || errno == ENOENT)
      return false;
    throw_os(path_, "cannot put in place", errno);
  }
  before_ = Before::kept;
  kept_.path = std::exchange(temporary_.path, {});
  return true;
}

/// Why a file got no second name: because the file system has none? Of another user's file the system may refuse one for itself.
bool AtomicFile::has_no_links(int error) const {
  struct stat there{};
  const bool is_own = ::stat(place_.c_str(), &there) != 0 || there.st_uid == ::geteuid() || ::geteuid() == 0;
  return error == EOPNOTSUPP || error == ENOSYS || (error == EPERM && is_own);
}

/// By a second name, where the file system has hard links and lets us make one.
void AtomicFile::keep_what_is_there() {
  std::string other_name;
  int failed;
  do {
    other_name = unique_beside(place_);
    failed = system_calls().link(place_.c_str(), other_name.c_str()) == 0 ? 0 : errno;
  } while (failed == EEXIST);
  if (failed == 0) {
    before_ = Before::kept;
    kept_.path = std::move(other_name);
  } else if (failed == ENOENT) {
    before_ = Before::nothing;
  } else if (!has_no_links(failed)) {
    throw_os(path_, "cannot keep what is there before the new file is put in place", failed);
  }
}

void AtomicFile::undo() noexcept {
  if (!std::exchange(in_place_, false)) return;
  if (before_ == Before::nothing) ::unlink(place_.c_str());
  // Where it cannot get its name back it keeps the other one.
  if (before_ == Before::kept && system_calls().rename(kept_.path.c_str(), place_.c_str()) != 0)
    kept_.path.clear();
}

}  // namespace anabranch::io::detail
