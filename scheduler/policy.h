// Which chunk controller a run uses, as a user names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anabranch::scheduler {

struct Policy {
  enum class Kind { adaptive, paper, fixed };
  Kind kind = Kind::adaptive;
  int64_t items = 0;  ///< for fixed

  static Policy adaptive() { return {}; }
  static Policy paper() { return {Kind::paper, 0}; }
  /// Throws std::invalid_argument unless items >= 1.
  static Policy fixed(int64_t items);
  bool operator==(const Policy&) const = default;
};

/// "adaptive", "paper" or "fixed:N" with N >= 1; throws std::invalid_argument with a message for the user.
Policy parse_policy(std::string_view text);
/// The inverse of parse_policy.
std::string to_string(const Policy& policy);

}  // namespace anabranch::scheduler
