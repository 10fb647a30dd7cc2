#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/exit_status.h"
#include "apps/common/proposals.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"
#include "apps/manual/subcommands.h"

namespace anabranch::apps {

namespace {

std::string page_about(const CLI::App& app, const std::string& subcommand) {
  const auto all = subcommands_of(app);
  if (subcommand.empty()) return manual_page(all, app.get_description(), app.get_footer());
  for (const SubcommandText& sub : all)
    if (sub.name == subcommand) return manual_page(sub);
  throw UsageError("'" + subcommand + "' is no subcommand");
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("completion", "Print what makes a shell complete this command's words");
  auto shell = std::make_shared<std::string>();
  sub->add_option("SHELL", *shell,
                  "bash, zsh or fish: bash and fish source it, zsh wants it as _anabranch in $fpath")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->option_text("NAME");
  sub->footer(exit_statuses({}));
  sub->callback([&app, &chosen, shell] {
    chosen = [&app, shell](Interrupt&) {
      print(completion(subcommands_of(app), *shell == "bash"  ? Shell::bash
                                            : *shell == "zsh" ? Shell::zsh
                                                              : Shell::fish));
      return done;
    };
  });
}

void add_man(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("man", "Print a manual page, for man -l -");
  auto subcommand = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  sub->add_option("SUBCOMMAND", *subcommand, "Which one it is about; default: the command as a whole")
      ->check(one_of(names))
      ->option_text("NAME");
  sub->footer(exit_statuses({}));
  sub->callback([&app, &chosen, subcommand] {
    chosen = [&app, subcommand](Interrupt&) {
      print(page_about(app, *subcommand));
      return done;
    };
  });
}

}  // namespace anabranch::apps
