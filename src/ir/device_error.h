#pragma once

#include <anabranch/error.h>

namespace anabranch::ir {

/// A device has failed: what is computed on it is at no fault, and is not tried again.
class DeviceError final : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace anabranch::ir
