#include "apps/md5/rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "apps/common/trimmed.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

/// Those of a word that may have been found are in memory together.
constexpr std::int32_t most_candidates = 500'000;
/// All rules are in one kernel, whose making takes the longer the more of them there are.
constexpr std::size_t most_changes = 256, most_changes_of_a_rule = 16;

struct ChangeStep {
  std::string_view name;
  Change change;
};
constexpr std::array<ChangeStep, 5> changes{{{"lower", Change::lower},
                                             {"upper", Change::upper},
                                             {"capitalize", Change::capitalize},
                                             {"toggle", Change::toggle},
                                             {"leet", Change::leet}}};

struct AppendStep {
  std::string_view name;
  int digits;
  std::int32_t first, count;
};
constexpr std::array<AppendStep, 5> appends{{{"append-digit", 1, 0, 10},
                                             {"append-2-digits", 2, 0, 100},
                                             {"append-3-digits", 3, 0, 1000},
                                             {"append-4-digits", 4, 0, 10000},
                                             {"append-year", 4, 1940, 100}}};

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

Rule parse_chain(const std::string& chain) {
  Rule rule;
  for (const std::string& name : split(chain, '+')) {
    if (rule.digits > 0)
      throw UsageError(fmt::format("--rules: '{}': nothing comes behind digits that are appended", chain));
    if (const auto* step =
            std::find_if(changes.begin(), changes.end(), [&](const auto& s) { return s.name == name; });
        step != changes.end()) {
      rule.changes.push_back(step->change);
      continue;
    }
    const auto* step =
        std::find_if(appends.begin(), appends.end(), [&](const auto& s) { return s.name == name; });
    if (step == appends.end())
      throw UsageError(fmt::format(
          "--rules: '{}' is no rule; there are {}; a + joins several to one, a comma divides rules", name,
          fmt::join(names_of_steps(), ", ")));
    rule.digits = step->digits;
    rule.first = step->first;
    rule.count = step->count;
  }
  return rule;
}

}  // namespace

std::vector<std::string> names_of_steps() {
  std::vector<std::string> names;
  for (const ChangeStep& step : changes) names.emplace_back(step.name);
  for (const AppendStep& step : appends) names.emplace_back(step.name);
  return names;
}

std::vector<NamedRule> parse_rules(const std::string& text) {
  std::vector<NamedRule> rules{{"as-is", {}}};
  if (text.empty()) return rules;
  std::size_t changes = 0;
  for (const std::string& chain : split(text, ',')) {
    if (std::any_of(rules.begin(), rules.end(), [&](const NamedRule& rule) { return rule.name == chain; }))
      throw UsageError(
          fmt::format("--rules: '{}' {}", chain, chain == "as-is" ? "always comes first" : "is there twice"));
    rules.push_back({chain, parse_chain(chain)});
    const std::size_t own = rules.back().rule.changes.size();
    if (own > most_changes_of_a_rule)
      throw UsageError(
          fmt::format("--rules: a rule of {} changes; {} are the most", own, most_changes_of_a_rule));
    changes += own;
    if (changes > most_changes)
      throw UsageError(fmt::format("--rules: more than {} changes in all rules together", most_changes));
    if (number_of_candidates(rules_of(rules)) > most_candidates)
      throw UsageError(fmt::format("--rules: more than {} candidates of each word", most_candidates));
  }
  return rules;
}

std::vector<Rule> rules_of(const std::vector<NamedRule>& rules) {
  std::vector<Rule> out;
  for (const NamedRule& rule : rules) out.push_back(rule.rule);
  return out;
}

}  // namespace anabranch::apps
