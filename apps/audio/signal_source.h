#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/io.h>

/// The signals that features are computed of.
namespace anabranch::apps {

/// What stands before and behind a signal, as numpy.pad has it.
enum class PadMode : std::uint8_t { constant, edge, reflect };

/// The channels of an audio file put together, in blocks, between padding. A sample that is no number, or infinite, is a DataError
/// that names it. One file after the other may be opened, between runs.
class SignalSource final : public SourceBase {
 public:
  /// `padding`: samples at either end. `memory`: the largest chunk, in bytes.
  SignalSource(std::int64_t padding, PadMode mode, std::int64_t memory);
  /// A file whose header has been looked at: it has samples enough for the padding. DataError where it has changed since.
  void open(const std::string& path, const io::AudioHeader& header);

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override;
  void rewind() override;
  std::int64_t resident_bytes() const override;

  static constexpr std::int64_t block = 16'384;  ///< samples

 private:
  enum class Part : std::uint8_t { before, signal, behind, end };

  bool signal(const Limit& limit, SourceChunk& chunk);
  void look(const float* samples, std::int64_t count);
  void pad(const Limit& limit, const std::vector<float>& samples, SourceChunk& chunk) const;
  std::vector<float> before() const;
  std::vector<float> behind() const;

  std::int64_t padding_;
  PadMode mode_;
  std::int64_t memory_;
  SourceInfo info_;
  std::shared_ptr<SourceBase> file_;
  Part part_ = Part::before;
  std::int64_t samples_ = 0;         ///< that have passed
  std::vector<float> first_, last_;  ///< padding + 1 of them, as far as they are needed
};

}  // namespace anabranch::apps
