#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "interp/machine.h"

/// The streams that a pass, and the passes that feed it, read: each item once, whoever asks for it first.
namespace anabranch::interp {

class Readings {
 public:
  /// `reader`: the node that errors about reading a source twice name. `keeps`: several places read at paces of their own.
  Readings(Machine& machine, const ir::Node& reader, bool keeps)
      : machine_(machine), reader_(reader), keeps_(keeps) {}
  ~Readings();
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;

  /// A place that reads the stream of `node` begins, and ends.
  void open(const ir::Node& node);
  void close(const ir::Node& node) noexcept;
  /// Item `position` of the stream; false where there is none.
  bool item(const ir::Node& node, std::int64_t position, std::vector<HostArray>& item);

 private:
  struct Stream {
    int places = 0;  ///< that read it now
    Place place;
    std::int64_t first = 0;  ///< position of the first item that is kept
    std::deque<std::vector<HostArray>> kept;
  };

  Machine& machine_;
  const ir::Node& reader_;
  bool keeps_;
  std::unordered_map<SourceBase*, Stream> streams_;
};

}  // namespace anabranch::interp
