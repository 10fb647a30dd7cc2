#include "scheduler/policy.h"

#include <charconv>
#include <stdexcept>

namespace anabranch::scheduler {

Policy Policy::fixed(int64_t items) {
  if (items < 1)
    throw std::invalid_argument("a fixed chunk has at least 1 item; got " + std::to_string(items));
  return {Kind::fixed, items};
}

Policy parse_policy(std::string_view text) {
  if (text == "adaptive") return Policy::adaptive();
  if (text == "paper") return Policy::paper();
  constexpr std::string_view prefix = "fixed:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    int64_t items = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), items);
    if (error == std::errc{} && end == digits.data() + digits.size() && items >= 1)
      return Policy::fixed(items);
    throw std::invalid_argument("scheduler '" + std::string(text) +
                                "': fixed:N takes a whole number N of items, " +
                                "1 or more, for example fixed:1000");
  }
  throw std::invalid_argument("unknown scheduler '" + std::string(text) +
                              "': expected adaptive, paper or fixed:N (N items per chunk)");
}

std::string to_string(const Policy& policy) {
  switch (policy.kind) {
    case Policy::Kind::adaptive:
      return "adaptive";
    case Policy::Kind::paper:
      return "paper";
    case Policy::Kind::fixed:
      return "fixed:" + std::to_string(policy.items);
  }
  return "";
}

}  // namespace anabranch::scheduler
