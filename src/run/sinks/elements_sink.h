#pragma once

#include "run/sinks/collector.h"

namespace anabranch::runtime {

/// `elements`: all elements of all items, in the order of the stream.
class ElementsSink final : public Collector {
 public:
  explicit ElementsSink(const SinkWork& work) : Collector(work, static_cast<bool>(work.into)) {}
  void commit(std::int64_t, const PartShape::Result& part) override { keep(part.elements); }
  HostArray finish() override { return array_of({elements()}); }
};

}  // namespace anabranch::runtime
