#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/gpu_host/compiled_text.h"
#include "support/sanitized.h"

/// Runs CUDA texts on the host: compiles them with g++ (shim.h before them) and executes every thread of a
/// block as a fiber. The order in which threads and blocks go on is drawn from a seed, so what a text gets
/// wrong about barriers, and what it leaves to chance, shows here.
namespace anabranch::gpu_host {

struct HostOptions {
  /// Compile the text with UndefinedBehaviorSanitizer, and with the one that this program is built with.
  bool sanitize = testing::sanitized;
  /// Entries; empty: the functions that the text (not its headers) declares `__global__`.
  std::vector<std::string> entries = {};
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim(unsigned ax = 1, unsigned ay = 1, unsigned az = 1) : x(ax), y(ay), z(az) {}  // NOLINT
};

class HostModule {
 public:
  /// Texts are compiled once per process. Throws HostError with g++'s messages.
  HostModule(const std::string& source, const std::vector<HeaderText>& headers,
             const HostOptions& options = {});

  /// Runs all blocks. `words`: the parameters, one behind the other, as the entry takes them (a structure by
  /// value, or several parameters). Seed 0: all in order; another: blocks and threads in a random order. The
  /// result must not depend on the seed. `workers`: OS threads that blocks are spread over. Shared memory is
  /// filled with 0xff before each block. Throws HostError. Thread-safe.
  void launch(const std::string& entry, Dim grid, Dim block, std::span<const std::uint64_t> words,
              std::uint64_t seed = 0, int workers = 1) const;

  bool has(const std::string& entry) const;
  std::vector<std::string> entries() const;
  /// Bytes that an entry takes as parameters.
  std::size_t parameter_bytes(const std::string& entry) const;

  struct Loaded;

 private:
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace anabranch::gpu_host
