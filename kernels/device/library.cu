#include "device/calls.h"
#include "device/table_version.h"

namespace anabranch::device {
namespace {

Status devices(int* count) {
  *count = 0;
  return static_cast<Status>(cudaGetDeviceCount(count));
}

const char* text(Status status) {
  const char* known = text_of(status);
  return known ? known : cudaGetErrorString(static_cast<cudaError_t>(status));
}

constexpr Table table{devices,         text,        call_sort,   call_select, call_group, call_last_at,
                      call_accumulate, call_repeat, item_offsets};

}  // namespace
}  // namespace anabranch::device

extern "C" {

__attribute__((visibility("default"))) std::uint64_t anabranch_device_version() {
  return anabranch::device::table_version();
}

__attribute__((visibility("default"))) const anabranch::device::Table* anabranch_device_table() {
  return &anabranch::device::table;
}
}
