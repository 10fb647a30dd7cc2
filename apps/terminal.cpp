#include "terminal.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::apps {

namespace {

bool coloured() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(no_color && *no_color) && term && std::strcmp(term, "dumb") != 0;
}

/// False, with errno, where the descriptor does not take it all.
bool write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void open_standard_descriptors() noexcept {
  // The lowest free number is taken: this one.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

void print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text))
    throw IoError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void print_error(std::initializer_list<std::string_view> message) noexcept {
  // In one call, so that other processes' lines do not get between; without memory, which may be what lacks.
  std::array<iovec, 16> parts{};
  int count = 0;
  const auto add = [&](std::string_view text) {
    parts[static_cast<std::size_t>(count++)] = {const_cast<char*>(text.data()), text.size()};
  };
  const bool red = coloured();
  add(red ? "\x1b[31manabranch:\x1b[0m " : "anabranch: ");
  for (const std::string_view text : message)
    if (count < static_cast<int>(parts.size()) - 1) add(text);
  add("\n");
  static_cast<void>(::writev(STDERR_FILENO, parts.data(), count));
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO)) {}
ProgressLine::~ProgressLine() { wipe(); }

void ProgressLine::show(const Progress& progress) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  std::string line = "\r" + label_;
  if (progress.total_items && *progress.total_items > 0)
    line += fmt::format("{:3.0f} %  ", 100 * static_cast<double>(progress.items) /
                                           static_cast<double>(*progress.total_items));
  line += fmt::format("{} items, {} chunks", progress.items, progress.chunks);
  const std::size_t length = line.size() - 1;
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  write_all(STDERR_FILENO, line);
}

void ProgressLine::wipe() noexcept {
  if (shown_ == 0) return;
  constexpr std::string_view blanks = "                                ";
  write_all(STDERR_FILENO, "\r");
  for (std::size_t left = shown_; left > 0; left -= std::min(left, blanks.size()))
    write_all(STDERR_FILENO, blanks.substr(0, left));
  write_all(STDERR_FILENO, "\r");
  shown_ = 0;
}

}  // namespace anabranch::apps
