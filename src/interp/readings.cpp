#include "interp/readings.h"

namespace anabranch::interp {

Readings::~Readings() {
  for (const auto& [source, stream] : streams_)
    if (stream.places > 0) machine_.sources().close(*source);
}

void Readings::open(const ir::Node& node) {
  SourceBase* const source = node.payload().source.get();
  Stream& stream = streams_[source];
  if (stream.places == 0) {
    machine_.sources().open(*source, reader_, reader_.place().known() ? reader_.place() : node.place(),
                            machine_.several_read(*source));
    stream = {.places = 0, .place = node.place(), .first = 0, .kept = {}};
  }
  ++stream.places;
}

void Readings::close(const ir::Node& node) noexcept {
  Stream& stream = streams_.at(node.payload().source.get());
  if (--stream.places == 0) machine_.sources().close(*node.payload().source);
}

bool Readings::item(const ir::Node& node, std::int64_t position, std::vector<HostArray>& item) {
  SourceBase& source = *node.payload().source;
  Stream& stream = streams_.at(&source);
  while (position >= stream.first + std::ssize(stream.kept)) {
    std::vector<HostArray> next;
    if (!machine_.sources().next(source, stream.place, machine_.evaluator().stop(), next)) return false;
    if (!keeps_ && !stream.kept.empty()) {
      stream.kept.pop_front();
      ++stream.first;
    }
    stream.kept.push_back(std::move(next));
  }
  item = stream.kept[static_cast<std::size_t>(position - stream.first)];
  return true;
}

}  // namespace anabranch::interp
