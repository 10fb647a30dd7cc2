#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <anabranch/array.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include <anabranch/detail/io_erased.h>
#include <anabranch/io/npy.h>

/// Vectors of different lengths in a pair of files: `x.offsets.npy`, a vector of int32 or int64 that begins with
/// 0 and never falls, and `x.values.npy`, the elements of all vectors. Vector i is values[offsets[i]] up to, not
/// with, values[offsets[i + 1]]; so there is one offset more than there are vectors. (Awkward Array calls this a
/// ListOffsetArray, Arrow a list.)
namespace anabranch::io {

struct RaggedOptions {
  bool convert = false;  ///< accept values of another type and convert (float, double only)
  /// Bytes the source may hold, and the largest chunk it gives. A vector that needs more is refused
  /// (ResourceError) before it is allocated.
  std::int64_t memory = std::int64_t{256} << 20;
};

/// The vectors of the pair `prefix`.offsets.npy and `prefix`.values.npy as a stream. Types, sizes and the first
/// and last offset are checked when it is opened, all other offsets as they are read, before anyone uses them. The files may be larger than
/// memory; several threads may read pieces at once. May be rewound. Files that are written to while they are
/// read give a DataError with the last chunk.
///
/// Throws DataError, IoError, ResourceError.
template <NpyValue T>
Source<Vector<T>> open_ragged(const std::string& prefix, const RaggedOptions& options = {}) {
  return Source<Vector<T>>(detail::open_ragged(prefix, detail::npy_element<T>, options));
}

/// What `write_ragged` gives: a sink for vectors of whichever type an .npy file may hold.
class RaggedFiles {
 public:
  explicit RaggedFiles(std::string prefix) : prefix_(std::move(prefix)) {}

  template <NpyValue T>
  operator Sink<Vector<T>>() const {  // NOLINT(google-explicit-constructor): of whichever items are written
    return Sink<Vector<T>>(detail::ragged_sink(prefix_, detail::npy_element<T>));
  }

 private:
  std::string prefix_;
};

/// Where `write` puts vectors of any lengths: the pair `prefix`.offsets.npy (int64) and `prefix`.values.npy, which
/// `open_ragged` reads. Both are complete before the first is put in place. Throws IoError.
inline RaggedFiles write_ragged(std::string prefix) { return RaggedFiles(std::move(prefix)); }

}  // namespace anabranch::io
