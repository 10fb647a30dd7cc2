#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/detail/range_source.h>
#include <anabranch/source.h>

/// Items that a caller pushes, as a source.
namespace anabranch::runtime {

/// Thrown by PushedItems::next: nothing has been pushed that has not been given, and more may come.
class NothingPushed {};

class PushedItems final : public SourceBase {
 public:
  /// An item has an array for each of these.
  PushedItems(const std::vector<std::vector<ScalarType>>& scalars, const std::vector<int>& ranks, Place at);

  /// All items are kept: they pass as often as it is rewound, when they have ended.
  void keep_all() { info_.rewindable = true; }
  /// Copies it. With more than so many bytes of memory, ItemTooBig.
  void push(std::span<const std::shared_ptr<detail::ArrayData>> item, std::int64_t memory);
  /// There will be no more.
  void end() { ended_ = true; }
  bool ended() const { return ended_; }
  /// That have been pushed and not been given.
  std::int64_t items() const;
  std::int64_t bytes() const;
  /// Bytes that another item takes.
  static std::int64_t bytes_of(std::span<const std::shared_ptr<detail::ArrayData>> item);

  const SourceInfo& info() const override { return info_; }
  /// All that have been pushed, as far as the limit allows.
  bool next(const Limit& limit, SourceChunk& chunk) override;
  void rewind() override { next_ = 0; }

 private:
  void pack();

  SourceInfo info_;
  Place at_;
  std::vector<std::unique_ptr<detail::ItemPacker>> packers_;  ///< per array of an item
  SourceChunk packed_;                                        ///< to be given
  std::int64_t next_ = 0;                                     ///< the first of them that has not been
  std::int64_t number_ = 0;                                   ///< of the next item
  bool ended_ = false;
};

}  // namespace anabranch::runtime
