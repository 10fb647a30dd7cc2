#pragma once

#include <cstdint>
#include <type_traits>

/// Checks of options whose values are numbers. Numbers are decimal; one that is out of range for its type is refused.
namespace CLI {
class Validator;
}

namespace anabranch::apps {

/// A whole number from `least` to `most`. Other than CLI::Range it tells what is none from what is too small or too large.
/// To be given to CLI::Option::transform: it leaves the digits that CLI11, to which a leading 0 means octal, reads as this number.
template <class T = std::int64_t>
CLI::Validator whole_number(std::type_identity_t<T> least, std::type_identity_t<T> most);
/// Any number, an infinity and NaN included.
CLI::Validator any_number();
/// As CLI::Range, which lets NaN pass.
CLI::Validator number_between(double least, double most);

}  // namespace anabranch::apps
