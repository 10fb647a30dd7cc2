#pragma once

#include <string>

#include "device/table.h"

/// Primitives on device memory, from libanabranch-device, or on host memory.
namespace anabranch::device {

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

  void run(const SortPairs& what, Temporary& temporary, Stream stream = nullptr) const;
  void run(const SegmentedSortPairs& what, Temporary& temporary, Stream stream = nullptr) const;
  void run(const Select& what, Temporary& temporary, Stream stream = nullptr) const;
  void run(const ItemOffsets& what, Temporary& temporary, Stream stream = nullptr) const;

  const Table& table() const { return *table_; }

 private:
  void check(const char* what, Status status) const;

  const Table* table_;
};

const Table& host_table();

/// The library, opened and its version checked, whether or not there is a GPU. Throws BackendUnavailable.
const Table& open_library();
std::string library_path();  ///< of the library that was opened; empty before

}  // namespace anabranch::device
