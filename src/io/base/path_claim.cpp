#include "io/base/path_claim.h"

#include <filesystem>
#include <mutex>
#include <set>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/file.h"

namespace anabranch::io::detail {
namespace {

struct Claims {
  std::mutex mutex;
  std::set<std::string> paths;
};
/// Never destroyed: runs may end after any destructor here.
Claims& claims() {
  static auto* all = new Claims;
  return *all;
}

/// However it is spelled, where an AtomicFile of this path will be. Where the system does not tell, as it stands.
std::string canonical(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(followed(path), failed);
  const std::filesystem::path all = std::filesystem::weakly_canonical(absolute, failed);
  return failed ? path : all.string();
}

}  // namespace

PathClaim::PathClaim(const std::string& path) : path_(canonical(path)) {
  const std::lock_guard lock(claims().mutex);
  if (!claims().paths.insert(path_).second)
    throw PathTaken(
        fmt::format("{}: another sink or writer is writing this file; give each a file of its own", path));
}

PathClaim::~PathClaim() {
  const std::lock_guard lock(claims().mutex);
  claims().paths.erase(path_);
}

}  // namespace anabranch::io::detail
