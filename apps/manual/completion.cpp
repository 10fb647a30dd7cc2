#include <fmt/format.h>

#include "apps/manual/subcommands.h"

namespace anabranch::apps {

namespace {

/// In single quotes of any of the shells.
std::string quoted(const std::string& text, Shell shell) {
  std::string out = "'";
  for (const char c : text) {
    if (c != '\'' && (c != '\\' || shell != Shell::fish))
      out += c;
    else
      out += shell == Shell::fish ? std::string("\\") + c : "'\\''";
  }
  return out + "'";
}

constexpr const char* help_text = "Print this help message and exit";
constexpr const char* version_text = "Display program version information and exit";

std::string names_of(const std::vector<SubcommandText>& subcommands) {
  std::string names;
  for (const SubcommandText& sub : subcommands) names += (names.empty() ? "" : " ") + sub.name;
  return names;
}

// ---- bash: by the word before, else options or, where an argument is expected, its choices or files

std::string bash_values(const OptionText& option) {
  const std::string choices = quoted(fmt::format("{}", fmt::join(option.choices, " ")), Shell::bash);
  if (!option.all.empty()) return fmt::format("_anabranch_set {} {}", choices, option.all);
  if (!option.choices.empty())
    return fmt::format("_anabranch_{} {}", option.list ? "list" : "words", choices);
  return option.takes_file() ? "_anabranch_files" : "COMPREPLY=()";
}

std::string bash(const std::vector<SubcommandText>& subcommands) {
  std::string out =
      "# Completion of anabranch for bash.\n"
      "_anabranch_words() {\n"
      "  COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
      "  case ${COMPREPLY[0]} in *:) compopt -o nospace 2>/dev/null ;; esac\n"
      "}\n"
      "_anabranch_list() {\n"
      "  local last=${cur##*[,+]}\n"
      "  COMPREPLY=($(compgen -P \"${cur%\"$last\"}\" -W \"$1\" -- \"$last\"))\n"
      "  compopt -o nospace 2>/dev/null\n"
      "}\n"
      "_anabranch_set() {\n"
      "  local last=${cur##*,} before word words=\n"
      "  before=${cur%\"$last\"}\n"
      "  for word in $1; do\n"
      "    case ,$before in *,\"$word\",*) ;; *) words+=\" $word\" ;; esac\n"
      "  done\n"
      "  case $before in '') words+=\" $2\" ;; \"$2\",*) words= ;; esac\n"
      "  COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"$last\"))\n"
      "  compopt -o nospace 2>/dev/null\n"
      "}\n"
      "_anabranch_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
      "\"$cur\"); }\n"
      // Whether no argument stands before the word; $1: the options that take a value.
      "_anabranch_first() {\n"
      "  local i\n"
      "  for ((i = 2; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in -*) ;; *) return 1 ;; esac\n"
      "    case \" $1 \" in *\" ${COMP_WORDS[i]} \"*) ;; *) continue ;; esac\n"
      "    if [ \"${COMP_WORDS[++i]}\" = = ]; then ((++i)); fi\n"
      "  done\n"
      "}\n"
      // '--option=value' is three words to bash, one where COMP_WORDBREAKS has no '='.
      "_anabranch() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} prefix=\n"
      "  case $cur in\n"
      "    =) cur= ;;\n"
      "    --*=*) before=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=} ;;\n"
      "    *) if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi ;;\n"
      "  esac\n"
      "  _anabranch_reply\n"
      "  COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
      "}\n"
      "_anabranch_reply() {\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    _anabranch_words " +
      quoted(names_of(subcommands) + " --help --version", Shell::bash) +
      "\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const SubcommandText& sub : subcommands) {
    out += fmt::format("    {})\n      case $before in\n", sub.name);
    std::string options, with_values;
    std::vector<std::string> arguments;
    for (const OptionText& option : sub.options) {
      if (option.positional) {
        arguments.push_back(bash_values(option));
        continue;
      }
      options += (options.empty() ? "" : " ") + option.names.back();
      if (option.value.empty()) continue;
      out += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), bash_values(option));
      with_values += fmt::format("{}{}", with_values.empty() ? "" : " ", fmt::join(option.names, " "));
    }
    out += "      esac\n      case $cur in\n";
    out += fmt::format("        -*) _anabranch_words {} ;;\n", quoted(options, Shell::bash));
    if (arguments.size() > 1)
      out += fmt::format("        *) if _anabranch_first {}; then {}; else {}; fi ;;\n",
                         quoted(with_values, Shell::bash), arguments.front(), arguments.back());
    else
      out += fmt::format("        *) {} ;;\n", arguments.empty() ? "COMPREPLY=()" : arguments.front());
    out += "      esac ;;\n";
  }
  return out + "  esac\n}\ncomplete -F _anabranch anabranch\n";
}

// ---- zsh: _arguments

/// In a specification brackets and colons have a meaning.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const OptionText& option) {
  if (!option.choices.empty()) {
    std::string choices;
    for (const std::string& choice : option.choices) {
      const std::string text = zsh_text(choice);
      choices += (choices.empty() ? "" : " ") +
                 (option.all.empty() ? text : fmt::format("\"({}){}\"", option.all, text));
    }
    if (!option.all.empty())
      choices += fmt::format(" \"({}){}\"", fmt::join(option.choices, " "), option.all);
    return option.list ? " _values -s , " + option.value + " " + choices : "(" + choices + ")";
  }
  return option.takes_file() ? "_files" : " ";
}

std::string zsh(const std::vector<SubcommandText>& subcommands) {
  std::string out =
      "#compdef anabranch\n# Completion of anabranch for zsh.\n_anabranch() {\n  local -a subcommands=(\n";
  for (const SubcommandText& sub : subcommands)
    out += fmt::format("    {}\n", quoted(sub.name + ":" + zsh_text(sub.description), Shell::zsh));
  out += "  )\n  local -a options=(" + quoted(std::string("--help:") + help_text, Shell::zsh) + " " +
         quoted(std::string("--version:") + version_text, Shell::zsh) +
         ")\n"
         "  if (( CURRENT == 2 )); then\n    _describe subcommand subcommands\n    _describe -o option "
         "options\n    return\n"
         "  fi\n"
         "  local subcommand=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $subcommand in\n";
  for (const SubcommandText& sub : subcommands) {
    out += fmt::format("    {})\n      _arguments", sub.name);
    for (const OptionText& option : sub.options) {
      std::string what;
      if (option.positional) {
        what = fmt::format("{}:{}:{}", option.several ? "*" : "", option.names[0], zsh_values(option));
        out += " \\\n        " + quoted(what, Shell::zsh);
        continue;
      }
      for (const std::string& name : option.names) {
        const bool joined = !option.value.empty() && name.starts_with("--");  // --option=value, too
        what = fmt::format("{}{}[{}]", name, joined ? "=" : "", zsh_text(option.whole_description()));
        if (!option.value.empty()) what += fmt::format(":{}:{}", option.value, zsh_values(option));
        out += " \\\n        " + quoted(what, Shell::zsh);
      }
    }
    out += " ;;\n";
  }
  return out + "  esac\n}\n_anabranch \"$@\"\n";
}

// ---- fish

std::string fish_values(const OptionText& option) {
  const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
  if (!option.all.empty()) return fmt::format("(__anabranch_set {} {})", option.all, choices);
  return option.list ? "(__fish_append , " + choices + ")" : choices;
}

std::string fish(const std::vector<SubcommandText>& subcommands) {
  std::string out =
      "# Completion of anabranch for fish.\n"
      "function __anabranch_set\n"
      "  set -l token (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
      "  set -l before (string split , -- \"$token\")\n"
      "  set -e before[-1]\n"
      "  if test (count $before) -eq 0\n"
      "    printf '%s\\n' $argv\n"
      "    return\n"
      "  end\n"
      "  contains -- $argv[1] $before; and return\n"
      "  for word in $argv[2..-1]\n"
      "    contains -- $word $before; or string join , -- $before $word\n"
      "  end\n"
      "end\n"
      "function __anabranch_runs\n"
      "  set -l words (commandline -opc)\n"
      "  test (count $words) -gt 1; and test \"$words[2]\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c anabranch -f\n" +
      fmt::format("complete -c anabranch -n __fish_use_subcommand -l help -d {}\n",
                  quoted(help_text, Shell::fish)) +
      fmt::format("complete -c anabranch -n __fish_use_subcommand -l version -d {}\n",
                  quoted(version_text, Shell::fish));
  for (const SubcommandText& sub : subcommands)
    out += fmt::format("complete -c anabranch -n __fish_use_subcommand -a {} -d {}\n", sub.name,
                       quoted(sub.description, Shell::fish));
  for (const SubcommandText& sub : subcommands)
    for (const OptionText& option : sub.options) {
      out += fmt::format("complete -c anabranch -n '__anabranch_runs {}'", sub.name);
      for (const std::string& name : option.names)
        if (!option.positional)
          out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty())
        out +=
            fmt::format("{} -a {}", option.positional ? "" : " -x", quoted(fish_values(option), Shell::fish));
      else if (option.takes_file())
        out += option.positional ? " -F" : " -r -F";
      else if (!option.value.empty() && !option.positional)
        out += " -x";
      out += fmt::format(" -d {}\n", quoted(option.whole_description(), Shell::fish));
    }
  return out;
}

}  // namespace

std::string completion(const std::vector<SubcommandText>& subcommands, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash(subcommands);
    case Shell::zsh:
      return zsh(subcommands);
    case Shell::fish:
      return fish(subcommands);
  }
  return {};
}

}  // namespace anabranch::apps
