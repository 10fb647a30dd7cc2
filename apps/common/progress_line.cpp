#include "apps/common/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "apps/common/terminal.h"

namespace anabranch::apps {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds between_rewrites{100}, between_lines{1000};

std::size_t columns_of_terminal() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(ShowProgress show)
    : way_(show == ShowProgress::never    ? Way::none
           : ::isatty(STDERR_FILENO)      ? Way::rewritten
           : show == ShowProgress::always ? Way::appended
                                          : Way::none),
      coloured_(colours_on_standard_error()),
      // What is over in a tenth of a second flickers only.
      last_(Clock::now()) {}
ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(const Progress& progress) {
  if (way_ == Way::none) return;
  meter_.add(progress);
  news_ = true;
  const Clock::time_point now = Clock::now();
  if (now - last_ < (way_ == Way::rewritten ? between_rewrites : between_lines)) return;
  last_ = now;
  if (way_ == Way::rewritten)
    rewrite();
  else
    append();
}

void ProgressLine::rewrite() {
  // A line that fills the terminal would go on in the next one.
  const std::size_t columns = columns_of_terminal() - 1;
  std::string line = label_ + meter_.text(columns - std::min(label_.size(), columns));
  line.resize(std::min(line.size(), columns));
  const std::size_t length = line.size();
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  if (coloured_)
    if (const std::size_t percent = line.find('%'); percent != std::string::npos)
      line = line.substr(0, label_.size()) + "\x1b[32m" +
             line.substr(label_.size(), percent + 1 - label_.size()) + "\x1b[0m" + line.substr(percent + 1);
  write_error("\r" + line);
  news_ = false;
}

void ProgressLine::append() {
  write_error(label_ + meter_.text(std::string::npos) + "\n");
  news_ = false;
}

void ProgressLine::end() noexcept {
  try {
    if (way_ == Way::appended && news_) append();
  } catch (const std::exception&) {  // NOLINT: no memory for a line
  }
  wipe();
}

void ProgressLine::wipe() noexcept {
  try {
    if (shown_ > 0) write_error("\r" + std::string(shown_, ' ') + "\r");
  } catch (const std::exception&) {  // NOLINT: likewise
  }
  shown_ = 0;
}

}  // namespace anabranch::apps
