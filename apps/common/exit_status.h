#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

/// The command's exit statuses: docs/command.md, "Exit codes".
namespace anabranch::apps {

enum ExitStatus : int {
  done = 0,
  answer_is_no = 1,  ///< done: what was looked for is not there
  usage = 2,
  bad_data = 3,
  io_failed = 4,
  no_resources = 5,
  no_backend = 6,
  internal_error = 7,
  by_signal = 128,  // + the signal's number
};

struct StatusText {
  ExitStatus status;
  std::string meaning{};  ///< empty: the usual one
};

/// "Exit status: 0 done; 2 usage; ...": those that every subcommand gives, and `more` of them.
std::string exit_statuses(std::initializer_list<StatusText> more);

/// Inside a catch block: says on standard error what was thrown, and gives its status. `signal`: the one that
/// asked the run to stop, or 0. `help`: what to ask for more about what was tried. Allocates nothing.
int explain_failure(int signal, std::string_view help) noexcept;

}  // namespace anabranch::apps
