#include "support/catch.h"

#include "command.h"

// Completions of shells and manual pages: made of what the command's parser knows.
using namespace cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// What bash proposes for the last of these words.
std::vector<std::string> proposals(const std::string& script, const std::string& words) {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "questions", script + "COMP_WORDS=(" + words +
                                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_anabranch\n"
                                             "printf '%s\\n' \"${COMPREPLY[@]}\" > " +
                                             (dir / "reply") + "\n");
  REQUIRE(std::system(("cd " + dir.path() + " && touch a.npz && bash questions").c_str()) == 0);
  return lines_of(io_test::read_file(dir / "reply"));
}

/// Of the help: the words at the beginnings of the lines below "Subcommands:".
std::vector<std::string> subcommands() {
  std::vector<std::string> names;
  bool below = false;
  for (const std::string& line : lines_of(command({"--help"}).out)) {
    if (below && line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    below = below || has(line, "Subcommands:");
  }
  return names;
}

}  // namespace

TEST_CASE("completion: bash proposes subcommands, options, choices and files") {
  const std::string script = command({"completion", "bash"}).out;
  using Words = std::vector<std::string>;
  CHECK(proposals(script, "anabranch ge") == Words{"generate"});
  CHECK(proposals(script, "anabranch smvm --ba") == Words{"--backend"});
  CHECK(proposals(script, "anabranch smvm m.npz --backend cp") == Words{"cpu", "cpu+cuda"});
  CHECK(proposals(script, "anabranch smvm --scheduler f") == Words{"fixed:"});
  CHECK(proposals(script, "anabranch smvm a") == proposals(script, "anabranch smvm m.npz --vector a"));
  CHECK(proposals(script, "anabranch smvm a").front() == "a.npz");
  CHECK(proposals(script, "anabranch md5 a").front() == "a.npz");
  CHECK(proposals(script, "anabranch audio b.wav a").front() == "a.npz");
  CHECK(proposals(script, "anabranch pagerank a").front() == "a.npz");
  CHECK(proposals(script, "anabranch generate rm") == Words{"rmat"});
  CHECK(proposals(script, "anabranch explain s") == Words{"smvm"});
  CHECK(proposals(script, "anabranch man ge") == Words{"generate"});
  CHECK(proposals(script, "anabranch pagerank g.txt --first-node ''") == Words{"0", "1"});
  CHECK(proposals(script, "anabranch audio a.wav --features mf") == Words{"mfcc"});
  CHECK(proposals(script, "anabranch audio a.wav --features rms,lp") == Words{"rms,lpc"});
  // Each feature once; all of them alone.
  CHECK(proposals(script, "anabranch audio a.wav --features a") == Words{"autocorrelation", "all"});
  CHECK(proposals(script, "anabranch audio a.wav --features rms,a") == Words{"rms,autocorrelation"});
  CHECK(proposals(script, "anabranch audio a.wav --features lpc,rms,m") ==
        Words{"lpc,rms,mean", "lpc,rms,melspectrogram", "lpc,rms,mfcc"});
  CHECK(proposals(script, "anabranch audio a.wav --features rms,r") == Words{""});
  CHECK(proposals(script, "anabranch audio a.wav --features all,m") == Words{""});
  CHECK(proposals(script, "anabranch md5 a b --rules leet,lower+append-d") ==
        Words{"leet,lower+append-digit"});
  CHECK(proposals(script, "anabranch smvm --threads ''") == Words{""});  // any number
}

TEST_CASE(
    "completion: bash proposes values behind '=', which it takes for a word where COMP_WORDBREAKS has it") {
  const std::string script = command({"completion", "bash"}).out;
  using Words = std::vector<std::string>;
  CHECK(proposals(script, "anabranch smvm m.npz --backend = c") == Words{"cpu", "cuda", "cpu+cuda"});
  CHECK(proposals(script, "anabranch smvm m.npz --backend =") ==
        Words{"cpu", "cuda", "cpu+cuda", "auto", "interpreter"});
  CHECK(proposals(script, "anabranch smvm m.npz --backend=i") == Words{"--backend=interpreter"});
  CHECK(proposals(script, "anabranch smvm m.npz --vector = a") == Words{"a.npz"});
  CHECK(proposals(script, "anabranch smvm m.npz --vector=a") == Words{"--vector=a.npz"});
  CHECK(proposals(script, "anabranch audio a.wav --features = rms,lp") == Words{"rms,lpc"});
  CHECK(proposals(script, "anabranch audio a.wav --features=rms,lp") == Words{"--features=rms,lpc"});
  CHECK(proposals(script, "anabranch smvm m.npz --threads=") == Words{""});
}

TEST_CASE("completion: bash counts arguments, not what stands between them") {
  const std::string script = command({"completion", "bash"}).out;
  using Words = std::vector<std::string>;
  CHECK(proposals(script, "anabranch explain --json sm") == Words{"smvm"});
  CHECK(proposals(script, "anabranch explain --json smvm a") == Words{"a.npz"});
  CHECK(proposals(script, "anabranch explain smvm --json a") == Words{"a.npz"});
}

TEST_CASE("completion: lists and choices in zsh and fish; what goes on is not followed by a blank in bash") {
  const std::string bash = command({"completion", "bash"}).out, zsh = command({"completion", "zsh"}).out,
                    fish = command({"completion", "fish"}).out;
  CHECK(has(bash, "*:) compopt -o nospace"));
  CHECK(has(zsh, ":LIST: _values -s , LIST \"(all)mean\" \"(all)rms\" "));
  CHECK(has(zsh, ":LIST: _values -s , LIST lower upper "));
  CHECK(has(zsh, ":N:(0 1)"));
  CHECK(has(zsh, "':SUBCOMMAND:(smvm pagerank "));
  CHECK(has(fish, "-l features -x -a '(__anabranch_set all mean rms "));
  CHECK(has(fish, "-l rules -x -a '(__fish_append , lower upper "));
  CHECK(has(fish, "-l first-node -x -a '0 1'"));
  CHECK(has(fish, "__anabranch_runs man' -a 'smvm pagerank "));
}

TEST_CASE("completion and manual pages know every subcommand and option of the help") {
  const std::vector<std::string> names = subcommands();
  REQUIRE(names.size() >= 6);
  const std::string page = command({"man"}).out;
  CHECK(page.starts_with(".TH \"ANABRANCH\" 1"));
  CHECK(has(page, "\n.SH EXIT STATUS\n"));
  const std::string bash = command({"completion", "bash"}).out, zsh = command({"completion", "zsh"}).out,
                    fish = command({"completion", "fish"}).out;
  CHECK(zsh.starts_with("#compdef anabranch\n"));
  for (const std::string& name : names) {
    INFO(name);
    CHECK(has(page, "\\fBanabranch\\-" + name + "\\fR(1)"));
    CHECK(has(bash, "    " + name + ")\n"));
    CHECK(has(zsh, "    " + name + ")\n"));
    CHECK(has(fish, "-a " + name + " "));
    const Outcome own = command({"man", name});
    CHECK(own.status == 0);
    const std::string help = command({name, "--help"}).out;
    for (std::size_t at = help.find("  --"); at != std::string::npos; at = help.find("  --", at + 4)) {
      const std::string option = help.substr(at + 4, help.find_first_of(" ,\n", at + 4) - at - 4);
      INFO(option);
      std::string in_roff;
      for (const char c : "--" + option) in_roff += c == '-' ? "\\-" : std::string(1, c);
      CHECK(has(own.out, in_roff));
      CHECK(has(bash, "--" + option));
      CHECK(has(zsh, "--" + option));
      CHECK(has(fish, "-l " + option));
    }
  }
}

TEST_CASE("manual pages: what has to be given stands without brackets") {
  CHECK(has(command({"man", "audio"}).out, "\n\\fB\\-\\-out\\fR \\fIFILE\\fR\n"));
  CHECK(has(command({"man", "generate"}).out, "\n\\fB\\-\\-size\\fR \\fIN\\fR\n"));
  CHECK(has(command({"man", "smvm"}).out, "\n[\\fB\\-\\-out\\fR \\fIFILE\\fR]\n"));
}

TEST_CASE("manual pages: exit statuses are those of the subcommand's help") {
  for (const std::string& name : subcommands()) {
    INFO(name);
    const std::string help = command({name, "--help"}).out, page = command({"man", name}).out;
    const std::string heading = "Exit status: 0 ";
    const std::size_t begin = help.find(heading);
    REQUIRE(begin != std::string::npos);
    const std::size_t meaning = begin + heading.size();
    const std::string first = help.substr(meaning, help.find(';', begin) - meaning);
    CHECK(has(page, "\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\n" + first + "\n.TP\n\\fB1\\fR\n"));
    CHECK(has(page,
              "\n\\fB129\\fR\nstopped by SIGHUP\n.TP\n\\fB130\\fR\nby SIGINT\n.TP\n\\fB143\\fR\nby SIGTERM"));
    CHECK_FALSE(has(page, "Exit status: "));
  }
  CHECK(has(command({"man", "md5"}).out, "\n\\fB0\\fR\na digest was found\n"));
  CHECK(has(command({"man", "smvm"}).out, "\n\\fB0\\fR\ndone\n"));
}

TEST_CASE("completion and manual pages: what there is not") {
  CHECK(command({"completion"}).status == 2);
  const Outcome shell = command({"completion", "csh"});
  CHECK(shell.status == 2);
  CHECK(has(shell.err, "bash"));
  const Outcome page = command({"man", "multiply"});
  CHECK(page.status == 2);
  CHECK(has(page.err, "'multiply' is no subcommand"));
}
