#include "new_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

namespace anabranch::bench {

double in_new_process(const std::function<double()>& measure) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    double seconds = -1;
    try {
      seconds = measure();
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
    }
    const bool written = ::write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  double seconds = -1;
  const bool got = ::read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!got || seconds < 0) throw std::runtime_error("the measuring process failed");
  return seconds;
}

}  // namespace anabranch::bench
