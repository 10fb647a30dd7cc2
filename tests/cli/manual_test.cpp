#include "support/catch.h"

#include "command.h"
#include "help_page.h"

// Completions of shells and manual pages: made of what the command's parser knows.
using namespace cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

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

/// The names of a subcommand's options, without "--".
std::vector<std::string> options_of(const std::string& subcommand) {
  std::vector<std::string> options;
  for (const HelpPage::Entry& entry : help_of(subcommand).entries)
    if (const std::size_t at = entry.name.find("--"); at != std::string::npos)
      options.push_back(entry.name.substr(at + 2, entry.name.find(' ', at) - at - 2));
  return options;
}

std::string in_roff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '-' ? "\\-" : std::string(1, c);
  return out;
}

/// Without what roff and shells write around characters.
std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '\\' || c == '\''; });
  for (std::size_t at = 0; (at = text.find("\n&", at)) != std::string::npos;) text.erase(at + 1, 1);
  return text;
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
    for (const std::string& option : options_of(name)) {
      INFO(option);
      CHECK(has(own.out, in_roff("--" + option)));
      CHECK(has(bash, "--" + option));
      CHECK(has(zsh, "--" + option));
      CHECK(has(fish, "-l " + option));
    }
  }
}

TEST_CASE("completion and manual pages have all that the help says, and more") {
  const std::string zsh = plain(command({"completion", "zsh"}).out),
                    fish = plain(command({"completion", "fish"}).out);
  for (const std::string& name : subcommands()) {
    const std::string page = plain(command({"man", name}).out);
    for (const HelpPage::Entry& entry : help_of(name).entries) {
      INFO(name << " " << entry.name);
      CHECK(has(page, plain(entry.text)));
      CHECK(has(fish, plain(entry.text)));
      if (entry.name.starts_with('-')) CHECK(has(zsh, plain(entry.text)));
    }
  }
  for (const char* more :
       {"It bounds x, y, indices and chunks", "It bounds what is read, computed and written",
        "With auto it is cuda where that is expected to be quicker", "Its entries are sorted on disk first",
        "with --json also each chunk"}) {
    INFO(more);
    CHECK(has(zsh, more));
    CHECK(has(fish, more));
    CHECK(has(plain(command({"man", "smvm"}).out + command({"man", "audio"}).out), more));
  }
}

TEST_CASE("manual pages: options stand in the groups of the help") {
  const std::string page = command({"man", "smvm"}).out;
  const std::size_t own = page.find("\n.TP\n\\fB\\-\\-vector\\fR"), run = page.find("\n.SS Run options\n"),
                    help = page.find("\n.SS Help\n");
  CHECK(page.find("\n.SH OPTIONS\n") < own);
  CHECK(own < run);
  CHECK(run < page.find("\n.TP\n\\fB\\-\\-backend\\fR"));
  CHECK(run < help);
  CHECK(help < page.find("\n.TP\n\\fB\\-h\\fR, "));
  CHECK(has(page, "\n\\fBanabranch\\fR(1), docs/smvm.md\n"));
}

TEST_CASE("manual pages: what has to be given stands without brackets") {
  CHECK(has(command({"man", "audio"}).out, "\n\\fB\\-\\-out\\fR \\fIFILE\\fR\n"));
  CHECK(has(command({"man", "generate"}).out, "\n\\fB\\-\\-size\\fR \\fIN\\fR\n"));
  CHECK(has(command({"man", "smvm"}).out, "\n[\\fB\\-\\-out\\fR \\fIFILE\\fR]\n"));
}

TEST_CASE("manual pages: exit statuses are those of the subcommand's help") {
  for (const std::string& name : subcommands()) {
    INFO(name);
    const std::string page = command({"man", name}).out;
    std::string section = "\n.SH EXIT STATUS\n";
    for (const std::string& status : help_of(name).statuses) {
      const std::size_t end = status.find(' ');
      section += ".TP\n\\fB" + status.substr(0, end) + "\\fR\n" + status.substr(end + 1) + "\n";
    }
    CHECK(has(page, section + ".SH SEE ALSO\n"));
    CHECK_FALSE(has(page, "Exit status: "));
  }
  CHECK(has(command({"man", "md5"}).out, "\n\\fB0\\fR\na digest was found\n.TP\n\\fB1\\fR\n"));
  CHECK(has(command({"man", "smvm"}).out, "\n\\fB0\\fR\ndone\n.TP\n\\fB2\\fR\n"));
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
