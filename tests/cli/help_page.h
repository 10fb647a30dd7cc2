#pragma once

#include <string>
#include <vector>

/// What --help prints, taken apart.
namespace cli_test {

std::vector<std::string> lines_of(const std::string& text);

struct HelpPage {
  struct Entry {
    std::string section;  ///< "Options"
    std::string name;     ///< "--vector FILE"
    std::string text;     ///< in one line
  };
  std::vector<std::string> lines;
  std::vector<std::string> sections;  ///< their headings
  std::vector<Entry> entries;
  std::vector<std::string> statuses;  ///< "0 done"
};

/// Of a subcommand, or with an empty name of the command as a whole.
HelpPage help_of(const std::string& subcommand);

/// The names of all subcommands.
std::vector<std::string> subcommands();

}  // namespace cli_test
