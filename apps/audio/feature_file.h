#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
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
  /// Writing ends with Cancelled where a stop is requested, and nothing is left.
  FeatureFile(const AudioRequest& request, std::stop_token stop);
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

  /// Calls f(first row, how many) for pieces of `rows` rows of so many bytes each.
  template <class F>
  void in_pieces(std::int64_t rows, std::int64_t row_bytes, F&& f) const;

  const AudioRequest& request_;
  const std::stop_token stop_;
  std::vector<NotFinite> not_finite_;  ///< for each feature
  std::unique_ptr<io::NpzWriter> npz_;
  std::unique_ptr<io::TextWriter> csv_;
  bool headed_ = false;  ///< the line of names is written
};

}  // namespace anabranch::apps
