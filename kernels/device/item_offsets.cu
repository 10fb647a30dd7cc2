#include <cub/device/device_scan.cuh>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <iterator>

#include "device/calls.h"

namespace anabranch::device {
namespace {

struct TotalsOfItem {
  ItemOffsets what;
  ANABRANCH_BOTH ItemTotals operator()(std::int64_t item) const {
    const std::int64_t size = item_size(what, item);
    return {size, size};
  }
};

/// Stores the scan's results: the totals of the items up to and including one.
class StoreTotals {
 public:
  struct Place {
    std::int64_t* offset;  ///< of the next item
    ItemTotals* totals;    ///< null: there are more items
    bool first;
    __device__ void operator=(ItemTotals upto) const {
      if (first) offset[-1] = 0;
      *offset = upto.elements;
      if (totals) *totals = upto;
    }
  };
  using difference_type = std::int64_t;
  using value_type = void;
  using pointer = void;
  using reference = Place;
  using iterator_category = std::random_access_iterator_tag;

  explicit StoreTotals(const ItemOffsets& what)
      : offsets_(what.offsets), totals_(what.totals), count_(what.count) {}
  __device__ StoreTotals operator+(std::int64_t n) const {
    StoreTotals moved = *this;
    moved.at_ += n;
    return moved;
  }
  __device__ Place operator[](std::int64_t n) const {
    const std::int64_t item = at_ + n;
    return {offsets_ + item + 1, item + 1 == count_ ? totals_ : nullptr, item == 0};
  }

 private:
  std::int64_t* offsets_;
  ItemTotals* totals_;
  std::int64_t count_, at_ = 0;
};

cudaError_t no_items(const ItemOffsets& what, cudaStream_t stream) {
  const cudaError_t first = cudaMemsetAsync(what.offsets, 0, sizeof *what.offsets, stream);
  return first != cudaSuccess ? first : cudaMemsetAsync(what.totals, 0, sizeof *what.totals, stream);
}

}  // namespace

Status item_offsets(const ItemOffsets* what, Temporary* temporary, Stream stream) {
  if (const Status status = check_rank(*what); status != done) return status;
  return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
    if (what->count == 0 && storage) return no_items(*what, cuda(stream));
    const auto sizes =
        thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), TotalsOfItem{*what});
    return cub::DeviceScan::InclusiveScan(storage, bytes, sizes, StoreTotals(*what), JoinTotals{},
                                          what->count, cuda(stream));
  });
}

}  // namespace anabranch::device
