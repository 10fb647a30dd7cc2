#include <cstddef>
#include <cstdint>
#include <memory>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include "io/audio/audio_source.h"
#include "io/npy/npy_rows.h"
#include "io/ragged/ragged_files.h"
#include "io/text/text_source.h"
#include "read_all.h"

/// libFuzzer: bytes as a file whose items are streamed; the first one says of which kind. Whatever they are, the file is
/// refused with one of our errors, or all of its items can be read, and lie where their chunk says.
/// (CONTRIBUTING.md, "Test", says how to build it.)
namespace {

using namespace anabranch;
using io::detail::memory_file;

std::shared_ptr<SourceBase> opened(std::uint8_t kind, std::vector<unsigned char> bytes) {
  constexpr std::int64_t memory = 1 << 20;
  const auto file = [&] { return memory_file("input", bytes); };
  switch (kind % 6) {
    case 0:
      return io::detail::open_npy_rows(file(), 2, {ScalarType::float64, 1},
                                       {.convert = true, .memory = memory});
    case 1:
      return io::detail::open_npy_rows(file(), 3, {ScalarType::float32, 2},
                                       {.convert = true, .memory = memory});
    case 2: {
      const std::size_t half = bytes.size() / 2;
      return io::detail::open_ragged(
          "input", memory_file("offsets", {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(half)}),
          memory_file("values", {bytes.begin() + static_cast<std::ptrdiff_t>(half), bytes.end()}),
          {ScalarType::float64, 1}, {.convert = true, .memory = memory});
    }
    case 3:
      return io::detail::open_text(file(), io::detail::TextItems::lines, {.longest = 1000, .memory = memory});
    case 4:
      return io::detail::open_text(file(), io::detail::TextItems::words, {.longest = 1000, .memory = memory});
    default:
      return io::detail::open_audio(file(), 100, false, {.memory = 4 * memory});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const auto source = opened(data[0], {data + 1, data + size});
    fuzz::read_all(*source);
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  return 0;
}
