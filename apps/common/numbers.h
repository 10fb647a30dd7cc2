#pragma once

#include <cstdint>

/// Checks of options whose values are numbers.
namespace CLI {
class Validator;
}

namespace anabranch::apps {

/// A whole number from `least` to `most`. Other than CLI::Range it tells what is none from what is too small or too large.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// As CLI::Range, which lets NaN pass.
CLI::Validator number_between(double least, double most);

}  // namespace anabranch::apps
