#pragma once

#include <vector>

#include "run/context/stage_output.h"

/// The results of a stage whose items are streamed out.
namespace anabranch::runtime {

/// The results of one chunk, laid out flat, from which items are taken one by one.
class ItemResults final : public StageOutput {
 public:
  using StageOutput::StageOutput;
  std::vector<void*> room(int result, std::int64_t elements) override;
  void commit(PartShape shape) override;
  /// There will be no more; parts may have come in any order. Of several items, the one that is taken is copied: reserves memory for it, or throws
  /// BudgetExceeded.
  void close();

  /// That have not been taken.
  std::int64_t items() const { return items_; }
  /// Of the memory bound, as long as this lives.
  std::int64_t bytes() const;
  /// The arrays of the next item, one per result. They own their elements, and none keeps more than its own.
  void take(std::vector<HostArray>& item);

 private:
  struct Flat {
    HostArray array;  ///< the elements of all items
    std::vector<std::vector<std::int64_t>> extents;
    std::int64_t position = 0;  ///< of the next item's first element
  };
  struct Part {
    std::int64_t first = 0, items = 0;
    std::vector<Flat> results;
  };
  static std::vector<std::int64_t> extents_of(const Flat& flat, std::int64_t item);
  HostArray taken(const Flat& flat, std::int64_t item) const;

  std::vector<HostArray> rooms_;  ///< per result, not committed
  std::vector<scheduler::Reservation> room_reservations_;
  std::vector<Part> parts_;
  std::vector<scheduler::Reservation> reservations_;
  std::int64_t committed_ = 0, items_ = 0;
  std::size_t part_ = 0;  ///< of the next item
  std::int64_t in_part_ = 0;
};

}  // namespace anabranch::runtime
