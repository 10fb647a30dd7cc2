#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anabranch::system {

/// A library of ours that is opened at run time. It is looked for beside the object (library or program) that
/// this code is part of, and in the `lib` folder next to that one's folder; nowhere else, never in the
/// current directory. It is never closed: LLVM's static state or the kernels that the CUDA runtime has
/// registered live in it.
class SiblingLibrary {
 public:
  /// `backend` and `what` are for messages, as in "cpu: cannot open the code generator". Throws
  /// BackendUnavailable where the library is not there, ResourceError where there is no memory for it.
  SiblingLibrary(const char* backend, const char* what, const char* file);

  /// Throws BackendUnavailable unless the VersionFunction `symbol` gives `ours`. Both sides compute their
  /// version from their headers.
  using VersionFunction = std::uint64_t (*)();
  void require_version(const char* symbol, std::uint64_t ours) const;

  /// A function of the library. Throws BackendUnavailable where there is none of this name.
  template <class Function>
  Function function(const char* symbol) const {
    return reinterpret_cast<Function>(address(symbol));
  }

  const std::string& path() const { return path_; }

  /// The paths that are tried, in this order; none where it cannot be found out where this code is.
  static std::vector<std::string> candidates(const char* file);

 private:
  void* address(const char* symbol) const;

  std::string backend_, path_;
  void* handle_ = nullptr;
};

}  // namespace anabranch::system
