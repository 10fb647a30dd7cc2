#include "device/primitives.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <anabranch/error.h>

#include "device/table_version.h"

namespace anabranch::device {
namespace {

/// The folder of the object (library or program) that this code is part of, and of its sibling `lib`.
std::vector<std::string> places_to_look() {
  Dl_info here{};
  char resolved[PATH_MAX];
  std::string path;
  if (::dladdr(reinterpret_cast<const void*>(&places_to_look), &here) && here.dli_fname &&
      ::realpath(here.dli_fname, resolved))
    path = resolved;
  // The program's own name need not be a path; the system knows better.
  if (path.empty()) {
    const ssize_t n = ::readlink("/proc/self/exe", resolved, sizeof resolved - 1);
    if (n > 0) path.assign(resolved, static_cast<std::size_t>(n));
  }
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) throw BackendUnavailable("cuda: cannot find out where the library is");
  const std::string folder = path.substr(0, slash);
  return {folder + "/" + library_name, folder + "/../lib/" + library_name};
}

/// Never closed: the CUDA runtime inside has registered its kernels with the driver.
struct Library {
  const Table* table = nullptr;
  std::string path;

  Library() {
    std::string tried;
    void* library = nullptr;
    for (const auto& candidate : places_to_look()) {
      library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library) {
        path = candidate;
        break;
      }
      tried += std::string(tried.empty() ? "" : "; ") + ::dlerror();
    }
    if (!library) throw BackendUnavailable("cuda: cannot open the device primitives: " + tried);
    const auto find = [&](const char* symbol) {
      void* address = ::dlsym(library, symbol);
      if (!address) throw BackendUnavailable("cuda: " + path + " lacks " + symbol + "; reinstall Anabranch");
      return address;
    };
    if (reinterpret_cast<VersionFunction>(find(version_symbol))() != table_version())
      throw BackendUnavailable("cuda: " + path + " belongs to another version of Anabranch; reinstall it");
    table = reinterpret_cast<TableFunction>(find(table_symbol))();
  }
};

std::mutex path_mutex;
std::string opened_path;

}  // namespace

const Table& open_library() {
  static const Library library;  // a failed constructor is tried again by the next caller
  const std::lock_guard lock(path_mutex);
  opened_path = library.path;
  return *library.table;
}

std::string library_path() {
  const std::lock_guard lock(path_mutex);
  return opened_path;
}

Primitives Primitives::open() {
  const Table& table = open_library();
  int count = 0;
  const Status status = table.devices(&count);
  if (status != done) throw BackendUnavailable(std::string("cuda: no usable GPU: ") + table.text(status));
  if (count == 0) throw BackendUnavailable("cuda: this machine has no GPU");
  return Primitives(table);
}

Primitives Primitives::host() { return Primitives(host_table()); }

void Primitives::check(const char* what, Status status) const {
  if (status == done) return;
  const std::string message = std::string("cuda: ") + what + ": " + table_->text(status);
  if (status < 0) throw InternalError(message);
  throw RunError(message);
}

void Primitives::run(const Scan& what, Temporary& temporary, Stream stream) const {
  check("scan", table_->scan(&what, &temporary, stream));
}
void Primitives::run(const ScanByKey& what, Temporary& temporary, Stream stream) const {
  check("scan by key", table_->scan_by_key(&what, &temporary, stream));
}
void Primitives::run(const ReduceByKey& what, Temporary& temporary, Stream stream) const {
  check("reduce by key", table_->reduce_by_key(&what, &temporary, stream));
}
void Primitives::run(const SortPairs& what, Temporary& temporary, Stream stream) const {
  check("sort", table_->sort_pairs(&what, &temporary, stream));
}
void Primitives::run(const SegmentedSortPairs& what, Temporary& temporary, Stream stream) const {
  check("segmented sort", table_->segmented_sort_pairs(&what, &temporary, stream));
}
void Primitives::run(const Select& what, Temporary& temporary, Stream stream) const {
  check("select", table_->select(&what, &temporary, stream));
}
void Primitives::run(const SegmentedReduce& what, Temporary& temporary, Stream stream) const {
  check("segmented reduce", table_->segmented_reduce(&what, &temporary, stream));
}

}  // namespace anabranch::device
