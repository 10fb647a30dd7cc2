#include <cub/device/device_select.cuh>

#include "device/calls.h"

namespace anabranch::device {

Status select(const Select* what, Temporary* temporary, Stream stream) {
  return select_types(*what, [&]<class T>(T) {
    return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(storage, bytes, at<T>(what->from), what->flags, at<T>(what->to),
                                        what->selected, what->count, cuda(stream));
    });
  });
}

}  // namespace anabranch::device
