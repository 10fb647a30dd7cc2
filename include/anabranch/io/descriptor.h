#pragma once

#include <cstdint>
#include <string>

#include <anabranch/array.h>
#include <anabranch/source.h>

#include <anabranch/detail/io_erased.h>
#include <anabranch/io/npy.h>

/// Streams from open file descriptors: pipes, sockets, terminals. They are live (docs/scheduler.md, "Live sources"): an
/// item is there when its last byte is; with `stream_out` its result comes before the next one is waited for. They give
/// their items once. A request to stop acts while a source waits. What the system refuses is an IoError.
///
/// Nobody else may read from the descriptor meanwhile, and what has been read beyond the last item that a program took
/// is gone.
namespace anabranch::io {

struct DescriptorOptions {
  bool close = false;     ///< the source closes the descriptor at its end, or when it is destroyed
  std::string name = {};  ///< in messages; empty: "descriptor 3"
  /// Bytes of an item. A longer one is a DataError that names it; nothing is allocated for what has not arrived.
  std::int64_t longest = std::int64_t{16} << 20;
};

/// Lines and words as those of a file (<anabranch/io/text.h>).
inline Source<Vector<std::uint8_t>> lines_of(int descriptor, const DescriptorOptions& options = {}) {
  return Source<Vector<std::uint8_t>>(detail::lines_of(descriptor, options));
}
inline Source<Vector<std::uint8_t>> words_of(int descriptor, const DescriptorOptions& options = {}) {
  return Source<Vector<std::uint8_t>>(detail::words_of(descriptor, options));
}

/// Records of one shape: the elements in row-major order, little-endian, one record behind the other; complex numbers
/// with their parts side by side. A stream that ends in the middle of a record is a DataError that names it.
template <NpyValue T, int N>
Source<Array<N, T>> records_of(int descriptor, const Index<N>& shape, const DescriptorOptions& options = {}) {
  return Source<Array<N, T>>(
      detail::records_of(descriptor, {shape.at.begin(), shape.at.end()}, detail::npy_element<T>, options));
}

/// How the number of elements of a record is written before them.
enum class LengthPrefix : std::uint8_t { uint32, uint64 };  ///< little-endian

/// Vectors of different lengths: of each the number of its elements, then these.
template <NpyValue T>
Source<Vector<T>> ragged_of(int descriptor, LengthPrefix prefix = LengthPrefix::uint32,
                            const DescriptorOptions& options = {}) {
  return Source<Vector<T>>(
      detail::ragged_of(descriptor, prefix == LengthPrefix::uint32 ? 4 : 8, detail::npy_element<T>, options));
}

}  // namespace anabranch::io
