#include "run/context/results.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <anabranch/error.h>

#include "ir/offsets.h"
#include "run/sources/item_range.h"

namespace anabranch::runtime {

namespace {

struct Bytes {
  std::uintptr_t begin = 0, end = 0;
  bool meets(const Bytes& other) const { return std::max(begin, other.begin) < std::min(end, other.end); }
};
Bytes bytes_at(const void* begin, std::int64_t elements, std::size_t width) {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  return {at, at + static_cast<std::uintptr_t>(elements) * width};
}

/// Of each component, where its elements are; with `room`, where elements may be.
std::vector<Bytes> places_of(const detail::ArrayData& array, bool room) {
  std::vector<Bytes> places;
  for (std::size_t c = 0; c < array.buffers.size(); ++c)
    places.push_back(
        bytes_at(array.buffers[c].get(), room ? array.capacity() : array.size(), size_of(array.scalars[c])));
  return places;
}

bool meet(const std::vector<Bytes>& some, const std::vector<Bytes>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Bytes& one) {
    return std::any_of(others.begin(), others.end(), [&](const Bytes& other) { return one.meets(other); });
  });
}

std::vector<Bytes> places_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t items) {
  std::vector<Bytes> places;
  std::int64_t first = 0, end = items;
  if (overlap(array, info)) {
    const ItemRange there = stretch(array, info, items);
    first = there.begin;
    end = there.end;
  } else if (info.regular()) {
    end = items * ir::elements_of_item(info);
  } else {
    first = ir::offset_at(array.offsets.get(), info.offsets, 0);
    end = ir::offset_at(array.offsets.get(), info.offsets, items);
    places.push_back(
        bytes_at(array.offsets.get(), items + 1, static_cast<std::size_t>(ir::offset_bytes(info.offsets))));
  }
  for (std::size_t c = 0; c < array.data.size(); ++c) {
    if (!array.data[c]) continue;
    const std::size_t width = size_of(info.scalars[c]);
    Bytes place = bytes_at(array.data[c].get(), end, width);
    place.begin += static_cast<std::uintptr_t>(first) * width;
    places.push_back(place);
  }
  return places;
}

}  // namespace

void check_given_memory(std::span<const HostArray> into, std::span<const HostArray> inputs) {
  std::vector<Bytes> given;  // for all results up to this one
  for (std::size_t r = 0; r < into.size(); ++r) {
    if (!into[r]->writable)
      throw ProgramError(
          fmt::format("run_into: the memory for result {} is a view of constants, which is not written", r));
    for (const Bytes& component : places_of(*into[r], true)) {
      if (meet(given, {component}))
        throw ProgramError(fmt::format("run_into: the memory for result {} is given twice", r));
      for (const HostArray& input : inputs)
        if (meet({component}, places_of(*input, false)))
          throw ProgramError(
              fmt::format("run_into: the memory for result {} is that of an input of the program", r));
      given.push_back(component);
    }
  }
}

std::vector<WrittenMemory> written_memory(std::span<const HostArray> into) {
  std::vector<WrittenMemory> written;
  for (std::size_t r = 0; r < into.size(); ++r)
    for (std::size_t c = 0; c < into[r]->buffers.size(); ++c)
      written.push_back({into[r]->buffers[c].get(),
                         into[r]->capacity() * static_cast<std::int64_t>(size_of(into[r]->scalars[c])), r});
  return written;
}

void check_not_read(std::span<const WrittenMemory> written, std::span<const SourceChunk> chunks,
                    std::span<const std::vector<ArrayInfo>> infos) {
  for (const WrittenMemory& w : written) {
    const std::vector<Bytes> own{bytes_at(w.begin, w.bytes, 1)};
    for (std::size_t b = 0; b < chunks.size(); ++b)
      for (std::size_t a = 0; a < chunks[b].arrays.size(); ++a)
        if (meet(own, places_of(chunks[b].arrays[a], infos[b][a], chunks[b].items)))
          refuse_written({&w, 1}, w.begin, w.bytes);
  }
}

void check_capacity(const detail::ArrayData& into, std::int64_t elements, const ir::Node& result, bool more) {
  if (elements <= into.capacity()) return;
  throw ResourceError(
      fmt::format("run_into: {} ({}) gives {}{} elements, and the memory given for it holds {}",
                  result.label(), to_string(result.place()), more ? "at least " : "", elements,
                  into.capacity()),
      result.place());
}

HostArray in_memory_of(const detail::ArrayData& into, std::vector<std::int64_t> extents) {
  auto array = std::make_shared<detail::ArrayData>(into);
  array->residence = nullptr;  // of other elements
  array->room = into.capacity();
  array->extents = std::move(extents);
  return array;
}

void copy_elements(scheduler::Executor* executor, const detail::ArrayData& from,
                   const detail::ArrayData& to) {
  for (std::size_t c = 0; c < from.buffers.size(); ++c) {
    const std::int64_t bytes = from.size() * static_cast<std::int64_t>(size_of(from.scalars[c]));
    if (bytes == 0) continue;
    if (executor)
      copy_on_all_threads(*executor, to.buffers[c].get(), from.buffers[c].get(), bytes);
    else
      std::memcpy(to.buffers[c].get(), from.buffers[c].get(), static_cast<std::size_t>(bytes));
  }
}

void copy_on_all_threads(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  const std::int64_t pieces = (bytes + piece - 1) / piece;
  const auto one = [&](std::int64_t i) {
    const std::int64_t begin = i * piece;
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(std::min(piece, bytes - begin)));
  };
  if (pieces == 1)
    one(0);
  else
    executor.parallel_for(pieces, one);
}

}  // namespace anabranch::runtime
