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

/// Values of a feature that are infinite or NaN.
struct NotFinite {
  Feature feature;
  std::int64_t values = 0;
  std::string file;       ///< where the first one is
  double first_time = 0;  ///< of its window
};

class FeatureFile {
 public:
  explicit FeatureFile(const AudioRequest& request);
  /// What the spools hold of a file. `segments`: where its windows lie, unless they are of equal length.
  void add(const AudioInput& input, const std::vector<Segment>& segments,
           const std::vector<std::unique_ptr<Spool>>& spools);
  /// Puts it in place.
  void commit();
  /// Of all files, for each feature that has such values.
  std::vector<NotFinite> not_finite() const;

 private:
  void add_arrays(const AudioInput& input, const std::vector<Segment>& segments,
                  const std::vector<std::unique_ptr<Spool>>& spools);
  void add_lines(const AudioInput& input, const std::vector<Segment>& segments,
                 const std::vector<std::unique_ptr<Spool>>& spools);

  /// Looks at rows of `width` values of a feature, from row number `row` of a file on.
  void look(std::size_t feature, const AudioInput& input, const std::vector<Segment>& segments,
            std::int64_t row, std::int64_t width, const std::vector<float>& rows);

  const AudioRequest& request_;
  std::vector<NotFinite> not_finite_;  ///< for each feature
  std::unique_ptr<io::NpzWriter> npz_;
  std::unique_ptr<io::TextWriter> csv_;
  bool headed_ = false;  ///< the line of names is written
};

}  // namespace anabranch::apps
