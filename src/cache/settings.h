#pragma once

#include <cstdint>
#include <string>

namespace anabranch::cache {

struct Settings {
  std::string folder;                            ///< absolute
  std::string why_not;                           ///< not empty: there is no cache, for this reason
  std::int64_t bound = std::int64_t{256} << 20;  ///< bytes of all entries together
};

/// What the environment says.
///   ANABRANCH_CACHE       off, 0, no, false: no cache; on, 1, yes, true, or not set: one
///   ANABRANCH_CACHE_DIR   its folder; else $XDG_CACHE_HOME/anabranch, else $HOME/.cache/anabranch
///   ANABRANCH_CACHE_SIZE  its bound: bytes, or K, M, G, T of them (powers of 1024)
/// What cannot be understood means no cache: a run goes on without, and `doctor` tells.
Settings settings_from_environment();

}  // namespace anabranch::cache
