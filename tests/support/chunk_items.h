#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <anabranch/source.h>

/// The items of chunks, whatever their arrays are, as something that can be compared.
namespace anabranch::testing {

/// One array of an item: its shape, and the bytes of each component.
struct ReadArray {
  std::vector<std::int64_t> extents;
  std::vector<std::string> components;
  friend bool operator==(const ReadArray&, const ReadArray&) = default;
};
using ReadItem = std::vector<ReadArray>;
using ReadItems = std::vector<ReadItem>;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// An item that is one vector of scalars.
template <class T>
ReadItem vector_item(const std::vector<T>& values) {
  return {{{static_cast<std::int64_t>(values.size())}, {bytes_of(values)}}};
}

inline ReadArray array_at(const ArrayInfo& info, const ArrayChunk& chunk, std::int64_t item) {
  ReadArray out;
  std::int64_t begin = 0, count = 1, inner = 1;
  const auto offset = [&](std::int64_t i) -> std::int64_t {
    return info.offsets == OffsetType::int32 ? static_cast<const std::int32_t*>(chunk.offsets.get())[i]
                                             : static_cast<const std::int64_t*>(chunk.offsets.get())[i];
  };
  for (std::size_t d = 0; d < info.extents.size(); ++d)
    if (info.extents[d] && d > 0) inner *= *info.extents[d];
  if (info.regular()) {
    for (const auto& e : info.extents) count *= *e;
    begin = item * count;
  } else {
    begin = offset(item);
    count = offset(item + 1) - begin;
  }
  for (std::size_t d = 0; d < info.extents.size(); ++d)
    out.extents.push_back(info.extents[d] ? *info.extents[d]
                          : info.ragged() ? (inner == 0 ? 0 : count / inner)
                                          : chunk.extents.at(d).get()[item]);
  for (std::size_t c = 0; c < info.scalars.size(); ++c) {
    const std::size_t width = size_of(info.scalars[c]);
    const auto* data = static_cast<const char*>(chunk.data.at(c).get());
    out.components.emplace_back();
    if (count > 0)
      out.components.back().assign(data + static_cast<std::size_t>(begin) * width,
                                   static_cast<std::size_t>(count) * width);
  }
  return out;
}

}  // namespace anabranch::testing
