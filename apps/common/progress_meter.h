#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include <anabranch/run_options.h>

/// What is said of a run while it goes on.
namespace anabranch::apps {

/// How far a stream is, how fast it goes, and how long it will take.
class ProgressMeter {
 public:
  /// In the order of time. Where a stream begins, rates do.
  void add(const Progress& progress);

  /// " 45 %, 1.22 M of 2.7 M items, 33.1 M elements, 402.0 MB, 2.61 GB/s now, 2.55 GB/s on average, 12 s left" and as many of
  /// these as `columns` have room for, the more telling ones first. What is not known is left out.
  std::string text(std::size_t columns) const;

 private:
  double done() const;
  std::string rate(const Progress& since) const;
  std::string left() const;

  Progress now_;
  std::deque<Progress> lately_;  ///< some moments of the last two seconds, and the one before them
};

/// "950", "12.3 k", "4.56 M", "7 G": three digits.
std::string short_count(double number);
/// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min".
std::string short_time(double seconds);

}  // namespace anabranch::apps
