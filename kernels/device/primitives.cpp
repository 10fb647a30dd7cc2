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

namespace {

/// What the table calls for it, and what messages call it.
template <class What>
struct Entry {
  Status (*Table::*function)(const What*, Temporary*, Stream);
  const char* name;
};
constexpr Entry<Sort> entry_of(const Sort&) { return {&Table::sort, "sort"}; }
constexpr Entry<Select> entry_of(const Select&) { return {&Table::select, "select"}; }
constexpr Entry<Group> entry_of(const Group&) { return {&Table::group, "group"}; }
constexpr Entry<LastAt> entry_of(const LastAt&) { return {&Table::last_at, "last at each place"}; }
constexpr Entry<Accumulate> entry_of(const Accumulate&) { return {&Table::accumulate, "accumulate"}; }
constexpr Entry<Repeat> entry_of(const Repeat&) { return {&Table::repeat, "repeat"}; }
constexpr Entry<ItemOffsets> entry_of(const ItemOffsets&) {
  return {&Table::item_offsets, "offsets of items"};
}

}  // namespace

Status call(const Table& table, const Operation& what, Temporary& temporary, Stream stream) {
  return std::visit(
      [&](const auto& one) { return (table.*entry_of(one).function)(&one, &temporary, stream); }, what);
}

const char* name_of(const Operation& what) {
  return std::visit([](const auto& one) { return entry_of(one).name; }, what);
}

void Primitives::run(const Operation& what, Temporary& temporary, Stream stream) const {
  const Status status = call(*table_, what, temporary, stream);
  if (status == done) return;
  const std::string message = std::string("cuda: ") + name_of(what) + ": " + table_->text(status);
  if (status < 0) throw InternalError(message);
  throw RunError(message);
}

}  // namespace anabranch::device
