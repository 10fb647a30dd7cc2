#pragma once

#include <string_view>

/// Files that are parts of a page, as they were when the library was built. CMakeLists.txt makes the definitions.
namespace anabranch::page {

/// Whether there are any.
extern const bool has_assets;
/// InternalError where there is no such file.
std::string_view asset(std::string_view name);

}  // namespace anabranch::page
