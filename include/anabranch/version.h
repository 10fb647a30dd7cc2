#pragma once

// The version of these headers. The build reads it from here.

namespace anabranch {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr const char* version_string = "0.1.0";

}  // namespace anabranch
