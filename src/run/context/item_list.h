#pragma once

#include <vector>

#include "ir/extents.h"
#include "run/context/results.h"

/// Arrays of one type, one after the other in flat memory: what functions of several items at once are given (ir/batch.h).
namespace anabranch::runtime {

/// A vector of these elements, which somebody else keeps.
HostArray vector(const ir::Scalars& scalars, const std::vector<const void*>& components,
                 std::int64_t elements);
/// One number.
HostArray scalar(std::int64_t number);

/// Copies of items.
class ItemList {
 public:
  explicit ItemList(const ir::ArrayType& type);

  std::int64_t items() const { return std::ssize(begins_); }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const;
  /// Items [begin, end) of some that lie back to back at these addresses, one for each component; `first`: the elements before
  /// the first of them. How many there are before those behind.
  std::int64_t append(const std::vector<const void*>& components, const ir::ItemExtents& extents,
                      std::int64_t begin, std::int64_t end, std::int64_t first);
  /// Where the elements lie, per component; and the extents of each item, per dimension.
  std::vector<const void*> components() const;
  const ir::ItemExtents& extents() const { return extents_; }
  /// Does the array lie in these items' memory?
  bool holds(const detail::ArrayData& array) const;
  void clear();
  /// What a function of a batch takes, of all items. They must be kept until it has run.
  std::vector<HostArray> arguments() const;

 private:
  ir::ArrayType type_;
  std::int64_t width_ = 0;
  std::vector<std::vector<std::byte>> data_;  ///< per component
  std::vector<std::int64_t> begins_;          ///< of each item, in elements
  ir::ItemExtents extents_;                   ///< per dimension, of each item
  std::int64_t elements_ = 0;
};

}  // namespace anabranch::runtime
