#include "cuda/in_order.h"

#include <algorithm>

#include "cuda/words.h"
#include "ir/views.h"
#include "kernel/fold_operator.h"
#include "kernel/pointwise.h"
#include "kernel/regions.h"

namespace anabranch::cuda {
namespace {

/// Bytes that a thread should have in flight of what it reads in order, so that the 2048 threads of a
/// multiprocessor that run a map, and the 1024 that run a fold, have the 48 KB or more that current GPUs need
/// for full bandwidth. What is gathered comes a latency later.
constexpr std::int64_t map_bytes = 32, fold_bytes = 48;
/// Largest cost of all copies of a body in an unrolled loop.
constexpr std::int64_t copies_cost = 4 * unroll_cost;
/// Largest size of the values, in shared memory, that rows are reduced from.
constexpr std::size_t most_tile_bytes = 8;

/// Most registers for data in flight and for the lanes that a thread of a fold keeps.
constexpr std::int64_t most_words = 20;
/// The lanes that most short rows need.
constexpr std::int64_t lanes_kept = 8;

std::int64_t words_of(ScalarType type) { return (static_cast<std::int64_t>(size_of(type)) + 3) / 4; }

/// `words`: per position.
int positions_ahead(std::int64_t bytes, std::int64_t wanted, std::int64_t words, std::int64_t kept,
                    std::int64_t cost) {
  int ahead = four;
  while (ahead < 4 * four && ahead * bytes < wanted && 2 * ahead * words + kept <= most_words &&
         2 * ahead * cost <= copies_cost)
    ahead *= 2;
  return ahead;
}

}  // namespace

std::size_t value_bytes(const kernel::Kernel& kernel) {
  const auto padded = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
  std::size_t bytes = 0, widest = 1;
  for (const ScalarType s : kernel::result_types(kernel)) {
    bytes = padded(bytes, size_of(s)) + size_of(s);
    widest = std::max(widest, size_of(s));
  }
  return padded(bytes, widest);
}

bool has_few_blocks(const kernel::Kernel& kernel) { return value_bytes(kernel) <= most_tile_bytes; }

bool has_many_finishers(const kernel::Kernel& kernel) {
  return kernel::reduce_of(kernel).order == ir::fold_order::OperatorClass::commutative &&
         value_bytes(kernel) <= 2 * most_tile_bytes && kernel::Regions(kernel.body)[0].cost <= unroll_cost;
}

InOrder in_order(const kernel::Kernel& kernel, const kernel::ComponentUse& use) {
  InOrder out;
  enum class Way : std::uint8_t { map, fold, never };
  const Way way = std::visit(kernel::overloaded{[](const kernel::Map&) { return Way::map; },
                                                [](const kernel::Reduce&) { return Way::fold; },
                                                [](const kernel::Scan&) { return Way::never; },
                                                [](const kernel::Recurrence&) { return Way::never; }},
                             kernel.form);
  if (way == Way::never) return out;
  const bool fold = way == Way::fold;
  if (!(fold ? kernel::is_flat_fold(kernel) : kernel::is_flat(kernel))) return out;
  const auto own = [&](const ir::Node& node) {
    return fold ? kernel::at_own_element(kernel, node) : kernel::is_pointwise(kernel, node);
  };
  const std::int64_t cost = kernel::Regions(kernel.body, own)[0].cost;
  if (cost > unroll_cost || (fold && value_bytes(kernel) > most_tile_bytes)) return out;

  std::int64_t bytes = 0;  // of a position, that are read in order
  std::int64_t words = 0;  // with what is gathered for it
  for (const ir::Node* node : kernel::reachable(kernel.body, own)) {
    if (!is_read(node->op())) continue;
    for (std::size_t a = 0; a < kernel.arrays.size(); ++a) {
      if (kernel.arrays[a].parameter != ir::Read(*node).array()) continue;
      const auto& scalars = kernel.arrays[a].type.scalars;
      for (std::size_t c = 0; c < scalars.size(); ++c) {
        const InOrder::Read read{a, c};
        const bool known = std::find(out.reads.begin(), out.reads.end(), read) != out.reads.end();
        if (!use.of_node(*node, c) || known) continue;
        if (own(*node)) {
          out.reads.push_back(read);
          bytes += static_cast<std::int64_t>(size_of(scalars[c]));
        }
        words += words_of(scalars[c]);
      }
    }
  }
  std::int64_t kept = 0;
  for (const ScalarType s : kernel::result_types(kernel))
    if (fold) kept += lanes_kept * words_of(s);
  out.ahead = positions_ahead(bytes, fold ? fold_bytes : map_bytes, words, kept, cost);
  return out;
}

}  // namespace anabranch::cuda
