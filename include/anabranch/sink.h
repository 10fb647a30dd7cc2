#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <anabranch/element.h>
#include <anabranch/error.h>
#include <anabranch/export.h>
#include <anabranch/source.h>

/// Where a stream goes to: the mirror image of a source. A sink takes *chunks*, runs of consecutive items in the order
/// of the stream, laid out flat, as a source gives them (source.h). `write` (write.h) is the terminal that feeds one;
/// files are in <anabranch/io.h>.
namespace anabranch {

/// One array component of the items that a sink takes.
struct SinkArray {
  std::vector<ScalarType> scalars;
  int rank = 0;
};

struct SinkInfo {
  std::string name;               ///< for messages: a path, "list", ...
  std::vector<SinkArray> arrays;  ///< one for Sink<Array>, several for a tuple of arrays
  /// It keeps the memory of chunks when `write` has returned (SinkChunk::keeps).
  bool keeps = false;
};

/// What is known of the items before the first one.
struct SinkStart {
  /// Per array, with those extents that are the same for all items of the stream. Offsets are int64.
  std::vector<ArrayInfo> arrays;
  std::optional<std::int64_t> items;  ///< in all
};

struct SinkChunk {
  std::int64_t first = 0;  ///< number of its first item in the stream
  std::int64_t items = 0;  ///< one at least
  /// As in a SourceChunk: where all extents are the same for all items, items lie back to back; else by offsets,
  /// which are int64 and begin with 0, and, unless the array is ragged, with the extents of each item. Whoever keeps
  /// a pointer to these keeps what it points to. The memory of elements may be used again when `write` returns, but
  /// where `keeps` holds: there it is the same, and counts against the memory bound.
  std::vector<ArrayChunk> arrays;
  bool keeps = false;
};

/// One run's way into a sink. Calls come from one thread at a time (not always the same one), beside the computation
/// of further chunks. What it throws ends the run, and reaches the caller with its type. If it is destroyed without a
/// `commit`, nothing of what it was given remains anywhere.
class ANABRANCH_API SinkPass {
 public:
  virtual ~SinkPass();
  virtual void write(const SinkChunk& chunk) = 0;
  /// There are no more items: all that may fail is done here, so that a file is complete, but not yet in place.
  virtual void finish() = 0;
  /// Every sink of the run has finished, and the run has nothing more to do that could fail: puts the file in place.
  virtual void commit() = 0;
  /// Another sink of the run could not put its file in place: takes back what `commit` did, as far as that can be done.
  /// This pass may be one that has not committed, or whose `commit` threw.
  virtual void undo() noexcept {}
  /// Bytes that it holds, at its beginning, for the memory bound.
  virtual std::int64_t resident_bytes() const { return 0; }
  /// Whether memory of chunks that it has kept is with somebody who is going to give it back without being given more:
  /// the run waits for that where it is short of memory. Thread-safe.
  virtual bool waits_for_memory() const { return false; }
};

/// The untyped face of a sink. It may serve several runs, one after the other or at once, unless `begin` says no.
class ANABRANCH_API SinkBase {
 public:
  virtual ~SinkBase();
  virtual const SinkInfo& info() const = 0;
  virtual std::unique_ptr<SinkPass> begin(const SinkStart& start) = 0;
};

/// A sink for items of type A, an Array or a tuple of Arrays. Cheap to copy (one shared handle). Build one with the
/// functions of <anabranch/io.h>, or from a SinkBase of your own: the constructor checks that its declared types are
/// A's and throws ProgramError if they are not.
template <class A>
class Sink {
 public:
  explicit Sink(std::shared_ptr<SinkBase> sink);

  const SinkInfo& info() const { return sink_->info(); }
  const std::shared_ptr<SinkBase>& erased() const { return sink_; }

 private:
  std::shared_ptr<SinkBase> sink_;
};

namespace detail {
/// Throws ProgramError naming the sink and the first difference.
ANABRANCH_API void check_sink(const SinkInfo& info, const std::vector<std::vector<ScalarType>>& scalars,
                              const std::vector<int>& ranks);
/// The arrays of an item of type A.
template <class A>
std::vector<SinkArray> sink_arrays() {
  const auto scalars = ItemTypes<A>::scalars();
  const auto ranks = ItemTypes<A>::ranks();
  std::vector<SinkArray> arrays;
  for (std::size_t i = 0; i < ranks.size(); ++i) arrays.push_back({scalars[i], ranks[i]});
  return arrays;
}
}  // namespace detail

template <class A>
Sink<A>::Sink(std::shared_ptr<SinkBase> sink) : sink_(std::move(sink)) {
  detail::check_sink(sink_->info(), detail::ItemTypes<A>::scalars(), detail::ItemTypes<A>::ranks());
}

}  // namespace anabranch
