#pragma once

#include <string>
#include <variant>

#include <anabranch/scalar.h>

#include "device/table.h"

/// Primitives on device memory, from libanabranch-device, or on host memory.
namespace anabranch::device {

/// How elements of the type are to be read.
constexpr Element element_of(ScalarType type) {
  using anabranch::detail::ScalarKind;
  const ScalarKind kind = anabranch::detail::scalar_info(type).kind;
  return {kind == ScalarKind::floating         ? Element::Kind::floating
          : kind == ScalarKind::signed_integer ? Element::Kind::signed_integer
                                               : Element::Kind::unsigned_integer,
          static_cast<std::int32_t>(size_of(type))};
}

using Operation = std::variant<Sort, Select, Group, LastAt, Accumulate, Repeat, ItemOffsets>;
/// Calls the table's function for it.
Status call(const Table& table, const Operation& what, Temporary& temporary, Stream stream);
/// For messages: "sort".
const char* name_of(const Operation& what);

/// The functions of a table, with errors as exceptions.
/// A call with `temporary.at` null only sets `temporary.bytes`.
class Primitives {
 public:
  explicit Primitives(const Table& table) : table_(&table) {}

  /// The GPU's: opens libanabranch-device, once per process. They work in the context that is current on the
  /// calling thread, which must be the device's primary one. Throws BackendUnavailable where the library is
  /// not there or belongs to another version, or where there is no GPU.
  static Primitives open();
  /// Plain loops over host memory, for tests and for a simulated GPU.
  /// Streams are ignored: a call returns when all is done.
  static Primitives host();

  void run(const Operation& what, Temporary& temporary, Stream stream = nullptr) const;

  const Table& table() const { return *table_; }

 private:
  const Table* table_;
};

const Table& host_table();

/// The library, opened and its version checked, whether or not there is a GPU. Throws BackendUnavailable.
const Table& open_library();
std::string library_path();  ///< of the library that was opened; empty before

}  // namespace anabranch::device
