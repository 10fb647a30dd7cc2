#include "apps/manual/subcommands.h"

#include <tuple>
#include <utility>

#include <CLI/CLI.hpp>

namespace anabranch::apps {

namespace {

/// "NAME:{cpu,cuda}" has two; behind those of a list (some_of) there is a comma, and what stands for all of them.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

/// Behind an end of line stands what does not belong on a page of help.
std::pair<std::string, std::string> parts_of(const std::string& description) {
  const std::size_t end = description.find('\n');
  if (end == std::string::npos) return {description, {}};
  return {description.substr(0, end), description.substr(end + 1)};
}

/// Some subcommands have a page of their own.
std::string documentation_of(const std::string& name) {
  for (const char* const own : {"smvm", "pagerank", "md5", "audio", "explain"})
    if (name == own) return "docs/" + name + ".md";
  return "docs/command.md";
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  text.required = option.get_required();
  text.several = option.get_items_expected_max() > 1;
  std::tie(text.description, text.details) = parts_of(option.get_description());
  if (!text.positional) text.group = option.get_group();
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

std::string OptionText::whole_description() const {
  return details.empty() ? description : description + ". " + details;
}

SubcommandText text_of(const CLI::App& app) {
  const std::string& name = app.get_name();
  SubcommandText text{name, app.get_description(), app.get_footer(), documentation_of(name), {}};
  std::vector<OptionText> help;  // CLI11 has it first
  for (const CLI::Option* option : app.get_options())
    if (option != app.get_help_ptr() && option != app.get_version_ptr())
      text.options.push_back(text_of(*option));
    else
      help.push_back(text_of(*option));
  for (OptionText& option : help) option.group = "Help";
  text.options.insert(text.options.end(), help.begin(), help.end());
  return text;
}

std::vector<SubcommandText> subcommands_of(const CLI::App& app) {
  std::vector<SubcommandText> all;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(text_of(*sub));
  return all;
}

}  // namespace anabranch::apps
