#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <anabranch/io.h>

#include "apps/audio/signal_source.h"

/// Pieces of a signal, of any lengths.
namespace anabranch::apps {

struct Segment {
  std::int64_t begin = 0, length = 0;  ///< samples
};

enum class SegmentUnit : std::uint8_t { samples, seconds };

/// How long segments may be, in samples, and in words what they are for.
struct SegmentLengths {
  std::int64_t least = 1, most = INT64_MAX;
  std::string text = "at least 1";
};

/// A line for each segment: where it begins and how long it is, with a comma or white space between. Empty lines and those that
/// begin with # are none; seconds are rounded to the nearest sample. Segments may overlap, each begins where the one before
/// it does or behind, has a length that is allowed, and ends before the signal of `samples` samples does:
/// else DataError. ResourceError where they take more than `memory` bytes.
std::vector<Segment> read_segments(const std::string& path, SegmentUnit unit, double rate,
                                   std::int64_t samples, const SegmentLengths& lengths, std::int64_t memory);

/// The segments of a signal, one after the other. Of the signal no more is held than twice the longest of them, and a block.
class SegmentSource final : public SourceBase {
 public:
  /// `header`: what the file has said of itself; `segments` outlive the source; `memory`: the bound, in bytes. DataError where
  /// the file has changed since, ResourceError where the longest segment is more than can be held within the bound.
  SegmentSource(const std::string& path, const io::AudioHeader& header, std::span<const Segment> segments,
                std::int64_t memory);

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override;
  void rewind() override;
  std::int64_t resident_bytes() const override;

 private:
  /// Reads on until the whole segment is held, and forgets what no segment from here on needs. False: stopped before.
  bool hold(const Segment& segment, const Limit& limit, std::int64_t memory);
  std::int64_t most_held() const;  ///< samples

  SignalSource signal_;
  std::span<const Segment> segments_;
  std::int64_t longest_ = 0;
  std::int64_t memory_;
  SourceInfo info_;
  std::size_t next_ = 0;     ///< segment
  std::vector<float> held_;  ///< of the signal, from held_begin_ on
  std::int64_t held_begin_ = 0;
};

}  // namespace anabranch::apps
