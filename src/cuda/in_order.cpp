#include "cuda/in_order.h"

#include <algorithm>

#include "cuda/words.h"
#include "plan/own_position.h"
#include "plan/regions.h"

namespace anabranch::cuda {
namespace {

/// What a thread should have on its way: with 2048 threads that is the 64 KB that a multiprocessor of today
/// needs at full bandwidth.
constexpr std::int64_t bytes_ahead = 32;
/// Copies of a body in a loop may cost so much together.
constexpr std::int64_t copies_cost = 4 * unroll_cost;
constexpr int four = 4;
/// Of the values that rows are reduced from, in shared memory.
constexpr std::size_t most_tile_bytes = 8;

int map_ahead(std::int64_t bytes, std::int64_t cost) {
  int ahead = four;
  while (ahead < 4 * four && ahead * bytes < bytes_ahead && 2 * ahead * cost <= copies_cost) ahead *= 2;
  return ahead;
}

}  // namespace

InOrder in_order(const plan::Kernel& kernel, const plan::ComponentUse& use) {
  InOrder out;
  const bool fold = kernel.skeleton == plan::Skeleton::fold;
  if (!(fold ? plan::is_flat_fold(kernel) : plan::is_flat(kernel))) return out;
  const auto own = [&](const ir::Node& node) {
    return fold ? plan::at_own_element(kernel, node) : plan::at_own_position(kernel, node);
  };
  const std::int64_t cost = plan::Regions(kernel.body, own)[0].cost;
  std::size_t value_bytes = 0, widest = 1;
  for (const ScalarType s : kernel.output.type.scalars) {
    value_bytes += size_of(s);
    widest = std::max(widest, size_of(s));
  }
  value_bytes = (value_bytes + widest - 1) / widest * widest;
  if (cost > unroll_cost || (fold && value_bytes > most_tile_bytes)) return out;

  std::int64_t bytes = 0;
  for (const ir::Node* node : plan::reachable(kernel.body, own)) {
    if (!own(*node)) continue;
    for (std::size_t a = 0; a < kernel.arrays.size(); ++a) {
      if (kernel.arrays[a].parameter != node->child(0)) continue;
      const auto& scalars = kernel.arrays[a].type.scalars;
      for (std::size_t c = 0; c < scalars.size(); ++c) {
        const InOrder::Read read{a, c};
        if (!use.of_node(*node, c) || std::find(out.reads.begin(), out.reads.end(), read) != out.reads.end())
          continue;
        out.reads.push_back(read);
        bytes += static_cast<std::int64_t>(size_of(scalars[c]));
      }
    }
  }
  out.ahead = fold ? four : map_ahead(bytes, cost);
  return out;
}

}  // namespace anabranch::cuda
