#pragma once

#include <string>
#include <vector>

#include "cuda/device.h"
#include "plan/plan.h"
#include "run/context/rearrangement.h"

/// Rearrangements of a plan, on device memory.
namespace anabranch::runtime {

/// What PlacedArray is on host memory.
struct DevicePlacedArray {
  std::vector<cuda::Address> components;
  device::Parts parts{};
};

/// Device addresses are numbers, but the device primitives take pointers.
template <class T>
T* device_pointer(cuda::Address address) {
  return reinterpret_cast<T*>(address);  // NOLINT: that is what they are
}

/// Why the host has to do it, if it reads an array of so many elements in so many parts; empty: it has not.
std::string why_not_on_device(const plan::RearrangeStep& step, std::int64_t elements, std::int64_t parts);
/// Another reason: arrays that should be of one size. The host says what is wrong.
inline constexpr const char* other_sizes = "it looks whether the arrays are of one size";
/// Whether it may fail. Then its device::Failure is written.
bool may_fail(const plan::RearrangeStep& step);

/// A rearrangement as the GPU is told of it.
struct DeviceRearrangement {
  std::vector<device::Column> columns;  ///< that the operation refers to
  device::Operation operation;
};
DeviceRearrangement device_rearrangement(const plan::RearrangeStep& step,
                                         const std::vector<DevicePlacedArray>& inputs,
                                         const std::vector<DevicePlacedArray>& outputs,
                                         cuda::Address failure);

/// Throws the RunError of a failure, if it is one, as run_rearrangement does.
void raise_failed(const plan::RearrangeStep& step, const device::Failure& failure,
                  const ir::ItemNumbers& items);

}  // namespace anabranch::runtime
