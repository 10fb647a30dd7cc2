#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <anabranch/element.h>
#include <anabranch/error.h>
#include <anabranch/export.h>

/// Where a stream comes from. A source gives *chunks*: runs of consecutive items, each item one array (or a
/// tuple of arrays), laid out flat. It is asked with a Limit and stops at the first limit it reaches, but
/// always gives at least one item unless the stream is over.
///
/// The layout of one array component over the items of a chunk:
///   - an extent is *uniform* (the same for all items of the stream, known when the source is opened) or
///     *per item*;
///   - all extents uniform: **regular**; the elements of item i begin at i * product(extents);
///   - otherwise **segmented**: `offsets[0..items]`, item i holds elements [offsets[i], offsets[i+1]) of the
///     flat buffers. `offsets[0]` need not be 0 (a chunk may be a view into the middle of a larger array).
/// Components that declare the same `descriptor` have the same extents and share one set of offsets: the
/// shape analysis then knows them equal. (Design: docs/architecture.md, "Source".)
namespace anabranch {

/// Memory of the caller that a run writes a result into (Program::run_into).
struct WrittenMemory {
  const void* begin = nullptr;
  std::int64_t bytes = 0;
  std::size_t result = 0;  ///< its number
};
/// Throws ProgramError where items lie in memory that the run writes, and would be read while they change.
ANABRANCH_API void refuse_written(std::span<const WrittenMemory> written, const void* items,
                                  std::int64_t bytes);

/// How much to give at most. Reaching any one of the first three ends the chunk; the first item is always
/// given, unless it takes more than `memory`. A source that gathers several items into a chunk one by one looks at
/// `stop` after each, a live one at `until`, too, so that a run can be stopped and says how far it is: then what is
/// there is the chunk. When `until` has passed, no further item is waited for; a live source that can tell gives all
/// that have come. One that can look at `stop` while it waits throws Cancelled then.
///
/// A source that copies items out of memory of the caller calls `refuse_written` for each.
struct Limit {
  std::int64_t items = INT64_MAX;
  std::int64_t bytes = INT64_MAX;   ///< of the chunk's buffers and offsets
  std::int64_t work = INT64_MAX;    ///< elements of the largest component
  std::int64_t memory = INT64_MAX;  ///< bytes that are left: a source that copies its items looks first
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::stop_token stop{};
  std::span<const WrittenMemory> written{};
  /// Of `split`: whether a piece has to say how many items it has before they are read.
  bool counted = true;
};

/// The next item takes more than Limit::memory, and nothing has been allocated. It has not been consumed:
/// with more memory `next` gives it.
class ANABRANCH_API ItemTooBig : public ResourceError {
 public:
  ItemTooBig(const std::string& message, std::int64_t bytes) : ResourceError(message), bytes_(bytes) {}
  ~ItemTooBig() override;
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_;
};

/// Integer width of the offsets a source hands out.
enum class OffsetType : std::uint8_t { int32, int64 };

/// What is known about one array component before the first chunk.
struct ArrayInfo {
  std::vector<ScalarType> scalars;
  /// One per dimension, outermost first: the uniform value, or nothing where it differs from item to item.
  std::vector<std::optional<std::int64_t>> extents;
  /// Components with equal numbers have equal extents in every item, and declare the same of them (else
  /// stream_in throws ProgramError). -1: extents of its own.
  int descriptor = -1;
  OffsetType offsets = OffsetType::int64;  ///< meaningful for segmented components

  int rank() const { return static_cast<int>(extents.size()); }
  bool regular() const {
    for (const auto& e : extents)
      if (!e) return false;
    return true;
  }
  /// Only the outermost extent differs, and the others are not 0: extents follow from the offsets, no extents buffer is given.
  bool ragged() const {
    if (extents.empty() || extents[0]) return false;
    for (std::size_t d = 1; d < extents.size(); ++d)
      if (extents[d].value_or(0) == 0) return false;
    return true;
  }
};

struct SourceInfo {
  std::string name;                   ///< for messages: a path, "range", ...
  std::vector<ArrayInfo> arrays;      ///< one for Source<Array>, several for a tuple of arrays
  std::optional<std::int64_t> items;  ///< length of the stream where known
  std::optional<std::int64_t> work;   ///< total elements where known
  bool rewindable = false;            ///< `rewind` may be called; else a second pass is an error
  bool in_memory = false;             ///< chunks are views of memory: `next` costs microseconds and no budget
  /// Reading is apart from handing out: several workers that read pieces at once gain (SourceBase::split).
  bool splits = false;
  /// The next item may not be there yet: `next` may wait for a socket, a device, a person
  /// (docs/scheduler.md, "Live sources"). Set it to false for files and whatever else never waits long. What
  /// is in memory is not live, whatever stands here.
  bool live = true;
  /// Of a live source: items come by themselves, whatever becomes of those before them. Then `stream_out` reads ahead,
  /// on a thread of its own. Else the next item may be made of the last result, as that of who asks and answers is:
  /// the source is asked for it when the results of all before it have been taken.
  bool independent = false;
};

/// One array component of a chunk.
struct ArrayChunk {
  /// One per scalar component, pointing at element 0 of the *offsets' numbering*: item i's elements are
  /// data[c] + offsets[i] .. data[c] + offsets[i+1] (regular: data[c] + i * size). Each pointer owns or
  /// shares its memory.
  std::vector<std::shared_ptr<const void>> data;
  /// Segmented: items + 1 integers of the declared OffsetType, non-decreasing, in *elements*.
  std::shared_ptr<const void> offsets;
  /// Segmented but not ragged: one entry per dimension, `items` int64 values where the extent is per item,
  /// null where it is uniform. Else empty. (Inside the library, where the items of a regular array lie over each other: at
  /// extents[rank] the element that each begins with.)
  std::vector<std::shared_ptr<const std::int64_t>> extents;
};

struct SourceChunk {
  std::int64_t items = 0;
  std::int64_t work = 0;  ///< elements of the largest component
  std::int64_t bytes =
      0;  ///< memory this chunk keeps alive beyond what the source holds anyway (0 for views)
  std::vector<ArrayChunk> arrays;
  std::int64_t first = 0;  ///< number of its first item in the stream: set by the run, not by sources
};

/// Consecutive items that a source has handed out and that are still to be read. A piece is destroyed before
/// its source is rewound or destroyed, read or not.
class ANABRANCH_API SourcePiece {
 public:
  virtual ~SourcePiece();
  /// Negative where only reading them tells, as it does of lines of a text; so only where Limit::counted is false. It is at
  /// least one, and at most Limit::items, all the same.
  virtual std::int64_t items() const = 0;
  /// Elements of its largest component, as far as they are known before the items have been read. Here: one an item.
  virtual std::int64_t work() const;
  /// SourceChunk::bytes, likewise. Here: none. What more it turns out to be has to fit when it has been read.
  virtual std::int64_t bytes() const;
  /// Reads the items: once, on any thread, beside other pieces and while the source hands out further ones.
  /// Throws DataError, IoError.
  virtual void read(SourceChunk& chunk) = 0;
  /// The piece has been read and all those before it are complete: here is put together what spans pieces, a
  /// checksum say. Comes in the order of the stream, one at a time, perhaps beside others' `read`. Throws
  /// DataError; until the last piece of the stream is complete its items may turn out to be damaged.
  virtual void complete() = 0;
};

/// Gives memory for the buffers of a chunk, aligned to 64 bytes, on any thread. Throws ResourceError.
using ChunkMemory = std::function<std::shared_ptr<void>(std::int64_t bytes)>;

/// The untyped face of a source. Calls come from one thread at a time (not always the same one).
class ANABRANCH_API SourceBase {
 public:
  virtual ~SourceBase();
  virtual const SourceInfo& info() const = 0;

  /// Fills `chunk` with the next items; false at the end of the stream. Throws DataError, IoError or whatever
  /// a user's range throws. A chunk's memory stays valid as long as its shared pointers do; a source may
  /// recycle buffers whose last outside owner is gone.
  virtual bool next(const Limit& limit, SourceChunk& chunk) = 0;

  /// The next items, handed out in the order of the stream and read by whoever, whenever; null at the end.
  /// One thread at a time calls it, and within a pass not `next`, too. A source that can tell its items apart
  /// without reading them gives pieces that several workers read at once (info().splits). Here, for all
  /// others: what `next` gives, read already.
  virtual std::unique_ptr<SourcePiece> split(const Limit& limit);

  /// Back to the first item. Only called where info().rewindable.
  virtual void rewind();

  /// Bytes the source holds as long as it is open (index arrays, read buffers): counted against the memory
  /// bound.
  virtual std::int64_t resident_bytes() const { return 0; }

  /// Where buffers of the chunks to come are to lie: a GPU copies by itself from memory that is page-locked, say. Empty:
  /// where the source likes, as before a run and after it. Not during `next`. Here: it makes no difference.
  virtual void use_memory(const ChunkMemory& memory);

 private:
  friend class SourcePass;
  std::optional<Place> read_at_;
  bool in_use_ = false;
};

/// One pass of one run over a source: as long as it lives, the source serves nobody else.
class ANABRANCH_API SourcePass {
 public:
  /// Goes back to the first item. Throws RunError naming both places where another pass is under way, or
  /// where the source is single-pass and has been read before.
  SourcePass(std::shared_ptr<SourceBase> source, const Place& place);
  /// Without `reads` a single-pass source is as it was.
  ~SourcePass();
  SourcePass(SourcePass&&) noexcept = default;
  SourcePass& operator=(SourcePass&&) = delete;
  /// Items are asked for from here on.
  void reads() { read_ = true; }

 private:
  std::shared_ptr<SourceBase> source_;
  bool read_ = false;
};

/// A source whose items are arrays of type A. Cheap to copy (one shared handle). Build one with the functions
/// of <anabranch/io.h>, or from a SourceBase of your own: the constructor checks that its declared types are
/// A's and throws ProgramError if they are not.
template <class A>
class Source {
 public:
  explicit Source(std::shared_ptr<SourceBase> source);

  const SourceInfo& info() const { return source_->info(); }
  const std::shared_ptr<SourceBase>& erased() const { return source_; }

 private:
  std::shared_ptr<SourceBase> source_;
};

namespace detail {
/// Throws ProgramError naming the source and the first difference.
ANABRANCH_API void check_source(const SourceInfo& info, const std::vector<std::vector<ScalarType>>& scalars,
                                const std::vector<int>& ranks);

template <class A>
struct ItemTypes;  // ranks and scalars of an Array, or of a tuple of Arrays
template <class A>
  requires requires {
    A::rank;
    typename A::value_type;
  }
struct ItemTypes<A> {
  static std::vector<int> ranks() { return {A::rank}; }
  static std::vector<std::vector<ScalarType>> scalars() {
    constexpr auto& s = Element<typename A::value_type>::scalars;
    return {{s.begin(), s.end()}};
  }
};
template <class... As>
struct ItemTypes<std::tuple<As...>> {
  static std::vector<int> ranks() { return {As::rank...}; }
  static std::vector<std::vector<ScalarType>> scalars() { return {ItemTypes<As>::scalars()[0]...}; }
};
}  // namespace detail

template <class A>
Source<A>::Source(std::shared_ptr<SourceBase> source) : source_(std::move(source)) {
  detail::check_source(source_->info(), detail::ItemTypes<A>::scalars(), detail::ItemTypes<A>::ranks());
}

}  // namespace anabranch
