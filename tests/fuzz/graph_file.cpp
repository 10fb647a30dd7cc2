#include <cstddef>
#include <cstdint>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include "io/sparse/graph.h"

/// libFuzzer: bytes as a graph: the first one chooses kind and options, the others are the file. Whatever they are, the file
/// is refused with one of our errors, or all links lie inside the graph and leave it as often as is said.
/// (CONTRIBUTING.md, "Test", says how to build it.)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anabranch;
  if (size == 0) return 0;
  constexpr io::GraphFormat formats[] = {io::GraphFormat::by_content, io::GraphFormat::edge_text,
                                         io::GraphFormat::edge_int32, io::GraphFormat::edge_int64};
  io::GraphOptions options;
  options.format = formats[data[0] & 3];
  options.weighted = (data[0] & 4) != 0;
  options.first_node = (data[0] & 8) != 0;
  options.nodes = (data[0] & 16) != 0 ? 50 : 0;
  options.memory = (data[0] & 32) != 0 ? 16 << 20 : 1 << 20;
  try {
    auto file = io::detail::memory_file("input", {data + 1, data + size});
    const io::GraphHeader header = io::detail::inspect_graph(file, options);
    if (header.nodes > 100'000) return 0;  // a short file may stand for very many nodes
    const io::InLinks graph = io::detail::open_in_links(file, header, options);
    double leaving = 0;
    for (const double links : graph.leaving.values()) leaving += links;
    SourceChunk chunk;
    std::int64_t links = 0;
    while (graph.rows->next({}, chunk)) {
      const auto* from = static_cast<const std::int32_t*>(chunk.arrays[0].data[0].get());
      for (std::int64_t i = 0; i < chunk.work; ++i)
        if (from[i] < 0 || from[i] >= header.nodes) __builtin_trap();
      links += chunk.work;
    }
    if (links != graph.links || links > header.entries) __builtin_trap();
    if (!options.weighted && leaving != static_cast<double>(links)) __builtin_trap();
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  return 0;
}
