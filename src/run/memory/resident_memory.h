#pragma once

#include <cstdint>

/// How much memory of this process is resident. Thread-safe.
namespace anabranch::runtime {

/// Bytes; 0 where the system does not tell. Cheap enough to be asked after every chunk, and in every run of a few
/// microseconds: the system is asked every 2 ms at most, else it is what it last said.
std::int64_t resident_memory() noexcept;
/// The most there was in the life of the process; 0 where the system does not tell. The system is asked each time.
std::int64_t peak_resident_memory() noexcept;

}  // namespace anabranch::runtime
