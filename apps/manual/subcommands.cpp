#include "apps/manual/subcommands.h"

#include <CLI/CLI.hpp>

namespace anabranch::apps {

namespace {

/// "NAME:{cpu,cuda}" has two; behind those of a list (some_of) there is a comma, and what stands for all of them.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  text.required = option.get_required();
  text.several = option.get_items_expected_max() > 1;
  text.description = option.get_description();
  if (text.positional) text.names = {option.get_name(true)};
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) {
    text.value = option.get_option_text();
    const std::string type = option.get_type_name();
    text.choices = choices_of(type);
    if (const std::size_t end = type.rfind("},"); end != std::string::npos) {
      text.list = true;
      text.all = type.substr(end + 2);
    }
  }
  return text;
}

}  // namespace

std::vector<SubcommandText> subcommands_of(const CLI::App& app) {
  std::vector<SubcommandText> all;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    // CLI11 gives each the command's footer until it gets one of its own.
    SubcommandText& text =
        all.emplace_back(SubcommandText{sub->get_name(), sub->get_description(), sub->get_footer(), {}});
    for (const CLI::Option* option : sub->get_options()) text.options.push_back(text_of(*option));
  }
  return all;
}

}  // namespace anabranch::apps
