#pragma once

#include <memory>
#include <utility>

#include "cache/kernel_cache.h"
#include "support/files.h"

namespace anabranch::testing {

/// While it lives, this process keeps its kernels in a folder of its own.
class OwnKernelCache {
 public:
  OwnKernelCache() {
    cache::Settings settings;
    settings.folder = folder_.path();
    cache::set_kernel_cache(std::make_shared<cache::KernelCache>(std::move(settings)));
  }
  ~OwnKernelCache() { cache::set_kernel_cache(nullptr); }
  OwnKernelCache(const OwnKernelCache&) = delete;
  OwnKernelCache& operator=(const OwnKernelCache&) = delete;

  int entries() const { return folder_.files(); }
  /// Of its only entry.
  std::string path() const { return std::filesystem::directory_iterator(folder_.path())->path(); }

 private:
  TemporaryDirectory folder_;
};

}  // namespace anabranch::testing
