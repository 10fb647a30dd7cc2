#pragma once

namespace anabranch::testing {

/// Is this program built with AddressSanitizer or ThreadSanitizer?
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace anabranch::testing
