#include <cstddef>
#include <cstdint>
#include <cstring>

#include <anabranch/error.h>
#include <anabranch/io.h>

#include "io/sparse/csr_layout.h"

/// libFuzzer: bytes as a sparse matrix file (.npz or Matrix Market). Whatever they are, the file is refused
/// with one of our errors, or all of its entries lie inside the matrix.
/// (CONTRIBUTING.md, "Test", says how to build it.)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anabranch;
  try {
    auto file = io::detail::memory_file("input", {data, data + size});
    io::OpenOptions options;
    options.convert = true;
    options.memory = 1 << 20;
    auto source = io::detail::open_csr(file, ScalarType::int64, ScalarType::float64, options);
    SourceChunk chunk;
    Limit limit;
    limit.items = 1000;
    limit.work = 1000;
    // A short file may stand for very many empty rows.
    for (int chunks = 0; chunks < 1000 && source->next(limit, chunk); ++chunks) {
      const auto* columns = static_cast<const std::int64_t*>(chunk.arrays[0].data[0].get());
      for (std::int64_t i = 0; i < chunk.work; ++i)
        if (columns[i] < 0) __builtin_trap();
    }
  } catch (const Error& e) {
    // InternalError is a fault of ours.
    if (dynamic_cast<const InternalError*>(&e)) throw;
  }
  return 0;
}
