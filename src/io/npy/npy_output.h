#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <anabranch/detail/io_erased.h>

#include "io/base/element_parts.h"
#include "io/base/file.h"
#include "io/base/path_claim.h"

namespace anabranch::io::detail {

/// An .npy file being written: elements follow a header whose shape is filled in at the end.
class NpyOutput {
 public:
  NpyOutput(const std::string& path, NpyElement what);

  const NpyElement element;
  std::int64_t count() const { return count_; }

  /// Elements as they lie in the file.
  void append(const void* elements, std::int64_t n);
  /// Elements whose parts lie apart.
  void append(const PartBytes& parts, std::int64_t n);
  /// Nothing more comes: it is on the disk, but not in place.
  void complete(std::span<const std::int64_t> shape);
  void commit();
  void commit_for_now();
  void undo() noexcept { file_.undo(); }

 private:
  std::int64_t element_bytes() const {
    return static_cast<std::int64_t>(size_of(element.type)) * element.parts;
  }

  PathClaim claim_;
  AtomicFile file_;
  BufferedWriter out_;
  std::int64_t count_ = 0;
};

}  // namespace anabranch::io::detail
