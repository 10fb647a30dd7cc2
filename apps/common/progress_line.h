#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <anabranch/run_options.h>

#include "apps/common/progress_meter.h"

/// Progress on standard error.
namespace anabranch::apps {

enum class ShowProgress : std::uint8_t { on_terminals, always, never };

/// On a terminal one line that is written over again and again, and wiped in the end; elsewhere, where it is wanted
/// there, a line each second and one at the end.
class ProgressLine {
 public:
  explicit ProgressLine(ShowProgress show);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What stands before the numbers.
  void label(std::string text) { label_ = std::move(text); }
  void show(const Progress& progress);
  /// What stands on a terminal goes, until `show` is called again: something else is written.
  void wipe() noexcept;
  /// The work is over, or goes on with something else.
  void end() noexcept;

 private:
  void rewrite();
  void append();

  enum class Way : std::uint8_t { none, rewritten, appended };
  Way way_;
  bool coloured_;
  std::string label_;
  ProgressMeter meter_;
  bool news_ = false;      ///< since the last line
  std::size_t shown_ = 0;  ///< columns of the line on the terminal
  std::chrono::steady_clock::time_point last_;
};

}  // namespace anabranch::apps
