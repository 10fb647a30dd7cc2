#pragma once

#include <string>
#include <vector>

/// What shells propose for an option's value, where its check does not say it.
namespace CLI {
class Validator;
}

namespace anabranch::apps {

/// One of these. Checks nothing; so does the other.
CLI::Validator one_of(const std::vector<std::string>& values);
/// Some of these, with commas between.
CLI::Validator some_of(const std::vector<std::string>& values);

}  // namespace anabranch::apps
