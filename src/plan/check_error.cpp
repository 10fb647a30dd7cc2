#include "plan/check_error.h"

#include <string>

#include <anabranch/error.h>

namespace anabranch::plan {

void raise(const Check& check, std::int64_t value, std::int64_t bound) {
  std::string text = check.what + ": ";
  switch (check.kind) {
    case Check::Kind::index:
      text += "index " + std::to_string(value);
      if (bound > 0)
        text += " out of range 0.." + std::to_string(bound - 1);
      else
        text += " into an empty array";
      break;
    case Check::Kind::division:
      if (bound == division_by_zero)
        text += "integer division of " + std::to_string(value) + " by zero";
      else if (bound == division_overflow)
        text += "integer division of " + std::to_string(value) + " by -1 overflows";
      else
        text += "integer division by zero, or overflow";
      break;
    case Check::Kind::empty_fold:
      text += "no elements, and no value for that case";
      break;
  }
  throw RunError(text + " (" + to_string(check.place) + ")");
}

}  // namespace anabranch::plan
