#pragma once

#include <vector>

#include "run/stage_output.h"

/// The results of a stage whose items are streamed out.
namespace anabranch::runtime {

/// Takes the parts of one chunk apart into items. An item's arrays are views of the part's.
class ItemResults final : public StageOutput {
 public:
  using StageOutput::StageOutput;
  std::vector<void*> room(int result, std::int64_t elements) override;
  void commit(PartShape shape) override;
  /// The items of all parts, one vector of arrays per item. What they need stays reserved until `clear`.
  void take(std::vector<std::vector<HostArray>>& items);
  /// Another chunk.
  void clear();

 private:
  struct Flat {
    HostArray array;
    scheduler::Reservation reservation;
  };
  void commit_result(std::size_t result, std::int64_t items, const PartShape::Result& shape, HostArray flat);

  std::vector<Flat> rooms_;  ///< per result, not committed
  std::vector<std::vector<HostArray>> items_;
  std::vector<std::int64_t> largest_;  ///< item of each result, in elements
  std::vector<scheduler::Reservation> reservations_;
};

}  // namespace anabranch::runtime
