#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/node.h"

/// Random well-typed programs, to hold one back end against another. The same seed, size and options give the
/// same program, node for node; a smaller size gives a smaller program of the same kind, so a failing seed
/// can be tried again smaller.
///
/// Programs run without errors unless they are `unguarded`: indices are taken modulo the size, divisors are 1 to
/// 8, folds without a seed have rows that are not empty, loops end. Results are to be compared bit for bit
/// (testing::same: any NaN equals any NaN).
namespace anabranch::testing {

struct ProgramOptions {
  bool floats = true;
  /// Now and then any index, and any divisor: such a program may end in a RunError.
  bool unguarded = false;
};

struct RandomProgram {
  std::uint64_t seed = 0;
  int size = 0;
  std::vector<ir::Ref> roots;  ///< closed array computations; their sources are in memory and rewindable
};

/// use, generate, map, fold, backpermute, reshape,
/// unit over arrays of rank 0 to 3, and loops and branches of these. `size` counts array operations.
RandomProgram random_array_program(std::uint64_t seed, int size, const ProgramOptions& options = {});

/// One to three sources (stream_in of every form, produce, rows), a function of `size` array operations over
/// their items and captured arrays, then elements and tabulate of its results.
RandomProgram random_sequence_program(std::uint64_t seed, int size, const ProgramOptions& options = {});

/// Items, single elements, that single elements pass through as a state (map_accum_seq), and its results.
RandomProgram random_state_program(std::uint64_t seed, int items, const ProgramOptions& options = {});

/// "seed 17, size 5", for a test's message.
std::string describe(const RandomProgram& program);

}  // namespace anabranch::testing
