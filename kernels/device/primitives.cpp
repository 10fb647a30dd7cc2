#include "device/primitives.h"

#include <mutex>

#include <anabranch/error.h>

#include "device/table_version.h"
#include "system/sibling_library.h"

namespace anabranch::device {
namespace {

struct Library {
  system::SiblingLibrary library{"cuda", "the device primitives", library_name};
  const Table* table = nullptr;

  Library() {
    library.require_version(version_symbol, table_version());
    table = library.function<TableFunction>(table_symbol)();
  }
};

std::mutex path_mutex;
std::string opened_path;

}  // namespace

const Table& open_library() {
  static const Library opened;  // a failed constructor is tried again by the next caller
  const std::lock_guard lock(path_mutex);
  opened_path = opened.library.path();
  return *opened.table;
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

void Primitives::run(const SortPairs& what, Temporary& temporary, Stream stream) const {
  check("sort", table_->sort_pairs(&what, &temporary, stream));
}
void Primitives::run(const SegmentedSortPairs& what, Temporary& temporary, Stream stream) const {
  check("segmented sort", table_->segmented_sort_pairs(&what, &temporary, stream));
}
void Primitives::run(const Select& what, Temporary& temporary, Stream stream) const {
  check("select", table_->select(&what, &temporary, stream));
}
void Primitives::run(const ItemOffsets& what, Temporary& temporary, Stream stream) const {
  check("offsets of items", table_->item_offsets(&what, &temporary, stream));
}

}  // namespace anabranch::device
