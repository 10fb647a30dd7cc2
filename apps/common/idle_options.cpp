#include "apps/common/idle_options.h"

#include <CLI/CLI.hpp>

#include "apps/common/usage_error.h"

namespace anabranch::apps {

void refuse_idle(const CLI::App& sub, std::initializer_list<const char*> options, const std::string& why) {
  std::string idle;
  for (const char* option : options)
    if (sub.get_option(option)->count() > 0) idle += (idle.empty() ? "" : ", ") + std::string(option);
  if (!idle.empty()) throw UsageError(idle + ": " + why);
}

}  // namespace anabranch::apps
