#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>

#include <anabranch/run.h>

/// What the command writes, and where: results to standard output, errors and progress to standard error.
namespace anabranch::apps {

/// Of the standard descriptors, those that are closed get something that nothing can be written to: else the
/// next file would be opened under their number, and get our messages. To be called before any file is
/// opened.
void open_standard_descriptors() noexcept;

/// Throws IoError if standard output does not take it.
void print(std::string_view text);

/// "anabranch: " and the parts of a message, a line on standard error; marked red on a terminal, unless
/// NO_COLOR is set. Standard error that does not take it is no error. Allocates nothing.
void print_error(std::initializer_list<std::string_view> message) noexcept;

/// One line on standard error that is written over again and again, and wiped in the end. Silent unless
/// standard error is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Changes what stands before the numbers.
  void label(std::string text) { label_ = std::move(text); }
  /// At most ten times a second.
  void show(const Progress& progress);
  void wipe() noexcept;

 private:
  bool terminal_;
  std::string label_;
  std::size_t shown_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace anabranch::apps
