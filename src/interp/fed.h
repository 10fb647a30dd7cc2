#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "interp/readings.h"

/// Sequences that have other items than those they are made of (ir/make.h): one item after the other.
namespace anabranch::interp {

class FedItems {
 public:
  virtual ~FedItems() = default;
  /// The next item; false at the end, after which it is not called again.
  virtual bool next(std::vector<HostArray>& item) = 0;
  /// How many there are in all, where that is known beforehand.
  virtual std::optional<std::int64_t> length() const { return std::nullopt; }
};

/// `reader`: as of a Pass.
std::unique_ptr<FedItems> open_fed(Machine& machine, Evaluator::Number sequence, const ir::Node& reader,
                                   const std::shared_ptr<Readings>& readings);

}  // namespace anabranch::interp
