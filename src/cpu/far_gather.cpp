#include "cpu/far_gather.h"

#include <algorithm>
#include <bitset>

#include "cpu/processor.h"
#include "ir/offsets.h"
#include "kernel/known_gather.h"

namespace anabranch::cpu {

namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t looked_at = 128;   // positions that follow one another, in two places
constexpr std::int64_t short_row = 20;    // elements, on average: measured, as are 3/8
constexpr std::int64_t one_vector = 64;   // positions: no vector has more lanes
constexpr std::int64_t least = 32 << 10;  // positions: of fewer it is not worth finding out

/// Lines that these positions lie in.
template <class P>
std::int64_t lines_of(const P* positions, std::int64_t element_bytes) {
  constexpr int bits = 11;
  std::bitset<std::size_t{1} << bits> seen;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const auto line =
        static_cast<std::uint64_t>(positions[i]) * static_cast<std::uint64_t>(element_bytes) / line_bytes;
    seen.set(static_cast<std::size_t>(line * 0x9E3779B97F4A7C15u >> (64 - bits)));
  }
  return static_cast<std::int64_t>(seen.count());
}

/// Of the positions [first, end), do many that follow one another lie in lines of their own?
template <class P>
bool are_scattered(const P* positions, std::int64_t first, std::int64_t end, std::int64_t element_bytes) {
  const std::int64_t third = (end - first) / 3;
  const std::int64_t lines =
      lines_of(positions + first + third, element_bytes) + lines_of(positions + end - third, element_bytes);
  return 3 * lines >= 2 * looked_at;
}

}  // namespace

std::optional<GatherFacts> gather_facts_of(const kernel::Kernel& kernel) {
  const auto gather = kernel::known_gather(kernel);
  if (!gather) return std::nullopt;
  GatherFacts facts;
  facts.elements = gather->from->extents[0];
  for (const ScalarType type : gather->from->type.scalars)
    facts.element_bytes = std::max(facts.element_bytes, static_cast<std::int64_t>(size_of(type)));
  facts.positions = gather->positions->first_buffer + gather->component;
  facts.position_type = gather->positions->type.scalars[static_cast<std::size_t>(gather->component)];
  facts.offsets = gather->positions->offsets;
  facts.offset_type = gather->positions->offset_type;
  return facts;
}

const void* end_of_far_positions(const GatherFacts& facts, const Bindings& bindings) {
  if (!facts.elements.same_for_all()) return nullptr;
  const std::int64_t elements = facts.elements.kind == kernel::KernelExtent::Kind::constant
                                    ? facts.elements.value
                                    : bindings.scalars[static_cast<std::size_t>(facts.elements.slot)];
  const void* const offsets = bindings.buffers[static_cast<std::size_t>(facts.offsets)];
  const std::int64_t first = ir::offset_at(offsets, facts.offset_type, 0),
                     end = ir::offset_at(offsets, facts.offset_type, bindings.items);
  // What the shared cache holds a core waits for only where rows are short: in a longer one it sees the next loads itself.
  const bool short_rows = end - first < short_row * bindings.items;
  const std::int64_t near = short_rows ? caches().of_core : caches().shared * 3 / 8;
  const auto end_of = [&](const auto* positions) -> const void* {
    if (bindings.no_caches) return end - first >= one_vector ? positions + end : nullptr;
    if (end - first < least || elements <= near / facts.element_bytes) return nullptr;
    return are_scattered(positions, first, end, facts.element_bytes) ? positions + end : nullptr;
  };
  const void* const positions = bindings.buffers[static_cast<std::size_t>(facts.positions)];
  return facts.position_type == ScalarType::int32 ? end_of(static_cast<const std::int32_t*>(positions))
                                                  : end_of(static_cast<const std::int64_t*>(positions));
}

}  // namespace anabranch::cpu
