#include "apps/common/proposals.h"

#include <CLI/CLI.hpp>

namespace anabranch::apps {

namespace {

CLI::Validator without_check(const std::string& description) {
  return {[](const std::string&) { return std::string(); }, description};
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& values) {
  return without_check("{" + CLI::detail::join(values, ",") + "}");
}
CLI::Validator some_of(const std::vector<std::string>& values) {
  return without_check("{" + CLI::detail::join(values, ",") + "},");
}
CLI::Validator some_of(const std::vector<std::string>& values, const std::string& all) {
  return without_check("{" + CLI::detail::join(values, ",") + "}," + all);
}

}  // namespace anabranch::apps
