#include <cub/device/device_scan.cuh>

#include <cuda/std/functional>

#include "device/calls.h"

namespace anabranch::device {
namespace {

template <class In, class Out, class Op>
cudaError_t call(const Scan& what, Op op, void* storage, std::size_t& bytes, cudaStream_t stream) {
  const In* from = at<In>(what.from);
  Out* to = at<Out>(what.to);
  if (what.inclusive) return cub::DeviceScan::InclusiveScan(storage, bytes, from, to, op, what.count, stream);
  return cub::DeviceScan::ExclusiveScan(storage, bytes, from, to, op, identity<Out>(what.op), what.count,
                                        stream);
}

}  // namespace

Status scan(const Scan* what, Temporary* temporary, Stream stream) {
  return scan_types(*what, [&]<class In, class Out>(In, Out) {
    return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
      // Sums of integers are what offsets are made of: CUB has its own tuning for its own plus.
      if constexpr (std::is_integral_v<Out>)
        if (what->op == Operator::plus)
          return call<In, Out>(*what, cuda::std::plus<Out>{}, storage, bytes, cuda(stream));
      if constexpr (std::is_same_v<In, Out>)
        return call<In, Out>(*what, Apply<Out>{what->op}, storage, bytes, cuda(stream));
      else
        return cudaErrorInvalidValue;
    });
  });
}

}  // namespace anabranch::device
