#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anabranch::cache {

/// The calls of the operating system on which files come and go, as a table: tests replace an entry to give
/// short reads, EIO or ENOSPC at a chosen call.
struct SystemCalls {
  int (*openat)(int folder, const char* name, int flags, mode_t mode);
  ssize_t (*read)(int fd, void* into, std::size_t bytes);
  ssize_t (*write)(int fd, const void* from, std::size_t bytes);
  int (*close)(int fd);
  int (*renameat)(int from_folder, const char* from, int to_folder, const char* to);
};
/// The table in use. Not synchronised: only a test changes it, while nothing else runs.
SystemCalls& system_calls();

/// A folder in which only this user can create files, so that what lies in it may be executed. It is held
/// open: what its path leads to later does not matter. Nothing here throws but std::bad_alloc.
class PrivateFolder {
 public:
  /// Made where it is missing, like its parents, for this user alone. A folder that is a symbolic link,
  /// belongs to somebody else or is writable for others is refused.
  explicit PrivateFolder(const std::string& path);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  /// Empty: it can be used. Else reads find no file and writes fail.
  const std::string& why_not() const { return why_not_; }

  /// The bytes of a file that belongs to this user and that nobody else can write to. Marks it as used.
  std::optional<std::string> read(const std::string& name) const;
  /// Atomic for concurrent readers. Returns why it failed; empty: it did not.
  std::string write(const std::string& name, std::string_view bytes) const;
  void remove(const std::string& name) const;

  struct File {
    std::string name;
    std::int64_t bytes = 0;
    std::int64_t used = 0;  ///< seconds since 1970, to the hour where it was only read
  };
  std::vector<File> files() const;

 private:
  int fd_ = -1;
  std::string why_not_;
};

/// What names end with while `write` is not done with them; a process that was killed leaves some behind.
inline constexpr std::string_view unfinished = ".tmp";

}  // namespace anabranch::cache
