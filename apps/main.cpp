#include <execinfo.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/version.h>

#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/exit_status.h"
#include "apps/common/interrupt.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"
#include "apps/manual/subcommands.h"

// The command: its subcommands, and what the exit status says.
namespace anabranch::apps {
namespace {

/// An option that is given has a value: "" is a slip,
/// not the default. What is missing is called as in the help.
void require_values(CLI::App& app) {
  const CLI::Validator filled(
      [](const std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, "", "");
  for (CLI::App* sub : app.get_subcommands({}))
    for (CLI::Option* option : sub->get_options())
      if (option->get_items_expected_max() > 0) option->check(filled)->type_name(option->get_option_text());
}

std::string unknown_arguments(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  return (unknown.size() > 1 ? "these arguments are not expected: " : "not expected: ") +
         CLI::detail::join(unknown, " ");
}

/// Of an option that has more values than it takes.
std::optional<std::string> given_too_often(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands())
    for (const CLI::Option* option : sub->get_options()) {
      const int most = option->get_items_expected_max();
      if (most > 0 && option->count() > static_cast<std::size_t>(most))
        return option->get_name() + " is given " + std::to_string(option->count()) + " times";
    }
  return std::nullopt;
}

/// As many as the system lets this process have: word lists are all open during a run.
void allow_many_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

/// `interrupt` is made when there is work to be stopped. `help`: what to ask for more about what was tried.
int run(int argc, char** argv, std::optional<Interrupt>& interrupt, std::string& help) {
  CLI::App app("Streams of irregular arrays, compiled for this machine.", "anabranch");
  app.set_version_flag("--version", std::string("anabranch ") + library_version());
  app.require_subcommand(1);
  app.footer(exit_statuses({{answer_is_no}, {bad_data}, {no_backend}}));
  app.formatter_fn([](const CLI::App* asked, const std::string&, CLI::AppFormatMode) {
    return help_page(text_of(*asked), subcommands_of(*asked));
  });
  Action chosen;
  add_smvm(app, chosen);
  add_pagerank(app, chosen);
  add_md5(app, chosen);
  add_audio(app, chosen);
  add_generate(app, chosen);
  add_explain(app, chosen);
  add_doctor(app, chosen);
  add_completion(app, chosen);
  add_man(app, chosen);
  require_values(app);
  if (const std::string first = argc > 1 ? argv[1] : ""; argc > 1 && !first.starts_with("-")) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    if (std::find(names.begin(), names.end(), first) == names.end())
      throw UsageError("'" + first + "' is no subcommand; there are " + CLI::detail::join(names, ", "));
    help = "anabranch " + first + " --help";
  }
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments)  // of a list CLI11 would take "[a,b]" for two
    if (argument.starts_with("[") && argument.ends_with("]")) argument.insert(0, "./");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    print(text.str());
    return done;
  } catch (const CLI::RequiredError& e) {
    throw UsageError(app.remaining_size(true) > 0 ? unknown_arguments(app) : e.what());
  } catch (const CLI::ExtrasError&) {
    throw UsageError(unknown_arguments(app));
  } catch (const CLI::ArgumentMismatch& e) {
    throw UsageError(given_too_often(app).value_or(e.what()));
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  return chosen(interrupt.emplace());
}

}  // namespace
}  // namespace anabranch::apps

int main(int argc, char** argv) {
  // The C library loads its unwinder when a thread first ends by it, and ends the process where memory is short then.
  void* frame = nullptr;
  static_cast<void>(::backtrace(&frame, 1));
  anabranch::apps::open_standard_descriptors();
  anabranch::apps::allow_many_open_files();
  // A reader of ours that goes away is a failed write, not a death; so is a file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<anabranch::apps::Interrupt> interrupt;
  std::string help = "anabranch --help";
  try {
    return anabranch::apps::run(argc, argv, interrupt, help);
  } catch (...) {
    return anabranch::apps::explain_failure(interrupt ? interrupt->signal() : 0, help);
  }
}
