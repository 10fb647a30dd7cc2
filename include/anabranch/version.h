#pragma once

#include <anabranch/export.h>

namespace anabranch {

// The version of these headers. The build reads it from here.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr const char* version_string = "0.1.0";

/// The version of the library that is loaded. It may be another one than that of the headers that a program was compiled
/// with: of the same minor version both work together.
ANABRANCH_API const char* library_version() noexcept;

}  // namespace anabranch
