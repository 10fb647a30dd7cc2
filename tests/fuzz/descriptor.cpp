#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include "read_all.h"
#include "support/filled_pipe.h"

/// libFuzzer: bytes that arrive at a pipe. The first one says what is made of them, the second how many items a chunk has
/// at most. Whatever they are, they are refused with one of our errors, or all items can be read.
namespace {

using namespace anabranch;

std::shared_ptr<SourceBase> source_of(std::uint8_t kind, int descriptor) {
  const io::DescriptorOptions options{.longest = 1000};
  switch (kind % 6) {
    case 0:
      return io::detail::lines_of(descriptor, options);
    case 1:
      return io::detail::words_of(descriptor, options);
    case 2:
      return io::detail::records_of(descriptor, {3, 2}, {ScalarType::int16, 1}, options);
    case 3:
      return io::detail::records_of(descriptor, {5}, {ScalarType::boolean, 1}, options);
    case 4:
      return io::detail::ragged_of(descriptor, 4, {ScalarType::float64, 1}, options);
    default:
      return io::detail::ragged_of(descriptor, 8, {ScalarType::float32, 2}, options);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const testing::FilledPipe pipe(data + 2, std::min<std::size_t>(size - 2, 64 << 10));
  try {
    fuzz::read_all(*source_of(data[0], pipe.out()), 1 + data[1] % 20);
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  return 0;
}
