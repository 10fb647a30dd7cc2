#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace cli_test {

/// Checks that the command has ended with this status, has nothing on standard output and one line on standard error,
/// which says this.
void check_refused(const Outcome& outcome, int status, const std::string& says);

/// Calls the command and checks that of it; and that this folder has as many files as before.
void refuses(const TemporaryDirectory& folder, const std::vector<std::string>& arguments, int status,
             const std::string& says);

}  // namespace cli_test
