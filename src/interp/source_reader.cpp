#include "interp/source_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/evaluate.h"
#include "ir/offsets.h"
#include "ir/walk.h"

namespace anabranch::interp {

namespace {

[[noreturn]] void contradicts(const SourceBase& source, const Place& place, const std::string& what) {
  throw RunError(fmt::format("source {}: {} ({})", source.info().name, what, anabranch::to_string(place)),
                 place);
}

/// Item 0 of one component of a chunk.
class Component {
 public:
  Component(const SourceBase& source, const Place& place, const ArrayInfo& info, const ArrayChunk& chunk)
      : source_(source), place_(place), info_(info), chunk_(chunk) {}

  HostArray item() const {
    if (chunk_.data.size() != info_.scalars.size())
      contradicts(
          source_, place_,
          fmt::format("gave {} buffers for {} scalar components", chunk_.data.size(), info_.scalars.size()));
    auto out = std::make_shared<anabranch::detail::ArrayData>();
    out->scalars = info_.scalars;
    std::int64_t begin = 0;
    if (info_.regular()) {
      for (const auto& extent : info_.extents) out->extents.push_back(*extent);
    } else {
      begin = ir::offset_at(chunk_.offsets.get(), info_.offsets, 0);
      out->extents = extents(ir::offset_at(chunk_.offsets.get(), info_.offsets, 1) - begin);
    }
    for (std::size_t c = 0; c < info_.scalars.size(); ++c) {
      const auto bytes = static_cast<std::size_t>(begin) * size_of(info_.scalars[c]);
      const auto buffer = std::const_pointer_cast<void>(chunk_.data[c]);
      out->buffers.emplace_back(buffer, static_cast<unsigned char*>(buffer.get()) + bytes);
    }
    return out;
  }

 private:
  std::vector<std::int64_t> extents(std::int64_t size) const {
    if (size < 0) contradicts(source_, place_, fmt::format("its offsets decrease by {}", -size));
    std::vector<std::int64_t> out;
    if (info_.ragged()) {
      std::int64_t inner = 1;
      for (std::size_t d = 1; d < info_.extents.size(); ++d) inner *= *info_.extents[d];
      out.push_back(size / inner);
      for (std::size_t d = 1; d < info_.extents.size(); ++d) out.push_back(*info_.extents[d]);
    } else {
      for (std::size_t d = 0; d < info_.extents.size(); ++d)
        out.push_back(info_.extents[d] ? *info_.extents[d] : chunk_.extents.at(d).get()[0]);
    }
    std::int64_t product = 1;
    for (std::int64_t extent : out) product *= extent;
    if (product != size)
      contradicts(source_, place_,
                  fmt::format("an item of shape {} is given {} elements", to_string(out), size));
    return out;
  }

  const SourceBase& source_;
  const Place& place_;
  const ArrayInfo& info_;
  const ArrayChunk& chunk_;
};

}  // namespace

bool read_item(SourceBase& source, const Place& place, const std::stop_token& stop,
               std::vector<HostArray>& item) {
  SourceChunk chunk;
  Limit one;
  one.items = 1;
  one.stop = stop;
  if (!source.next(one, chunk)) return false;
  const std::vector<ArrayInfo>& infos = source.info().arrays;
  if (chunk.items != 1) contradicts(source, place, fmt::format("asked for 1 item, it gave {}", chunk.items));
  if (chunk.arrays.size() != infos.size())
    contradicts(source, place,
                fmt::format("gave {} arrays per item instead of {}", chunk.arrays.size(), infos.size()));
  item.clear();
  for (std::size_t a = 0; a < infos.size(); ++a)
    item.push_back(Component(source, place, infos[a], chunk.arrays[a]).item());
  return true;
}

namespace {
/// Does it compute something from what the other one gives?
bool needs(const ir::Node& reader, const ir::Node& other) {
  const ir::Ref root(&reader);
  const std::vector<const ir::Node*> all = ir::topological({&root, 1});
  return std::find(all.begin(), all.end(), &other) != all.end();
}
}  // namespace

void Sources::open(SourceBase& source, const ir::Node& reader, const Place& place, bool keeps) {
  const auto [use, first] = uses_.try_emplace(&source);
  Use& own = use->second;
  if (!first) {
    const std::string before = anabranch::to_string(own.place);
    if (own.open)
      fail(reader, place,
           fmt::format("the source {} is being streamed already, by the computation at {}",
                       source.info().name, before));
    const bool again = std::any_of(own.readers.begin(), own.readers.end(),
                                   [&](const ir::Node* other) { return needs(reader, *other); });
    if (!source.info().rewindable && again)
      fail(reader, place,
           fmt::format("the source {} can be streamed only once, and the computation at {} did so",
                       source.info().name, before));
  }
  own.place = place;
  own.keeps = keeps;
  own.open = true;
  own.at = 0;
  if (source.info().rewindable)
    source.rewind();
  else
    own.readers.push_back(&reader);
}

void Sources::close(const SourceBase& source) { uses_.at(&source).open = false; }

bool Sources::next(SourceBase& source, const Place& place, const std::stop_token& stop,
                   std::vector<HostArray>& item) {
  Use& own = uses_.at(&source);
  if (!own.keeps) return read_item(source, place, stop, item);
  if (own.at == own.items.size()) {
    std::vector<HostArray> read;
    if (!read_item(source, place, stop, read)) return false;
    own.items.push_back(std::move(read));
  }
  item = own.items[own.at++];
  return true;
}

}  // namespace anabranch::interp
