#include "terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::apps {

namespace {

bool coloured() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(no_color && *no_color) && term && std::strcmp(term, "dumb") != 0;
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw IoError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void print_error(std::string_view message) {
  const bool red = coloured();
  fmt::print(stderr, "{}anabranch:{} {}\n", red ? "\x1b[31m" : "", red ? "\x1b[0m" : "", message);
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO)) {}
ProgressLine::~ProgressLine() { wipe(); }

void ProgressLine::show(const Progress& progress) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  std::string line = label_;
  if (progress.total_items && *progress.total_items > 0)
    line += fmt::format("{:3.0f} %  ", 100 * static_cast<double>(progress.items) /
                                           static_cast<double>(*progress.total_items));
  line += fmt::format("{} items, {} chunks", progress.items, progress.chunks);
  const std::size_t length = line.size();
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  fmt::print(stderr, "\r{}", line);
}

void ProgressLine::wipe() {
  if (shown_ == 0) return;
  fmt::print(stderr, "\r{:{}}\r", "", shown_);
  shown_ = 0;
}

}  // namespace anabranch::apps
