#include "system/sibling_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include <anabranch/error.h>

namespace anabranch::system {
namespace {

/// The path of the object that this code is part of; empty where it cannot be found out.
std::string path_of_this_object() {
  char path[PATH_MAX];
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&path_of_this_object), &here) && here.dli_fname &&
      ::realpath(here.dli_fname, path))
    return path;
  // The program's own name need not be a path; the system knows better.
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

SiblingLibrary::SiblingLibrary(const char* backend, const char* what, const char* file)
    : backend_(std::string(backend) + ": ") {
  std::string tried;
  for (const std::string& candidate : candidates(file)) {
    path_ = candidate;
    handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    const std::string why = ::dlerror();
    // The dynamic linker has no error numbers.
    if (why.find("failed to map segment") != std::string::npos ||
        why.find("allocate memory") != std::string::npos)
      throw ResourceError(backend_ + "no memory for " + what + ": " + why);
    tried += (tried.empty() ? "" : "; ") + why;
  }
  if (tried.empty()) throw BackendUnavailable(backend_ + "cannot find out where the library is");
  throw BackendUnavailable(backend_ + "cannot open " + what + ": " + tried);
}

std::vector<std::string> SiblingLibrary::candidates(const char* file) {
  const std::string here = path_of_this_object();
  const auto slash = here.rfind('/');
  if (slash == std::string::npos) return {};
  const std::string folder = here.substr(0, slash + 1);
  return {folder + file, folder + "../lib/" + file};
}

void SiblingLibrary::require_version(const char* symbol, std::uint64_t ours) const {
  if (function<VersionFunction>(symbol)() != ours)
    throw BackendUnavailable(backend_ + path_ + " belongs to another version of Anabranch; reinstall it");
}

void* SiblingLibrary::address(const char* symbol) const {
  void* address = ::dlsym(handle_, symbol);
  if (!address) throw BackendUnavailable(backend_ + path_ + " lacks " + symbol + "; reinstall Anabranch");
  return address;
}

}  // namespace anabranch::system
