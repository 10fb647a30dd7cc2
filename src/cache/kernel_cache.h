#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cache/private_folder.h"
#include "cache/settings.h"

/// Compiled kernels on disk, one file each, shared by the processes of one user.
///
/// A key is a text that says everything on which an image depends, and an image is found by exactly its key.
/// Entries are written beside their place and renamed, so that processes need no locks; what is damaged, cut
/// off, or of another key or layout is not found, hence compiled and written again.
///
/// A cache that cannot be used, or not be written to, is no error: nothing is found, or nothing is kept.
namespace anabranch::cache {

/// What is in a cache, and what keeps it from working: for `doctor`.
struct Inventory {
  std::string folder;
  std::string why_not;         ///< not empty: it is not used
  std::string why_not_stored;  ///< not empty: what is there is used, but nothing can be added
  std::int64_t entries = 0, bytes = 0;
  std::int64_t bound = 0;
};

/// Thread-safe.
class KernelCache {
 public:
  explicit KernelCache(Settings settings) : settings_(std::move(settings)) {}

  /// Whether it was switched off, or the environment left no place for it.
  bool off() const { return !settings_.why_not.empty(); }

  std::optional<std::string> find(const std::string& key) const;
  /// Evicts the least recently used entries where there is no room.
  void store(const std::string& key, const std::string& image);
  /// Tries to write something, too.
  Inventory inventory() const;

 private:
  void make_room(const PrivateFolder& folder, std::int64_t bytes);

  const Settings settings_;
  std::mutex mutex_;
  /// Bytes in the folder, as far as is known: counted once, then what this process added. Others add, too, so
  /// the bound is exceeded by what they added since.
  std::optional<std::int64_t> held_;
};

/// The cache of this process, with the environment's settings when it was first asked for.
std::shared_ptr<KernelCache> kernel_cache();
/// Replaces it from now on; null: as the environment says (tests).
void set_kernel_cache(std::shared_ptr<KernelCache> cache);

}  // namespace anabranch::cache
