#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <anabranch/run.h>

/// What the command writes, and where: results to standard output, errors and progress to standard error.
namespace anabranch::apps {

/// Throws IoError if standard output does not take it.
void print(std::string_view text);

/// "anabranch: message" on standard error; marked red on a terminal, unless NO_COLOR is set.
void print_error(std::string_view message);

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
  void wipe();

 private:
  bool terminal_;
  std::string label_;
  std::size_t shown_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace anabranch::apps
