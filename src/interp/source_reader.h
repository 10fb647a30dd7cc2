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
  /// Begins a pass for `reader` (a sink, or the sequence itself), whose errors name `place`. A source that can be read only
  /// once may be read by several that do not need each other, as their passes are one: then its items are kept.
  void open(SourceBase& source, const ir::Node& reader, const Place& place, bool keeps);
  void close(const SourceBase& source);
  /// The next item of the open pass.
  bool next(SourceBase& source, const Place& place, const std::stop_token& stop,
            std::vector<HostArray>& item);

 private:
  struct Use {
    Place place;
    bool open;
    bool keeps = false;
    std::vector<const ir::Node*> readers;       ///< of a source that can be read only once
    std::vector<std::vector<HostArray>> items;  ///< all that have been read of it
    std::size_t at = 0;                         ///< of the open pass
  };
  std::unordered_map<const SourceBase*, Use> uses_;
};

}  // namespace anabranch::interp
