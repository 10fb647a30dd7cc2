#pragma once

#include <stop_token>
#include <unordered_map>
#include <vector>

#include "interp/bits.h"
#include "ir/node.h"

/// Reading a Source one item at a time, and recording which pass reads which source.
namespace anabranch::interp {

/// The next item of a source as arrays that share the chunk's memory; false at the end. A source that does
/// not keep to its own description is a RunError. One that waits looks at `stop`.
bool read_item(SourceBase& source, const Place& place, const std::stop_token& stop,
               std::vector<HostArray>& item);

/// A source is read from its beginning to its end by one pass at a time. Another pass rewinds it, or is
/// an error.
class Sources {
 public:
  /// Begins a pass for `reader` (a sink, or the sequence itself).
  void open(SourceBase& source, const ir::Node& reader);
  void close(const SourceBase& source);

 private:
  struct Use {
    Place place;
    bool open;
  };
  std::unordered_map<const SourceBase*, Use> uses_;
};

}  // namespace anabranch::interp
