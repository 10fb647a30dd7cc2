#include "run/chunks/chunk_layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <anabranch/array.h>
#include <anabranch/error.h>

#include "ir/offsets.h"
#include "run/context/results.h"

namespace anabranch::runtime {

namespace {

const std::int64_t* offsets_of(const ArrayChunk& array) {
  return static_cast<const std::int64_t*>(array.offsets.get());
}

/// Numbers f(0), ..., f(count - 1) that own their memory.
template <class F>
std::shared_ptr<const std::int64_t> numbers(std::int64_t count, F&& f) {
  auto values = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) (*values)[static_cast<std::size_t>(i)] = f(i);
  return {values, values->data()};
}

/// An extent that differs from item to item, for each of them.
std::shared_ptr<const std::int64_t> extents_of(const ArrayChunk& array, const ArrayInfo& info,
                                               std::int64_t items, std::size_t d) {
  if (!info.extents[d] && !info.ragged()) return array.extents[d];
  return numbers(items, [&](std::int64_t i) { return extent_of(array, info, i, d); });
}

ArrayChunk with_layout(const ArrayChunk& array, const ArrayInfo& from, const ArrayInfo& to,
                       std::int64_t items) {
  if (to.regular()) {
    if (!from.regular()) throw InternalError("items of different shapes as items of one shape");
    return array;
  }
  ArrayChunk out;
  out.data = array.data;
  if (from.regular()) {
    const std::int64_t size = ir::elements_of_item(from);
    out.offsets = numbers(items + 1, [&](std::int64_t i) { return i * size; });
  } else if (from.offsets == OffsetType::int64) {
    out.offsets = array.offsets;
  } else {
    const auto* const offsets = static_cast<const std::int32_t*>(array.offsets.get());
    out.offsets = numbers(items + 1, [&](std::int64_t i) { return offsets[i]; });
  }
  if (to.ragged()) return out;
  out.extents.resize(to.extents.size());
  for (std::size_t d = 0; d < to.extents.size(); ++d)
    if (!to.extents[d]) out.extents[d] = extents_of(array, from, items, d);
  return out;
}

}  // namespace

std::int64_t elements_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t items) {
  if (info.regular()) return items * ir::elements_of_item(info);
  return ir::offset_at(array.offsets.get(), info.offsets, items) -
         ir::offset_at(array.offsets.get(), info.offsets, 0);
}

std::int64_t extent_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t item, std::size_t d) {
  if (info.extents[d]) return *info.extents[d];
  if (!info.ragged()) return array.extents[d].get()[item];
  std::int64_t inner = 1;
  for (std::size_t k = 1; k < info.extents.size(); ++k) inner = ir::times(inner, *info.extents[k]);
  const std::int64_t elements = ir::offset_at(array.offsets.get(), info.offsets, item + 1) -
                                ir::offset_at(array.offsets.get(), info.offsets, item);
  return elements / inner;
}

std::int64_t width_of(const ArrayInfo& info) {
  return std::accumulate(
      info.scalars.begin(), info.scalars.end(), std::int64_t{0},
      [](std::int64_t sum, ScalarType s) { return sum + static_cast<std::int64_t>(size_of(s)); });
}

SourceChunk with_layout(const SourceChunk& chunk, const std::vector<ArrayInfo>& from,
                        const std::vector<ArrayInfo>& to) {
  SourceChunk out{chunk.items, chunk.items, chunk.bytes, {}, chunk.first};
  for (std::size_t a = 0; a < to.size(); ++a) {
    out.arrays.push_back(with_layout(chunk.arrays[a], from[a], to[a], chunk.items));
    out.work = std::max(out.work, elements_of(chunk.arrays[a], from[a], chunk.items));
  }
  return out;
}

namespace {

/// The buffers of an array of all these chunks, one after the other; bytes are added up.
ArrayChunk joined(const std::vector<SourceChunk>& chunks, std::size_t a, const ArrayInfo& info,
                  std::int64_t items, std::int64_t& bytes) {
  const auto new_buffer = [&bytes](std::int64_t size) {
    bytes += size;
    return detail::allocate_aligned(static_cast<std::size_t>(size));
  };
  const auto stretch_in = [&](const SourceChunk& chunk) {
    const ArrayChunk& array = chunk.arrays[a];
    if (!info.regular()) {
      const std::int64_t first = ir::offset_at(array.offsets.get(), info.offsets, 0);
      return ItemRange{first, first + elements_of(array, info, chunk.items)};
    }
    return overlap(array, info) ? stretch(array, info, chunk.items)
                                : ItemRange{0, chunk.items * ir::elements_of_item(info)};
  };
  std::int64_t elements = 0;
  for (const SourceChunk& chunk : chunks) elements += stretch_in(chunk).items();
  ArrayChunk out;
  for (std::size_t c = 0; c < info.scalars.size(); ++c) {
    // Numbers that are not stored: a chunk without elements may have none of what is, either.
    const auto lacks = [&](const SourceChunk& chunk) {
      return !chunk.arrays[a].data[c] && stretch_in(chunk).items() > 0;
    };
    if (std::any_of(chunks.begin(), chunks.end(), lacks)) {
      out.data.push_back(nullptr);
      continue;
    }
    const auto size = static_cast<std::int64_t>(size_of(info.scalars[c]));
    auto buffer = new_buffer(elements * size);
    auto* to = static_cast<std::byte*>(buffer.get());
    for (const SourceChunk& chunk : chunks) {
      const ItemRange from = stretch_in(chunk);
      to = std::copy_n(static_cast<const std::byte*>(chunk.arrays[a].data[c].get()) + from.begin * size,
                       from.items() * size, to);
    }
    out.data.push_back(std::move(buffer));
  }
  if (info.regular()) {
    if (!overlap(chunks[0].arrays[a], info)) return out;
    auto begins = std::static_pointer_cast<std::int64_t>(new_buffer(8 * items));
    std::int64_t* to = begins.get();
    std::int64_t before = 0;
    for (const SourceChunk& chunk : chunks) {
      const std::int64_t* const from = chunk.arrays[a].extents.back().get();
      const ItemRange whole = stretch_in(chunk);
      to = std::transform(from, from + chunk.items, to,
                          [&](std::int64_t at) { return before + at - whole.begin; });
      before += whole.items();
    }
    out.extents.resize(info.extents.size());
    out.extents.push_back(std::move(begins));
    return out;
  }
  auto offsets = new_buffer((items + 1) * ir::offset_bytes(info.offsets));
  const auto write = [&](std::int64_t item, std::int64_t offset) {
    if (info.offsets == OffsetType::int32)
      static_cast<std::int32_t*>(offsets.get())[item] = static_cast<std::int32_t>(offset);
    else
      static_cast<std::int64_t*>(offsets.get())[item] = offset;
  };
  write(0, 0);
  std::int64_t item = 0, end = 0;
  for (const SourceChunk& chunk : chunks) {
    const auto offset = [&](std::int64_t i) {
      return ir::offset_at(chunk.arrays[a].offsets.get(), info.offsets, i);
    };
    const std::int64_t before = end - offset(0);
    for (std::int64_t i = 1; i <= chunk.items; ++i) write(++item, end = before + offset(i));
  }
  out.offsets = std::move(offsets);
  if (info.ragged()) return out;
  for (std::size_t d = 0; d < info.extents.size(); ++d) {
    if (info.extents[d]) {
      out.extents.push_back(nullptr);
      continue;
    }
    auto extents = std::static_pointer_cast<std::int64_t>(new_buffer(8 * items));
    std::int64_t* to = extents.get();
    for (const SourceChunk& chunk : chunks)
      to = std::copy_n(chunk.arrays[a].extents[d].get(), chunk.items, to);
    out.extents.push_back(std::move(extents));
  }
  return out;
}

}  // namespace

SourceChunk joined(const std::vector<SourceChunk>& chunks, const std::vector<ArrayInfo>& infos) {
  SourceChunk all;
  all.first = chunks.front().first;
  for (const SourceChunk& chunk : chunks) {
    all.items += chunk.items;
    all.work += chunk.work;
  }
  for (std::size_t a = 0; a < infos.size(); ++a)
    all.arrays.push_back(joined(chunks, a, infos[a], all.items, all.bytes));
  return all;
}

ChunkBuilder::ChunkBuilder(const std::vector<ArrayInfo>& infos, MemoryPool& memory,
                           scheduler::Executor& executor)
    : infos_(infos), memory_(memory), executor_(executor) {}

std::int64_t ChunkBuilder::work() const {
  std::int64_t work = items_;
  for (const Part& part : parts_) work = std::max(work, part.elements);
  return work;
}

void ChunkBuilder::begin() {
  constexpr std::size_t some = std::size_t{1} << 12;
  parts_.clear();
  for (const ArrayInfo& info : infos_) {
    Part& part = parts_.emplace_back();
    for (std::size_t c = 0; c < info.scalars.size(); ++c) part.data.emplace_back(memory_, some);
    if (info.regular()) continue;
    part.offsets.emplace(memory_, some);
    *static_cast<std::int64_t*>(part.offsets->room(8)) = 0;
    part.offsets->commit(8);
    if (info.ragged()) continue;
    part.extents.resize(info.extents.size());
    for (std::size_t d = 0; d < info.extents.size(); ++d)
      if (!info.extents[d]) part.extents[d].emplace(memory_, some);
  }
}

namespace {

/// Ranges of elements, one after the other; short ones without a call each.
template <class T>
void copy_elements(void* to, const void* from, std::span<const ItemRange> ranges) {
  T* out = static_cast<T*>(to);
  const T* const in = static_cast<const T*>(from);
  for (const ItemRange& range : ranges) {
    if (range.items() < 16)
      for (std::int64_t i = range.begin; i < range.end; ++i) out[i - range.begin] = in[i];
    else
      std::memcpy(out, in + range.begin, static_cast<std::size_t>(range.items()) * sizeof(T));
    out += range.items();
  }
}

void copy_elements(std::size_t width, void* to, const void* from, std::span<const ItemRange> ranges) {
  switch (width) {
    case 1:
      return copy_elements<std::uint8_t>(to, from, ranges);
    case 2:
      return copy_elements<std::uint16_t>(to, from, ranges);
    case 4:
      return copy_elements<std::uint32_t>(to, from, ranges);
    default:
      return copy_elements<std::uint64_t>(to, from, ranges);
  }
}

}  // namespace

void ChunkBuilder::append(Part& part, const ArrayInfo& info, const ArrayChunk& array,
                          std::span<const ItemRange> ranges, std::int64_t items) {
  const std::int64_t size = info.regular() ? ir::elements_of_item(info) : 0;
  const std::int64_t* const offsets = info.regular() ? nullptr : offsets_of(array);
  std::vector<ItemRange> of_elements;
  std::int64_t elements = 0;
  if (!info.regular() || size != 1) {
    of_elements.reserve(ranges.size());
    for (const ItemRange& range : ranges) {
      of_elements.push_back(offsets ? ItemRange{offsets[range.begin], offsets[range.end]}
                                    : ItemRange{range.begin * size, range.end * size});
      elements += of_elements.back().items();
    }
  } else {
    elements = items;
  }
  const std::span<const ItemRange> copied =
      of_elements.empty() ? ranges : std::span<const ItemRange>(of_elements);
  for (std::size_t c = 0; c < info.scalars.size() && elements > 0; ++c) {
    const std::size_t width = anabranch::size_of(info.scalars[c]);
    const std::size_t bytes = static_cast<std::size_t>(elements) * width;
    void* const to = part.data[c].room(bytes);
    if (copied.size() == 1)
      copy_on_all_threads(executor_, to,
                          static_cast<const std::byte*>(array.data[c].get()) +
                              copied[0].begin * static_cast<std::int64_t>(width),
                          static_cast<std::int64_t>(bytes));
    else
      copy_elements(width, to, array.data[c].get(), copied);
    part.data[c].commit(bytes);
  }
  const auto count = static_cast<std::size_t>(items);
  if (part.offsets) {
    auto* to = static_cast<std::int64_t*>(part.offsets->room(count * 8));
    std::int64_t begin = part.elements;
    for (const ItemRange& range : ranges) {
      for (std::int64_t i = range.begin; i < range.end; ++i)
        *to++ = begin + offsets[i + 1] - offsets[range.begin];
      begin += offsets[range.end] - offsets[range.begin];
    }
    part.offsets->commit(count * 8);
    bytes_ += items * 8;
  }
  for (std::size_t d = 0; d < part.extents.size(); ++d) {
    if (!part.extents[d]) continue;
    copy_elements<std::int64_t>(part.extents[d]->room(count * 8), array.extents[d].get(), ranges);
    part.extents[d]->commit(count * 8);
    bytes_ += items * 8;
  }
  part.elements += elements;
  bytes_ += elements * width_of(info);
}

void ChunkBuilder::append(const SourceChunk& chunk, std::span<const ItemRange> ranges) {
  if (items_ == 0) this->begin();
  std::int64_t items = 0;
  for (const ItemRange& range : ranges) items += range.items();
  for (std::size_t a = 0; a < infos_.size(); ++a)
    append(parts_[a], infos_[a], chunk.arrays[a], ranges, items);
  items_ += items;
}

SourceChunk ChunkBuilder::finish() {
  SourceChunk chunk{items_, work(), bytes_, {}, 0};
  for (Part& part : parts_) {
    ArrayChunk& array = chunk.arrays.emplace_back();
    for (GrowingBuffer& data : part.data) array.data.push_back(data.finish());
    if (part.offsets) array.offsets = part.offsets->finish();
    for (auto& extents : part.extents)
      array.extents.push_back(extents ? std::static_pointer_cast<const std::int64_t>(extents->finish())
                                      : nullptr);
  }
  parts_.clear();
  items_ = bytes_ = 0;
  return chunk;
}

std::int64_t ChunkBuilder::fitting(const SourceChunk& chunk, const ItemRange& range,
                                   const Limit& limit) const {
  const auto elements = [&](std::size_t a, std::int64_t items) {
    if (infos_[a].regular()) return items * ir::elements_of_item(infos_[a]);
    const std::int64_t* const first = offsets_of(chunk.arrays[a]) + range.begin;
    return first[items] - first[0];
  };
  const auto fits = [&](std::int64_t items) {
    std::int64_t bytes = bytes_;
    for (std::size_t a = 0; a < infos_.size(); ++a) {
      const std::int64_t more = elements(a, items), held = items_ == 0 ? 0 : parts_[a].elements;
      if (more > limit.work - held) return false;
      bytes += more * width_of(infos_[a]);
      if (!infos_[a].regular()) bytes += 8 * items * (1 + (infos_[a].ragged() ? 0 : infos_[a].rank()));
    }
    return bytes <= limit.bytes;
  };
  std::int64_t least = 0, most = std::max<std::int64_t>(std::min(range.items(), limit.items - items_), 0);
  if (fits(most)) least = most;
  while (most - least > 1) {
    const std::int64_t middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  return std::max<std::int64_t>(least, items_ == 0 ? 1 : 0);
}

}  // namespace anabranch::runtime
