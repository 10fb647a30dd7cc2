#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/device.h"
#include "gpu/resident_programs.h"

namespace anabranch::bench {

/// Rows of any lengths, one behind the other.
struct RaggedRows {
  std::vector<std::int32_t> offsets{0};
  std::int64_t rows = 0, elements = 0, longest = 0;

  explicit RaggedRows(const std::vector<std::int32_t>& lengths)
      : rows(static_cast<std::int64_t>(lengths.size())),
        longest(*std::max_element(lengths.begin(), lengths.end())) {
    for (const std::int32_t n : lengths) offsets.push_back(offsets.back() + n);
    elements = offsets.back();
  }

  /// Of a contest in which `bytes` are moved: "sums of 1 M rows, ...".
  std::string note(const char* what, double bytes) const {
    return fmt::format("{} of {:.3g} M rows, {:.3g} M elements, {:.3g} MB, on the GPU", what,
                       static_cast<double>(rows) / 1e6, static_cast<double>(elements) / 1e6, bytes / 1e6);
  }
  ResidentMatrix on_gpu(const DeviceBuffer& offsets_there, const DeviceBuffer& values) const {
    return {.rows = rows,
            .nonzeros = elements,
            .longest = longest,
            .offsets = offsets_there.address(),
            .values = values.address()};
  }
};

}  // namespace anabranch::bench
