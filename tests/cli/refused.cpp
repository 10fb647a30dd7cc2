#include "refused.h"

#include <algorithm>

#include "support/catch.h"

namespace cli_test {

void check_refused(const Outcome& outcome, int status, const std::string& says) {
  INFO(outcome.err);
  INFO("expected: " << says);
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("anabranch: "));
  CHECK(outcome.err.find(says) != std::string::npos);
  CHECK(outcome.err.ends_with('\n'));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

void refuses(const TemporaryDirectory& folder, const std::vector<std::string>& arguments, int status,
             const std::string& says) {
  std::string line;
  for (const std::string& argument : arguments) line += argument + " ";
  INFO(line);
  const int files = folder.files();
  check_refused(command(arguments, {.environment = {"TMPDIR=" + folder.path()}}), status, says);
  CHECK(folder.files() == files);
}

}  // namespace cli_test
