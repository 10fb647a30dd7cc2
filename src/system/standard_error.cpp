#include "system/standard_error.h"

#include <cstdio>

namespace anabranch::system {

void write_to_standard_error(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace anabranch::system
