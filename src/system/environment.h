#pragma once

#include <string_view>

namespace anabranch::system {

/// Is the word in the list, with commas, that the environment variable holds?
bool listed(const char* variable, std::string_view word);

}  // namespace anabranch::system
