#pragma once

#include <string>
#include <vector>

#include "apps/md5/program.h"

/// Rules by their names: docs/md5.md has the table.
namespace anabranch::apps {

struct NamedRule {
  std::string name;
  Rule rule;
};

/// "lower,capitalize+append-digit": rules divided by commas, each a chain of steps divided by '+', the last of which may append
/// digits. The word as it is, "as-is", always comes first, also where `text` is empty. Throws UsageError.
std::vector<NamedRule> parse_rules(const std::string& text);

/// Of all steps.
std::vector<std::string> names_of_steps();

std::vector<Rule> rules_of(const std::vector<NamedRule>& rules);

}  // namespace anabranch::apps
