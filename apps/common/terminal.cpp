#include "apps/common/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::apps {

namespace {

/// False, with errno, where the descriptor does not take it all. One that does not block is waited for.
bool write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd ready{descriptor, POLLOUT, 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return false;
      continue;
    }
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void open_standard_descriptors() noexcept {
  // The lowest free number is taken: this one. What is not there can be neither read nor written.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

void print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  throw IoError(errno == EPIPE ? std::string("standard output: its reader has gone")
                               : fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

void print_error(std::initializer_list<std::string_view> message) noexcept {
  // In one call, so that other processes' lines do not get between; without memory, which may be what lacks.
  std::array<iovec, 16> parts{};
  int count = 0;
  const auto add = [&](std::string_view text) {
    parts[static_cast<std::size_t>(count++)] = {const_cast<char*>(text.data()), text.size()};
  };
  const bool red = colours_on_standard_error();
  add(red ? "\x1b[31manabranch:\x1b[0m " : "anabranch: ");
  for (const std::string_view text : message)
    if (count < static_cast<int>(parts.size()) - 1) add(text);
  add("\n");
  static_cast<void>(::writev(STDERR_FILENO, parts.data(), count));
}

void write_error(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

bool colours_on_standard_error() noexcept {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(no_color && *no_color) && term && std::strcmp(term, "dumb") != 0;
}

}  // namespace anabranch::apps
