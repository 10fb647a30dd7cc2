#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/audio/request.h"
#include "apps/audio/spool.h"

/// The work: one file after the other through the program.
namespace anabranch::apps {

/// What is said of a run.
struct Extracted {
  double seconds = 0;          ///< of the runs
  double compile_seconds = 0;  ///< likewise
  double front_seconds = 0;    ///< before them, once for each program
  int kernels_compiled = 0, kernels_from_disk = 0;
  std::int64_t peak_bytes = 0;
  RunReport run;  ///< of the pass over the signal

  /// `first`: of its program.
  void add(const RunReport& of, double took, bool first);
};

class Extraction {
 public:
  /// Compiled for all files at once, or for the one whose segments these are.
  Extraction(const AudioRequest& request, std::vector<Segment> segments, const AudioInput& first);
  ~Extraction();
  Extraction(const Extraction&) = delete;
  Extraction& operator=(const Extraction&) = delete;

  std::string explain() const;
  /// The file's features are in the spools then.
  void run(const AudioInput& input, const RunOptions& options, Extracted& out);
  /// In the order in which they were asked for.
  const std::vector<std::unique_ptr<Spool>>& spools() const;
  /// Of the last file: mel bands that no frequency of the transform is in.
  std::int64_t empty_bands() const;

 private:
  struct Programs;
  std::unique_ptr<Programs> programs_;
};

}  // namespace anabranch::apps
