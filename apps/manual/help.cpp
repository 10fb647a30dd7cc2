#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "apps/manual/subcommands.h"

namespace anabranch::apps {

namespace {

constexpr std::size_t columns = 80;

/// What stays together on a line.
using Pieces = std::vector<std::string>;

/// `end`: what a piece ends with, and a blank.
Pieces pieces_of(const std::string& text, std::string_view end) {
  Pieces out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t at = text.find(end, begin);
    const std::size_t size = at == std::string::npos ? text.size() - begin : at + end.size() - 1 - begin;
    out.push_back(text.substr(begin, size));
    begin += size + 1;
  }
  return out;
}
Pieces words_of(const std::string& text) { return pieces_of(text, " "); }
Pieces statements_of(const std::string& text) { return pieces_of(text, "; "); }

/// Behind `first`; the other lines begin below the first piece.
std::string filled(const std::string& first, const Pieces& pieces) {
  const std::size_t indent = first.size();
  std::size_t column = indent;
  std::string out = first;
  for (const std::string& piece : pieces) {
    if (column > indent) {
      const bool fits = column + 1 + piece.size() <= columns;
      out += fits ? " " : "\n" + std::string(indent, ' ');
      column = fits ? column + 1 : indent;
    }
    out += piece;
    column += piece.size();
  }
  return out + "\n";
}

struct Entry {
  std::string name, text;
};

struct Section {
  std::string heading;
  std::vector<Entry> entries;
};

Entry entry_of(const OptionText& option) {
  std::string name = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty()) name += " " + option.value;
  return {name, option.description};
}

std::vector<Section> sections_of(const SubcommandText& command,
                                 const std::vector<SubcommandText>& subcommands) {
  Section arguments{"Arguments", {}}, all_subcommands{"Subcommands", {}};
  std::vector<Section> groups;
  for (const OptionText& option : command.options) {
    if (!option.positional && (groups.empty() || groups.back().heading != option.group))
      groups.push_back({option.group, {}});
    (option.positional ? arguments : groups.back()).entries.push_back(entry_of(option));
  }
  for (const SubcommandText& sub : subcommands)
    all_subcommands.entries.push_back({sub.name, sub.description});
  groups.insert(groups.begin(), {arguments, all_subcommands});
  std::erase_if(groups, [](const Section& section) { return section.entries.empty(); });
  return groups;
}

/// Two blanks before the longest name, and two behind it.
std::size_t column_of_texts(const std::vector<Section>& sections) {
  std::size_t longest = 0;
  for (const Section& section : sections)
    for (const Entry& entry : section.entries) longest = std::max(longest, entry.name.size());
  return longest + 4;
}

/// Options that have to be given stand in the line of usage.
std::string usage_of(const SubcommandText& command, const std::string& name, bool has_subcommands) {
  std::string required, arguments = has_subcommands ? " SUBCOMMAND" : "";
  for (const OptionText& option : command.options)
    if (option.positional) {
      const std::string argument = option.names[0] + (option.several ? "..." : "");
      arguments += option.required ? " " + argument : " [" + argument + "]";
    } else if (option.required) {
      required += " " + entry_of(option).name;
    }
  return filled("Usage: ", words_of(name + required + " [OPTIONS]" + arguments));
}

}  // namespace

std::string help_page(const SubcommandText& command, const std::vector<SubcommandText>& subcommands) {
  const bool whole = !subcommands.empty();
  const std::string name = whole ? command.name : "anabranch " + command.name;
  std::string out = filled("", words_of(command.description)) + usage_of(command, name, whole);
  const std::vector<Section> sections = sections_of(command, subcommands);
  const std::size_t column = column_of_texts(sections);
  for (const Section& section : sections) {
    out += fmt::format("\n{}:\n", section.heading);
    for (const Entry& entry : section.entries)
      out += filled(fmt::format("  {:<{}}", entry.name, column - 2), words_of(entry.text));
  }
  out += "\n" + filled("", statements_of(command.exit_status));
  const std::string of_subcommands = whole ? "anabranch SUBCOMMAND --help; " : "",
                    manual =
                        std::string("anabranch man") + (whole ? "" : " " + command.name) + " | man -l -; ";
  return out + filled("", statements_of("More: " + of_subcommands + manual + command.page));
}

}  // namespace anabranch::apps
