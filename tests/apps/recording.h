#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/audio/program.h"
#include "signals.h"

/// A signal and the features of its windows, as `anabranch audio` asks for them.
namespace anabranch::testing {

struct Recording {
  Signal samples;
  apps::FeatureOptions options{};
  float rate = 22'050;
  Vector<std::int64_t> mel_begins{Index{0}};
  Matrix<float> mel_weights{Index{0, 0}};
  std::vector<std::int64_t> block_lengths{50, 0, 7};

  std::int64_t padding() const { return options.center ? options.frame_length / 2 : 0; }
  Signal with_padding() const { return padded(samples, padding()); }
  std::vector<Signal> windows() const {
    return windows_by_hand(with_padding(), options.frame_length, options.hop_length);
  }

  apps::SignalFacts facts() const {
    return {use(Scalar<std::int64_t>(std::ssize(samples))), use(Scalar<float>(rate)), use(mel_begins),
            use(mel_weights)};
  }
  apps::Windows frames(const apps::SignalFacts& facts) const {
    return apps::frames(stream_in(blocks_of(with_padding(), block_lengths)), facts, options);
  }
  apps::FeatureSequences features(const std::vector<apps::Feature>& wanted) const {
    const apps::SignalFacts known = facts();
    return apps::features(wanted, frames(known), known, options);
  }
};

/// All values of all windows, one after the other.
inline Acc<Vector<float>> values_of(const apps::FeatureSequences& all, std::size_t i) {
  return consume(elements(all.values.at(i).second));
}
inline Acc<Vector<float>> vectors_of(const apps::FeatureSequences& all, std::size_t i) {
  return consume(elements(all.vectors.at(i).second));
}

/// Each number is as far from what it should be as `tolerance` says, at most.
inline void check_close(const Vector<float>& got, const Doubles& expected, double tolerance) {
  REQUIRE(got.size() == std::ssize(expected));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double there = expected[static_cast<std::size_t>(i)];
    INFO("number " << i << ": " << got[i] << " and " << there);
    CHECK(std::abs(got[i] - there) <= tolerance);
  }
}

}  // namespace anabranch::testing
