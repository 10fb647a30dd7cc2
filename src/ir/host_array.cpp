#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include <anabranch/array.h>
#include <anabranch/error.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include "ir/aligned_memory.h"
#include "ir/type.h"

// The out-of-line parts of the public headers array.h, error.h, source.h and sink.h.
namespace anabranch {

Error::~Error() = default;
ProgramError::~ProgramError() = default;
RunError::~RunError() = default;
DataError::~DataError() = default;
IoError::~IoError() = default;
ResourceError::~ResourceError() = default;
ItemTooBig::~ItemTooBig() = default;
BackendUnavailable::~BackendUnavailable() = default;
Cancelled::~Cancelled() = default;
InternalError::~InternalError() = default;

std::string to_string(const Place& place) {
  if (!place.known()) return "unknown place";
  const char* base = std::strrchr(place.file.c_str(), '/');
  return fmt::format("{}:{}", base ? base + 1 : place.file.c_str(), place.line);
}

SinkPass::~SinkPass() = default;
SinkBase::~SinkBase() = default;
SourceBase::~SourceBase() = default;
SourcePiece::~SourcePiece() = default;
std::int64_t SourcePiece::work() const { return std::max<std::int64_t>(items(), 1); }
std::int64_t SourcePiece::bytes() const { return 0; }

namespace {
class ReadPiece final : public SourcePiece {
 public:
  explicit ReadPiece(SourceChunk chunk)
      : chunk_(std::move(chunk)), items_(chunk_.items), work_(chunk_.work), bytes_(chunk_.bytes) {}
  std::int64_t items() const override { return items_; }
  std::int64_t work() const override { return work_; }
  std::int64_t bytes() const override { return bytes_; }
  void read(SourceChunk& chunk) override { chunk = std::move(chunk_); }
  void complete() override {}

 private:
  SourceChunk chunk_;
  std::int64_t items_, work_, bytes_;
};
}  // namespace

std::unique_ptr<SourcePiece> SourceBase::split(const Limit& limit) {
  SourceChunk chunk;
  if (!next(limit, chunk)) return nullptr;
  return std::make_unique<ReadPiece>(std::move(chunk));
}

void SourceBase::use_memory(const ChunkMemory&) {}

void refuse_written(std::span<const WrittenMemory> written, const void* items, std::int64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(items);
  const std::uintptr_t end = begin + static_cast<std::uintptr_t>(bytes);
  for (const WrittenMemory& w : written) {
    const auto at = reinterpret_cast<std::uintptr_t>(w.begin);
    if (std::max(begin, at) < std::min(end, at + static_cast<std::uintptr_t>(w.bytes)))
      throw ProgramError(
          fmt::format("run_into: the memory for result {} is that of items which a source gives", w.result));
  }
}

void SourceBase::rewind() { throw RunError("source " + info().name + ": cannot be read a second time"); }

namespace {
// One for all sources: it is held for a few instructions.
std::mutex passes;
}  // namespace

SourcePass::SourcePass(std::shared_ptr<SourceBase> source, const Place& place) {
  const SourceInfo& info = source->info();
  {
    const std::lock_guard lock(passes);
    const std::optional<Place> read_at = source->read_at_;
    if (source->in_use_ && read_at)
      throw RunError(
          fmt::format(
              "stream_in ({}): the source {} is being read by another run ({}); it serves one run at a time",
              to_string(place), info.name, to_string(*read_at)),
          place);
    if (read_at && !info.rewindable)
      throw RunError(
          fmt::format("stream_in ({}): the source {} gives its items only once, and was read before ({})",
                      to_string(place), info.name, to_string(*read_at)),
          place);
    source->in_use_ = true;
    source->read_at_ = place;
  }
  source_ = std::move(source);
  if (!info.rewindable) return;
  try {
    source_->rewind();
  } catch (...) {
    const std::lock_guard lock(passes);
    source_->in_use_ = false;
    throw;
  }
}

SourcePass::~SourcePass() {
  if (!source_) return;
  const std::lock_guard lock(passes);
  source_->in_use_ = false;
  if (!read_ && !source_->info().rewindable) source_->read_at_.reset();
}

namespace detail {

std::shared_ptr<ArrayData> components_of(const ArrayData& array, int first, int count) {
  auto out = std::make_shared<ArrayData>(array);
  out->residence = nullptr;  // of other elements
  const auto keep = [&](auto& of) {
    of.erase(of.begin() + first + count, of.end());
    of.erase(of.begin(), of.begin() + first);
  };
  keep(out->scalars);
  keep(out->buffers);
  return out;
}

std::int64_t checked_size(std::span<const std::int64_t> extents) {
  std::int64_t size = 1;
  for (std::int64_t e : extents) {
    if (e < 0) throw RunError(fmt::format("array: negative extent {}", e));
    if (e == 0) size = 0;
  }
  for (std::int64_t e : extents) {
    if (size == 0) break;
    if (__builtin_mul_overflow(size, e, &size)) throw RunError("array: the number of elements overflows");
  }
  return size;
}

std::shared_ptr<void> allocate_aligned(std::size_t bytes) {
  // A whole number of lines of the cache, as kernels read whole vectors.
  const std::size_t rounded =
      (bytes + ir::memory_alignment - 1) / ir::memory_alignment * ir::memory_alignment;
  void* const memory =
      rounded < bytes ? nullptr : ir::aligned_from_heap(std::max(rounded, ir::memory_alignment));
  if (!memory) throw std::bad_alloc();
  return {memory, ir::aligned_to_heap};
}

std::shared_ptr<ArrayData> allocate_array(std::span<const ScalarType> scalars,
                                          std::span<const std::int64_t> extents) {
  const auto size = static_cast<std::size_t>(checked_size(extents));
  auto array = std::make_shared<ArrayData>();
  array->scalars.assign(scalars.begin(), scalars.end());
  array->extents.assign(extents.begin(), extents.end());
  for (ScalarType s : scalars) {
    if (size > SIZE_MAX / 16) throw std::bad_alloc();
    array->buffers.push_back(allocate_aligned(size * size_of(s)));
    std::memset(array->buffers.back().get(), 0, size * size_of(s));
  }
  return array;
}

std::shared_ptr<ArrayData> copy_of(const ArrayData& array) {
  auto copy = std::make_shared<ArrayData>();
  copy->scalars = array.scalars;
  copy->extents = array.extents;
  for (std::size_t c = 0; c < array.buffers.size(); ++c) {
    const std::size_t bytes = static_cast<std::size_t>(array.size()) * size_of(array.scalars[c]);
    copy->buffers.push_back(allocate_aligned(bytes));
    if (bytes > 0) std::memcpy(copy->buffers[c].get(), array.buffers[c].get(), bytes);
  }
  return copy;
}

std::shared_ptr<ArrayData> room_like(const ArrayData& array) {
  auto like = std::make_shared<ArrayData>();
  like->scalars = array.scalars;
  like->extents = array.extents;
  like->room = array.capacity();
  for (const ScalarType s : array.scalars)
    like->buffers.push_back(allocate_aligned(static_cast<std::size_t>(array.capacity()) * size_of(s)));
  return like;
}

void refuse_to_write() {
  throw ProgramError("array: a view of constants cannot be written; write to a copy() of it");
}

void refuse_row(std::int64_t number, std::int64_t first_length, std::size_t length) {
  throw RunError(fmt::format(
      "a matrix of rows: row {} has the length {}, and row 0 {}; a shape is written Index{{rows, columns}}",
      number, length, first_length));
}

void check_source(const SourceInfo& info, const std::vector<std::vector<ScalarType>>& scalars,
                  const std::vector<int>& ranks) {
  if (info.arrays.size() != ranks.size())
    throw ProgramError(fmt::format("source {}: gives {} arrays per item, the program expects {}", info.name,
                                   info.arrays.size(), ranks.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const ir::Type is = ir::Type::array(info.arrays[i].rank(), info.arrays[i].scalars);
    const ir::Type wanted = ir::Type::array(ranks[i], scalars[i]);
    if (!(is == wanted))
      throw ProgramError(fmt::format("source {}: its items are {}, the program expects {}", info.name,
                                     ir::to_string(is), ir::to_string(wanted)));
  }
}

void check_sink(const SinkInfo& info, const std::vector<std::vector<ScalarType>>& scalars,
                const std::vector<int>& ranks) {
  if (info.arrays.size() != ranks.size())
    throw ProgramError(fmt::format("sink {}: takes {} arrays per item, the program gives {}", info.name,
                                   info.arrays.size(), ranks.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const ir::Type is = ir::Type::array(info.arrays[i].rank, info.arrays[i].scalars);
    const ir::Type given = ir::Type::array(ranks[i], scalars[i]);
    if (!(is == given))
      throw ProgramError(fmt::format("sink {}: takes {}, the program gives {}", info.name, ir::to_string(is),
                                     ir::to_string(given)));
  }
}

}  // namespace detail
}  // namespace anabranch
