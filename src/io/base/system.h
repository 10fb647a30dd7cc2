#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>

/// The calls of the operating system that src/io uses for file contents, as a table: tests replace an entry
/// to give short reads, EINTR, EIO or ENOSPC at a chosen call.
namespace anabranch::io::detail {

struct SystemCalls {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*pread)(int fd, void* into, std::size_t bytes, off_t offset);
  ssize_t (*pwrite)(int fd, const void* from, std::size_t bytes, off_t offset);
  int (*close)(int fd);
  int (*fsync)(int fd);
  int (*fchmod)(int fd, mode_t mode);
  int (*rename)(const char* from, const char* to);
  int (*exchange)(const char* file, const char* other);  ///< their names, both of which there are
  int (*link)(const char* file, const char* other_name);
  /// A name for an open file that has none (O_TMPFILE), found at this path in /proc.
  int (*link_open)(const char* descriptor, const char* name);
  ssize_t (*read)(int fd, void* into, std::size_t bytes);
  int (*poll)(pollfd* fds, nfds_t count, int milliseconds);
};

/// The table in use. Not synchronised: only a test changes it, while nothing else runs.
SystemCalls& system_calls();

}  // namespace anabranch::io::detail
