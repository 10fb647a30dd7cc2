#pragma once

#include <string>

namespace anabranch::io::detail {

/// A sink or writer writes the file of this path: as long as it lives no other one of the process does, since one of the two
/// files would replace the other.
class PathClaim {
 public:
  /// Throws RunError where another one has it.
  explicit PathClaim(const std::string& path);
  ~PathClaim();
  PathClaim(const PathClaim&) = delete;
  PathClaim& operator=(const PathClaim&) = delete;

 private:
  std::string path_;
};

}  // namespace anabranch::io::detail
