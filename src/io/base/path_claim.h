#pragma once

#include <string>

#include <anabranch/error.h>

namespace anabranch::io::detail {

/// Another sink or writer of the process writes that file.
class PathTaken final : public RunError {
 public:
  using RunError::RunError;
};

/// A sink or writer writes the file of this path: as long as it lives no other one of the process does, since one of the two
/// files would replace the other.
class PathClaim {
 public:
  /// Throws PathTaken where another one has it.
  explicit PathClaim(const std::string& path);
  ~PathClaim();
  PathClaim(const PathClaim&) = delete;
  PathClaim& operator=(const PathClaim&) = delete;

 private:
  std::string path_;
};

}  // namespace anabranch::io::detail
