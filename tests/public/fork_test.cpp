#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "agree.h"

namespace anabranch::testing {
namespace {

/// How a child ends that does this, in half a minute at most.
template <class F>
int status_of_child(F&& does) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    int status = 1;
    try {
      status = does() ? 0 : 2;
    } catch (...) {  // NOLINT: the status says so
    }
    ::_exit(status);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

bool same(const Vector<double>& a, const Vector<double>& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data());
}

TEST_CASE("a process that is forked after a run may run programs, and destroy them", "[once]") {
  Matrix<double> m(Index{300, 7});
  for (std::int64_t i = 0; i < 300; ++i)
    for (std::int64_t k = 0; k < 7; ++k) m.set(Index{i, k}, static_cast<double>(i - k));
  const auto program_of = [&](double factor) {
    return compile<Matrix<double>>([=](auto a) {
      return consume(elements(
          map_seq([=](auto row) { return sum(map([=](auto x) { return x * factor; }, row)); }, rows(a))));
    });
  };
  const RunOptions options{.threads = 3, .scheduler = "fixed:20"};
  auto program = std::make_unique<decltype(program_of(1.0))>(program_of(1.0));
  const Vector<double> before = program->run(options, m);
  CHECK(status_of_child([&] {
          program.reset();
          return true;
        }) == 0);
  CHECK(status_of_child([&] {
          const bool as_before = same(program->run(options, m), before);
          program.reset();
          const Vector<double> doubled = program_of(2.0).run(options, m);
          return as_before && doubled.size() == before.size() && doubled[Index{3}] == 2.0 * before[Index{3}];
        }) == 0);
  CHECK(same(program->run(options, m), before));
}

}  // namespace
}  // namespace anabranch::testing
