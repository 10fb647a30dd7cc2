#include <algorithm>
#include <cstdlib>

#include "support/catch.h"

#include "command.h"
#include "help_page.h"

// Completions in zsh and fish, where these are installed: what the shells make of them.
using namespace cli_test;

namespace {

using Words = std::vector<std::string>;

/// The exit status of a line of sh.
int status_of(const std::string& line) {
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_shell(const std::string& name) {
  const bool there = status_of("command -v " + name + " > /dev/null") == 0;
  if (!there) WARN("skipped: " << name << " is not installed");
  return there;
}

/// A folder with a completion, and one other file whose name begins with 'm'.
class Folder : public TemporaryDirectory {
 public:
  Folder(const std::string& shell, const std::string& file) {
    io_test::write_file(*this / file, command({"completion", shell}).out);
    io_test::write_file(*this / "m.npz", "");
  }
  /// In this folder, for two minutes at most, with none of the user's settings.
  int run(const std::string& line) const {
    return status_of("cd " + path() + " && HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD timeout 120 " +
                     line);
  }
};

/// Completes each line, as the key for it does, and says what has become of it. It needs no keys: it begins when the line
/// editor does.
constexpr const char* zsh_settings =
    "PROMPT=\n"
    "fpath=($PWD $fpath)\n"
    "unsetopt auto_menu\n"
    "autoload -Uz compinit\n"
    "compinit -u -D\n"
    "zle-line-init() {\n"
    "  for BUFFER in \"${(@f)$(<lines)}\"; do\n"
    "    CURSOR=$#BUFFER\n"
    "    zle complete-word\n"
    "    print -r -- \"$BUFFER\" >> completed\n"
    "  done\n"
    "  exit\n"
    "}\n"
    "zle -N zle-line-init\n";

/// A zsh with a terminal of its own.
constexpr const char* zsh_in_terminal =
    "zmodload zsh/zpty || exit 77\n"
    "export ZDOTDIR=$PWD\n"
    "zpty shell zsh -d -i\n"
    "while zpty -r shell output; do :; done\n";

/// Pairs of a line and of what zsh makes of it.
void check_zsh(const std::vector<std::pair<std::string, std::string>>& lines) {
  const Folder dir("zsh", "_anabranch");
  std::string before;
  for (const auto& [line, completed] : lines) before += line + "\n";
  io_test::write_file(dir / "lines", before);
  io_test::write_file(dir / ".zshrc", zsh_settings);
  io_test::write_file(dir / "in_terminal", zsh_in_terminal);
  const int status = dir.run("zsh -f in_terminal < /dev/null");
  if (status == 77) {
    WARN("skipped: zsh has no pseudo-terminals");
    return;
  }
  REQUIRE(status == 0);
  const std::vector<std::string> after = lines_of(io_test::read_file(dir / "completed"));
  REQUIRE(after.size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(lines[i].first);
    CHECK(after[i] == lines[i].second);
  }
}

/// What fish proposes for the last word, without what it says of each.
Words proposed_by_fish(const Folder& dir, const std::string& line) {
  REQUIRE(dir.run("fish ask '" + line + "' > reply") == 0);
  Words words = lines_of(io_test::read_file(dir / "reply"));
  for (std::string& word : words) word.resize(std::min(word.find('\t'), word.size()));
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace

TEST_CASE("completion: zsh takes the script") {
  if (!has_shell("zsh")) return;
  CHECK(Folder("zsh", "_anabranch").run("zsh -n _anabranch") == 0);
}

TEST_CASE("completion: zsh completes subcommands, options, values and files") {
  if (!has_shell("zsh")) return;
  check_zsh({{"anabranch sm", "anabranch smvm "},
             {"anabranch --vers", "anabranch --version "},
             {"anabranch smvm --ba", "anabranch smvm --backend="},
             {"anabranch smvm --rep", "anabranch smvm --rep"},  // --repeat or --report
             {"anabranch smvm --backend int", "anabranch smvm --backend interpreter "},
             {"anabranch smvm --backend=int", "anabranch smvm --backend=interpreter "},
             {"anabranch smvm m", "anabranch smvm m.npz "},
             {"anabranch smvm m.npz --vector m", "anabranch smvm m.npz --vector m.npz "},
             {"anabranch smvm --threads m", "anabranch smvm --threads m"},  // a number
             {"anabranch audio a.wav m", "anabranch audio a.wav m.npz "},
             {"anabranch generate rm", "anabranch generate rmat "},
             {"anabranch explain --json sm", "anabranch explain --json smvm "},
             {"anabranch man ge", "anabranch man generate "}});
}

TEST_CASE("completion: zsh completes lists, each value once; all of them alone") {
  if (!has_shell("zsh")) return;
  check_zsh({{"anabranch audio a.wav --features rms,lp", "anabranch audio a.wav --features rms,lpc,"},
             {"anabranch audio a.wav --features rms,r", "anabranch audio a.wav --features rms,r"},
             {"anabranch audio a.wav --features all,lp", "anabranch audio a.wav --features all,lp"},
             {"anabranch md5 a b --rules leet,to", "anabranch md5 a b --rules leet,toggle,"}});
}

TEST_CASE("completion: fish takes the script") {
  if (!has_shell("fish")) return;
  CHECK(Folder("fish", "anabranch.fish").run("fish --no-execute anabranch.fish") == 0);
}

TEST_CASE("completion: fish proposes subcommands, options, values and files") {
  if (!has_shell("fish")) return;
  const Folder dir("fish", "anabranch.fish");
  // Without the completions that are installed.
  io_test::write_file(dir / "ask",
                      "set -g fish_complete_path\nsource anabranch.fish\ncomplete -C $argv[1]\n");
  const auto proposed = [&](const std::string& line) { return proposed_by_fish(dir, line); };
  CHECK(proposed("anabranch sm") == Words{"smvm"});
  CHECK(proposed("anabranch --vers") == Words{"--version"});
  CHECK(proposed("anabranch smvm --ba") == Words{"--backend"});
  CHECK(proposed("anabranch smvm m.npz --backend c") == Words{"cpu", "cpu+cuda", "cuda"});
  CHECK(proposed("anabranch smvm m.npz --backend=i") == Words{"--backend=interpreter"});
  CHECK(proposed("anabranch smvm --scheduler f") == Words{"fixed:"});
  CHECK(proposed("anabranch smvm m") == Words{"m.npz"});
  CHECK(proposed("anabranch smvm --vector m") == Words{"m.npz"});
  CHECK(proposed("anabranch smvm --threads m").empty());  // a number
  CHECK(proposed("anabranch generate rm") == Words{"rmat"});
  CHECK(proposed("anabranch man ge") == Words{"generate"});
  // Of a list each value once; all of them alone.
  CHECK(proposed("anabranch audio a.wav --features rms,lp") == Words{"rms,lpc"});
  CHECK(proposed("anabranch audio a.wav --features=rms,lp") == Words{"--features=rms,lpc"});
  for (const std::string& word : proposed("anabranch audio a.wav --features rms,r"))
    CHECK(word != "rms,rms");  // others have an r somewhere
  CHECK(proposed("anabranch audio a.wav --features all,m").empty());
  CHECK(proposed("anabranch md5 a b --rules leet,to") == Words{"leet,toggle"});
}
