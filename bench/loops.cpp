#include <anabranch/anabranch.h>

#include <memory>
#include <string>

#include "support/contest.h"
#include "support/programs.h"

/// What a round of a loop over small arrays costs, alone and for the items of a stream.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

template <class P>
void add_rounds(const std::string& name, const std::string& note, double target, std::int64_t rounds,
                P make) {
  add_figure("loops/" + name, note, target, [=] {
    auto program = std::make_shared<decltype(compile(make(rounds)))>(compile(make(rounds)));
    program->run({.threads = 1});
    return [=] {
      const double begin = now();
      program->run({.threads = 1});
      return (now() - begin) / static_cast<double>(rounds);
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t n : {1, 1000})
    add_rounds("awhile, arrays of " + std::to_string(n), "a round: a counter, and a map", 10e-6, 20'000,
               [n](std::int64_t rounds) { return counted_loop(rounds, n); });
  add_rounds("awhile of 1000 items", "a round of all items that are still active; item i has i rounds", 0,
             1000, loops_of_items);
  return run_all(argc, argv);
}
