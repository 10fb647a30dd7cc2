#pragma once

#include <string>
#include <vector>

/// What shells propose for an option's value, where its check does not say it.
namespace CLI {
class Validator;
}

namespace anabranch::apps {

/// One of these. Checks nothing; nor do the others.
CLI::Validator one_of(const std::vector<std::string>& values);
/// Some of these, with commas between.
CLI::Validator some_of(const std::vector<std::string>& values);
/// Some of these, each once, with commas between; or the word `all`, alone.
CLI::Validator some_of(const std::vector<std::string>& values, const std::string& all);

}  // namespace anabranch::apps
