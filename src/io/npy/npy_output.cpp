#include "io/npy/npy_output.h"

#include <algorithm>
#include <vector>

#include "io/npy/npy_format.h"

namespace anabranch::io::detail {

namespace {
constexpr std::int64_t joined_bytes = 128 << 10;
}

NpyOutput::NpyOutput(const std::string& path, NpyElement what)
    : element(what), claim_(path), file_(path), out_(file_.file(), npy_header_bytes) {}

void NpyOutput::append(const void* elements, std::int64_t n) {
  file_.guarded([&] { out_.append(elements, n * element_bytes()); });
  count_ += n;
}

void NpyOutput::append(const PartBytes& parts, std::int64_t n) {
  if (element.parts == 1) return append(parts[0], n);
  const auto width = static_cast<std::int64_t>(size_of(element.type));
  const std::int64_t step = joined_bytes / element_bytes();
  std::vector<unsigned char> joined(joined_bytes);
  for (std::int64_t i = 0; i < n; i += step) {
    PartBytes from;
    for (unsigned char* part : parts) from.push_back(part + i * width);
    const std::int64_t here = std::min(step, n - i);
    join_parts(from, here, element.type, joined.data());
    append(joined.data(), here);
  }
}

void NpyOutput::complete(std::span<const std::int64_t> shape) {
  file_.guarded([&] {
    out_.flush();
    const std::string header = npy_header(npy_dtype(element.type, element.parts), shape);
    file_.file()->write(0, header.data(), static_cast<std::int64_t>(header.size()));
    file_.complete();
  });
}

void NpyOutput::commit() {
  file_.guarded([&] { file_.commit(); });
}
void NpyOutput::commit_for_now() {
  file_.guarded([&] { file_.commit_for_now(); });
}

}  // namespace anabranch::io::detail
