#include "help_page.h"

#include <algorithm>

#include "command.h"

namespace cli_test {

namespace {

/// Of "  --name VALUE  text": the name, and the text behind at least two blanks.
HelpPage::Entry entry_of(const std::string& section, const std::string& line) {
  const std::size_t end = line.find("  ", 2), text = line.find_first_not_of(' ', end);
  return {section, line.substr(2, end - 2), line.substr(text)};
}

/// Of "Exit status: 0 done; 2 usage; ...".
std::vector<std::string> statuses_of(const std::string& text) {
  std::vector<std::string> statuses;
  for (std::size_t begin = text.find(": ") + 2; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    statuses.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return statuses;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

HelpPage help_of(const std::string& subcommand) {
  std::vector<std::string> arguments{"--help"};
  if (!subcommand.empty()) arguments.insert(arguments.begin(), subcommand);
  HelpPage page{lines_of(command(arguments).out), {}, {}, {}};
  std::string statuses;
  for (const std::string& line : page.lines) {
    if (line.starts_with("More: ")) break;
    if (line.starts_with("Exit status: ") || !statuses.empty())
      statuses += (statuses.empty() ? "" : " ") + line;
    else if (line.ends_with(':') && !line.starts_with(' '))
      page.sections.push_back(line.substr(0, line.size() - 1));
    else if (line.starts_with("   ") && !page.entries.empty())
      page.entries.back().text += " " + line.substr(line.find_first_not_of(' '));
    else if (line.starts_with("  ") && !page.sections.empty())
      page.entries.push_back(entry_of(page.sections.back(), line));
  }
  page.statuses = statuses_of(statuses);
  return page;
}

std::vector<std::string> subcommands() {
  std::vector<std::string> names;
  for (const HelpPage::Entry& entry : help_of("").entries)
    if (entry.section == "Subcommands") names.push_back(entry.name);
  return names;
}

}  // namespace cli_test
