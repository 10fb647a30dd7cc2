#pragma once

#include <cstdint>

namespace anabranch::apps {

/// The most memory of this process that was resident so far, in bytes; 0 where the system does not tell.
std::int64_t peak_resident_bytes();

}  // namespace anabranch::apps
