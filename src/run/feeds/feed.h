#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "run/chunks/chunk_layout.h"
#include "run/feeds/feeding_stage.h"

/// What all sources that other stages feed have in common.
namespace anabranch::runtime {

/// What one of them is made for. All that is referred to lives as long as the run.
struct FeedWork {
  RunContext& context;
  const ir::Node& node;                  ///< the sequence
  std::vector<std::int64_t> uniforms{};  ///< its operands that are elements
  std::vector<HostArray> arrays{};       ///< and those that are arrays
  std::vector<ArrayInfo> infos{};        ///< of its items
  bool overlap = false;                  ///< these may lie over each other (plan::FedArray)
  bool by_chunk = false;                 ///< its function takes all items of a chunk
  bool live = false;                     ///< one of the streams that it reads, now or later, is
  bool bounded = false;    ///< so many items are taken of it, or of what is made of it (take_seq)
  ApplyFunction apply{};   ///< its function
  PlacesOfItems places{};  ///< where its items may be put; null: anywhere
  /// Makes stage i of those that feed it.
  std::function<std::unique_ptr<FeedingStage>(std::size_t i)> stage{};
};

/// Gives the items that a derived class chooses of chunks, in chunks as large as the reader wants them: whole ones as they are,
/// else copies.
class Feed : public SourceBase {
 public:
  explicit Feed(const FeedWork& work);
  const SourceInfo& info() const final { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) final;

 protected:
  /// The next items of which some are the feed's own: which ones, in order. False at the end.
  virtual bool pull(const Limit& limit, SourceChunk& items, std::vector<ItemRange>& own) = 0;

  RunContext& context_;
  SourceInfo info_;  ///< derived classes say what they know of it

 private:
  bool refill(const Limit& limit);
  bool pull_some(const Limit& limit);
  bool is_enough(const Limit& limit) const;
  bool is_half(const Limit& limit) const;
  bool take_all(const Limit& limit);
  bool take_some(const Limit& limit, SourceChunk& chunk);
  bool may_copy(std::int64_t item, std::int64_t memory) const;

  ChunkBuilder builder_;
  SourceChunk items_;           ///< what has been pulled
  std::vector<ItemRange> own_;  ///< and is the feed's,
  std::size_t given_ = 0;       ///< but for the first so many, which have been given
  bool over_ = false;
  std::exception_ptr failed_;  ///< of the latest pull
};

/// The stages of `work.node`'s sequences, whose chunks are laid out as its items are.
class FedChunks {
 public:
  FedChunks(const FeedWork& work, std::size_t stage);
  bool next(const Limit& limit, SourceChunk& chunk);
  const FeedingStage& stage() const { return *stage_; }

 private:
  std::unique_ptr<FeedingStage> stage_;
  std::vector<ArrayInfo> infos_;  ///< of its chunks, as they are given
};

std::shared_ptr<SourceBase> make_windows(const FeedWork& work);
std::shared_ptr<SourceBase> make_map_accum(const FeedWork& work);

}  // namespace anabranch::runtime
