#pragma once

#include <initializer_list>
#include <string>

/// Options that do nothing.
namespace CLI {
class App;
}

namespace anabranch::apps {

/// An option that has no effect beside the others is a slip: a UsageError "--fmin, --fmax: WHY" where some of these are given.
void refuse_idle(const CLI::App& sub, std::initializer_list<const char*> options, const std::string& why);

}  // namespace anabranch::apps
