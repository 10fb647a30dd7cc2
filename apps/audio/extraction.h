#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/audio/request.h"
#include "apps/audio/spool.h"
#include "apps/audio/tables.h"

/// The work: one file after the other through the program.
namespace anabranch::apps {

class Extraction {
 public:
  /// Compiled for all files at once, or for the one whose segments these are, which outlive it.
  Extraction(const AudioRequest& request, std::span<const Segment> segments, const AudioInput& first);
  ~Extraction();
  Extraction(const Extraction&) = delete;
  Extraction& operator=(const Extraction&) = delete;

  std::string explain() const;
  /// The file's features are in the spools then. The report is that of the pass over the signal, with what a second one took, and
  /// what the programs took before they ran only in the first.
  RunReport run(const AudioInput& input, const RunOptions& options);
  /// In the order in which they were asked for.
  const std::vector<std::unique_ptr<Spool>>& spools() const;
  /// Of the last file.
  const BandCounts& bands() const;

 private:
  struct Programs;
  std::unique_ptr<Programs> programs_;
};

}  // namespace anabranch::apps
