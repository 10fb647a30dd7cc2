#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/io.h>

#include "apps/audio/request.h"
#include "apps/audio/spool.h"

/// The file that features are written to: .npz or .csv, by its name's end.
namespace anabranch::apps {

class FeatureFile {
 public:
  explicit FeatureFile(const AudioRequest& request);
  /// What the spools hold of a file. `segments`: where its windows lie, unless they are of equal length.
  void add(const AudioInput& input, const std::vector<Segment>& segments,
           const std::vector<std::unique_ptr<Spool>>& spools);
  /// Puts it in place.
  void commit();

 private:
  void add_arrays(const AudioInput& input, const std::vector<Segment>& segments,
                  const std::vector<std::unique_ptr<Spool>>& spools);
  void add_lines(const AudioInput& input, const std::vector<Segment>& segments,
                 const std::vector<std::unique_ptr<Spool>>& spools);

  const AudioRequest& request_;
  std::unique_ptr<io::NpzWriter> npz_;
  std::unique_ptr<io::TextWriter> csv_;
  bool headed_ = false;  ///< the line of names is written
};

}  // namespace anabranch::apps
