#include <cstddef>
#include <cstdint>
#include <memory>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include "io/audio/audio_source.h"
#include "io/npy/npy_rows.h"
#include "io/ragged/ragged_files.h"
#include "io/text/text_source.h"

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

/// Reads every byte that the chunk says is there.
void touch(const SourceInfo& info, const SourceChunk& chunk) {
  unsigned sum = 0;
  for (std::size_t a = 0; a < info.arrays.size(); ++a) {
    const ArrayInfo& array = info.arrays[a];
    std::int64_t elements = chunk.items;
    for (const auto& extent : array.extents) elements *= extent.value_or(1);
    if (!array.regular())
      elements = array.offsets == OffsetType::int32
                     ? static_cast<const std::int32_t*>(chunk.arrays[a].offsets.get())[chunk.items]
                     : static_cast<const std::int64_t*>(chunk.arrays[a].offsets.get())[chunk.items];
    for (std::size_t c = 0; c < array.scalars.size(); ++c)
      for (std::int64_t i = 0; i < elements * static_cast<std::int64_t>(size_of(array.scalars[c])); ++i)
        sum += static_cast<const unsigned char*>(chunk.arrays[a].data[c].get())[i];
  }
  if (sum == 0xdeadbeef) __builtin_trap();  // so that the reads are made
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const auto source = opened(data[0], {data + 1, data + size});
    SourceChunk chunk;
    Limit limit;
    limit.items = 1000;
    limit.work = 1000;
    // A short file may stand for very many rows without elements.
    for (int chunks = 0; chunks < 1000 && source->next(limit, chunk); ++chunks) touch(source->info(), chunk);
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  return 0;
}
