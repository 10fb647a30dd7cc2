#pragma once

#include <cstdint>
#include <vector>

#include "ir/make.h"

/// Items that follow each other, as arrays: what functions of several items at once take.
namespace anabranch::ir {

/// Of items that are single arrays. The parameters hold them: how many they are (a Scalar<int64>); the elements of all of
/// them, a vector; where each begins there; and for each dimension the extents of each (vectors of int64).
class Batch {
 public:
  explicit Batch(const ArrayType& item, const Place& place = {});

  const std::vector<Ref>& parameters() const { return parameters_; }
  Ref count() const;
  /// Item k, where the items that are asked for one after the other `follow` each other in the batch, or not.
  Ref item(const Ref& k, bool follow) const;
  /// All of them.
  Ref sequence() const;

 private:
  ArrayType item_;
  Place place_;
  std::vector<Ref> parameters_;
};

/// A function of `items` that gives the items f(0, 1), f(2, 3), ... of a batch of an even number: their elements as one
/// vector, and for each dimension their extents.
Ref pairs_of_batch(const Batch& items, const Ref& f, const Place& place);

/// Where fold_batch cuts a sequence: a batch ends with the item with which it has that many elements, or items.
inline constexpr std::int64_t batch_elements = std::int64_t{1} << 20;
inline constexpr std::int64_t batch_items = std::int64_t{1} << 17;

}  // namespace anabranch::ir
