#pragma once

#include <cstdint>
#include <string>

#include "apps/audio/request.h"

/// Room for tables of numbers, which are held for a whole run: asked for before they are computed.
namespace anabranch::apps {

class TableMemory {
 public:
  /// `bound`: of the run; INT64_MAX: none.
  explicit TableMemory(std::int64_t bound) : bound_(bound), left_(bound) {}
  /// Throws ResourceError, with the name and size, where a table has no room beside those before it.
  void claim(const std::string& name, std::int64_t bytes);

 private:
  std::int64_t bound_, left_;
};

/// With those tables claimed whose sizes follow from what is asked for: of the window, the Fourier and the cosine transform.
TableMemory table_memory(const AudioRequest& request);

}  // namespace anabranch::apps
