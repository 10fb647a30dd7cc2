#pragma once

#include <string_view>

namespace anabranch::system {

/// All of it at once, so that texts of several threads do not mix. Standard error that is closed or full is
/// no error: what was asked for is the run, not the text.
void write_to_standard_error(std::string_view text) noexcept;

}  // namespace anabranch::system
