#pragma once

#include <cstdint>

/// How much memory of this process is resident.
namespace anabranch::runtime {

/// Cheap enough to be asked after every chunk: the system is asked every 2 ms only.
class ResidentMemory {
 public:
  ResidentMemory() = default;
  ~ResidentMemory();
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;

  /// Bytes; 0 where the system does not tell. `now_ns`: of one clock, never earlier than before.
  std::int64_t at(std::int64_t now_ns) noexcept;
  /// The most there was in the life of the process; 0 where the system does not tell.
  static std::int64_t peak() noexcept;

 private:
  int file_ = -1;  ///< /proc/self/statm
  bool opened_ = false;
  std::int64_t next_ns_ = INT64_MIN;
  std::int64_t bytes_ = 0;
};

}  // namespace anabranch::runtime
