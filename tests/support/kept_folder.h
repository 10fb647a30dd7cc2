#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace anabranch::testing {

/// A folder beside the user's other caches for what tests may find again, whichever checkout they are of; made where it is
/// not there. Empty: there is no place for it.
inline std::filesystem::path kept_folder(const std::string& name) {
  namespace fs = std::filesystem;
  for (const auto& [variable, below] : {std::pair("XDG_CACHE_HOME", ""), std::pair("HOME", ".cache")}) {
    const char* const folder = std::getenv(variable);
    if (folder == nullptr || !fs::path(folder).is_absolute()) continue;
    const fs::path kept = fs::path(folder) / below / "anabranch-tests" / name;
    std::error_code not_made;
    if (fs::create_directories(kept, not_made)) fs::permissions(kept, fs::perms::owner_all, not_made);
    if (::access(kept.c_str(), W_OK) == 0) return kept;
  }
  return {};
}

}  // namespace anabranch::testing
