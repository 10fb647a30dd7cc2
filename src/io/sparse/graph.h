#pragma once

#include <memory>

#include <anabranch/io/graph.h>

#include "io/base/file.h"

/// Graphs from files that are already open, or in memory.
namespace anabranch::io::detail {

GraphHeader inspect_graph(const std::shared_ptr<const ReadFile>& file, const GraphOptions& options);
InLinks open_in_links(const std::shared_ptr<const ReadFile>& file, const GraphHeader& header,
                      const GraphOptions& options);

}  // namespace anabranch::io::detail
