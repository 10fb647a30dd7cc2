#pragma once

#include <string>
#include <vector>

/// What the command takes, as its parser knows it: of this are made --help, the manual pages and the completions of shells.
namespace CLI {
class App;
}

namespace anabranch::apps {

struct OptionText {
  std::vector<std::string> names;    ///< "-h", "--help"; of an argument without a name "MATRIX"
  std::string value;                 ///< "FILE", "N"; empty: it takes none
  std::vector<std::string> choices;  ///< where the value is one of these; one that ends with ':' goes on
  bool list = false;                 ///< the value is some of the choices, with commas between
  std::string all;                   ///< not empty: each of the list once, or this word alone
  std::string description;           ///< the words of the help
  std::string details;               ///< what manual pages and completions say besides
  std::string group;                 ///< "Options", "Run options", "Help"; an argument has none
  bool positional = false, required = false, several = false;

  /// "The words of the help. And what there is besides"
  std::string whole_description() const;
  /// "FILE", "FILE...", "FILE|DIGEST".
  bool takes_file() const { return value.starts_with("FILE") || value.starts_with("FOLDER"); }
};

struct SubcommandText {
  std::string name, description;
  std::string exit_status;          ///< the words of its help
  std::string page;                 ///< of the documentation
  std::vector<OptionText> options;  ///< those of a group follow one another
};

/// Of a subcommand, or of the command as a whole.
SubcommandText text_of(const CLI::App& app);
/// In the order of the help.
std::vector<SubcommandText> subcommands_of(const CLI::App& app);

/// What --help prints, 80 columns wide at most: of a subcommand, or of the command as a whole, which has some.
std::string help_page(const SubcommandText& command, const std::vector<SubcommandText>& subcommands);

enum class Shell { bash, zsh, fish };
std::string completion(const std::vector<SubcommandText>& subcommands, Shell shell);

/// A manual page in roff: of the command as a whole, `exit_status` being the words of its help, or of one subcommand.
std::string manual_page(const std::vector<SubcommandText>& subcommands, const std::string& description,
                        const std::string& exit_status);
std::string manual_page(const SubcommandText& subcommand);

}  // namespace anabranch::apps
