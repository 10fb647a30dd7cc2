#include "apps/audio/table_memory.h"

#include <fmt/format.h>

#include "apps/common/byte_size.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

void TableMemory::claim(const std::string& name, std::int64_t bytes) {
  if (bytes > left_)
    throw ResourceError(fmt::format(
        "{} ({}) do not fit into a memory bound of {}{}", name, binary_bytes(bytes), binary_bytes(bound_),
        left_ < bound_ ? fmt::format(", of which other tables take {}", binary_bytes(bound_ - left_)) : ""));
  left_ -= bytes;
}

TableMemory table_memory(const AudioRequest& request) {
  constexpr std::int64_t number = sizeof(float);
  const std::int64_t n = request.options.frame_length;
  TableMemory out(request.run.chunks() ? request.run.memory_bound() : INT64_MAX);
  if (request.wants_window_weights())
    out.claim("the weights of a window of " + counted(n, "sample"), number * n);
  // Complex numbers: n / 2 for the first step, as many behind the last, a twelfth for those between.
  if (request.wants_spectrum())
    out.claim("the roots of a Fourier transform of " + counted(n, "sample"), 2 * number * (n + n / 24));
  if (request.wants(Feature::mfcc))
    out.claim(fmt::format("the numbers of a cosine transform of {} into {}",
                          counted(request.n_mels, "mel band"), counted(request.n_mfcc, "coefficient")),
              number * request.n_mels * request.n_mfcc);
  return out;
}

}  // namespace anabranch::apps
