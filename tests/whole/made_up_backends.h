#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compile.h"
#include "run/chunks/backend.h"

/// Back ends for tests of the interface, made of the CPU's.
namespace anabranch::testing {

/// What a made-up back end does otherwise than the CPU, and what happened in a run.
struct Behaviour {
  /// Chunks are computed in `complete`, so that several are on their way at once; else in `enqueue`.
  bool late = false;
  /// Items of a chunk that has more are committed in two parts.
  std::int64_t most_items_of_a_part = INT64_MAX;
  /// The second part before the first: no back end may do so where the order matters.
  bool backwards = false;
  /// A chunk of more items is refused: memory is short.
  std::int64_t most_items = INT64_MAX;
  /// What `make_room` answers. Where it says that room has been made, the next chunk is not refused.
  bool makes_room = false;
  /// `complete` of every other chunk takes this long.
  int milliseconds = 0;
  /// Of every so many chunks one is not begun with: ready() is false.
  int busy_every = 0;

  std::atomic<int> stages = 0, globals = 0, enqueued = 0, completed = 0, refused = 0, rooms_made = 0;
  std::atomic<int> on_their_way = 0, most_on_their_way = 0, prepared = 0, concluded = 0;
};

std::unique_ptr<runtime::RunBackend> made_up(std::unique_ptr<runtime::RunBackend> cpu, Behaviour& behaviour);

using MakeBackend = std::function<std::unique_ptr<runtime::RunBackend>(
    runtime::RunContext& context, std::unique_ptr<runtime::RunBackend> cpu)>;

/// Runs a program as its public face does, on the back end that `make` gives.
std::vector<runtime::HostArray> run_on(const MakeBackend& make, const Compiled& program,
                                       const RunOptions& options, RunReport* report = nullptr);
/// The items of a sequence, streamed out.
std::vector<std::vector<runtime::HostArray>> items_on(const MakeBackend& make, const Compiled& sequence,
                                                      const RunOptions& options);

}  // namespace anabranch::testing
