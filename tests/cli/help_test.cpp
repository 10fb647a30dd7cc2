#include <map>

#include "support/catch.h"

#include "command.h"
#include "help_page.h"

// What --help prints.
using namespace cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Of the command as a whole, and of each subcommand.
std::vector<std::string> all_pages() {
  std::vector<std::string> names = subcommands();
  names.insert(names.begin(), "");
  return names;
}

/// The numbers that statuses begin with, with a blank behind each.
std::string numbers_of(const std::vector<std::string>& statuses) {
  std::string numbers;
  for (const std::string& status : statuses) numbers += status.substr(0, status.find(' ') + 1);
  return numbers;
}

}  // namespace

TEST_CASE("help: the subcommands, their options, the exit codes") {
  const Outcome help = command({"--help"});
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  for (const char* part : {"smvm", "generate", "explain", "doctor", "Exit status", "143"})
    CHECK(has(help.out, part));
  const Outcome smvm = command({"smvm", "--help"});
  CHECK(smvm.status == 0);
  for (const char* part :
       {"MATRIX", "--vector", "--out", "--backend", "--threads", "--memory", "--scheduler", "--repeat",
        "--trace", "--report", "--json", "--stats", "--progress", "--no-progress", "256M", "fixed:N"})
    CHECK(has(smvm.out, part));
  const Outcome generate = command({"generate", "--help"});
  CHECK(generate.status == 0);
  for (const char* part :
       {"laplacian2d", "laplacian3d", "banded", "powerlaw", "rmat", "--size", "--points", "--seed", "--out"})
    CHECK(has(generate.out, part));
  CHECK(command({"explain", "--help"}).status == 0);
  CHECK(command({"doctor", "--help"}).status == 0);
  CHECK(command({"--version"}).out == "anabranch 0.1.0\n");
}

TEST_CASE("help: options that have to be given stand in the line of usage") {
  CHECK(has(command({"audio", "--help"}).out, "Usage: anabranch audio --out FILE [OPTIONS] IN...\n"));
  CHECK(has(command({"generate", "--help"}).out,
            "Usage: anabranch generate --size N --out FILE [OPTIONS] KIND\n"));
  CHECK(has(command({"smvm", "--help"}).out, "Usage: anabranch smvm [OPTIONS] MATRIX\n"));
  CHECK(has(command({"explain", "--help"}).out, "Usage: anabranch explain [OPTIONS] PROGRAM [MATRIX]\n"));
  CHECK(has(command({"--help"}).out, "Usage: anabranch [OPTIONS] SUBCOMMAND\n"));
}

TEST_CASE("help: a page is 80 columns wide and about 50 lines long, in the words of the command alone") {
  const std::vector<std::string> pages = all_pages();
  REQUIRE(pages.size() >= 10);
  for (const std::string& name : pages) {
    INFO(name);
    const HelpPage page = help_of(name);
    CHECK(page.lines.size() > 8);
    CHECK(page.lines.size() <= 50);
    for (const std::string& line : page.lines) {
      INFO(line);
      CHECK(line.size() <= 80);
      CHECK_FALSE(line.ends_with(' '));
      for (const char* of_the_parser : {"Excludes", "Needs", "REQUIRED", "Positionals"})
        CHECK_FALSE(has(line, of_the_parser));
    }
  }
}

TEST_CASE("help: what goes on in the next line begins below the text") {
  const HelpPage page = help_of("audio");
  std::size_t texts = 0;
  for (const std::string& line : page.lines) {
    const std::size_t first = line.find_first_not_of(' ');
    if (line.starts_with("  --features")) texts = line.find("Some of these");
    if (first != std::string::npos && first > 2) CHECK(first == texts);
  }
  CHECK(texts > 12);
  for (const HelpPage::Entry& entry : page.entries)
    if (entry.name == "--features LIST") CHECK(has(entry.text, "spectral_rolloff, spectral_flatness, mfcc"));
}

TEST_CASE("help: a subcommand's own options come first, then those of all runs, then help") {
  using Headings = std::vector<std::string>;
  CHECK(help_of("").sections == Headings{"Subcommands", "Help"});
  CHECK(help_of("generate").sections == Headings{"Arguments", "Options", "Help"});
  CHECK(help_of("doctor").sections == Headings{"Help"});
  std::vector<std::string> of_a_run;
  for (const char* name : {"smvm", "pagerank", "md5", "audio"}) {
    INFO(name);
    const HelpPage page = help_of(name);
    CHECK(page.sections == Headings{"Arguments", "Options", "Run options", "Help"});
    CHECK(page.entries.back().name == "-h, --help");
    std::vector<std::string> options;
    for (const HelpPage::Entry& entry : page.entries)
      if (entry.section == "Run options") options.push_back(entry.name + ": " + entry.text);
    CHECK(options.size() == 13);
    if (of_a_run.empty()) of_a_run = options;
    CHECK(options == of_a_run);
  }
}

TEST_CASE("help: exit statuses are those that the subcommand gives") {
  const std::string signals = "129 130 143 ";
  const std::map<std::string, std::string> expected{
      {"", "0 1 2 3 4 5 6 7 "},        {"smvm", "0 2 3 4 5 6 7 "}, {"audio", "0 2 3 4 5 6 7 "},
      {"md5", "0 1 2 3 4 5 6 7 "},     {"doctor", "0 2 4 5 6 7 "}, {"explain", "0 2 3 4 5 7 "},
      {"generate", "0 2 4 5 7 "},      {"man", "0 2 4 5 7 "},      {"completion", "0 2 4 5 7 "},
      {"pagerank", "0 1 2 3 4 5 6 7 "}};
  for (const std::string& name : all_pages()) {
    INFO(name);
    CHECK(numbers_of(help_of(name).statuses) == expected.at(name) + signals);
  }
}

TEST_CASE("help: where to read on") {
  CHECK(help_of("smvm").lines.back() == "More: anabranch man smvm | man -l -; docs/smvm.md");
  CHECK(help_of("doctor").lines.back() == "More: anabranch man doctor | man -l -; docs/command.md");
  CHECK(help_of("").lines.back() ==
        "More: anabranch SUBCOMMAND --help; anabranch man | man -l -; docs/command.md");
}
