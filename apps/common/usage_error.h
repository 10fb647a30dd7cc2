#pragma once

#include <stdexcept>

namespace anabranch::apps {

/// The command was not asked for something that makes sense. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace anabranch::apps
