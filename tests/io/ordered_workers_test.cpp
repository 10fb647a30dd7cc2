#include "support/catch.h"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/base/ordered_workers.h"

using namespace anabranch::io::detail;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers_below(std::int64_t n) {
  Numbers out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

struct State {
  std::int64_t piece = -1, twice = -1;
};

}  // namespace

TEST_CASE("pieces go through each step in order, by any number of threads") {
  constexpr std::int64_t pieces = 700;
  for (const int threads : {1, 2, 7, 64, 192})
    for (const int steps : {1, 5}) {
      INFO(threads << " threads, " << steps << " steps");
      std::int64_t next = 0;
      std::vector<Numbers> committed(static_cast<std::size_t>(steps));
      std::atomic<int> wrong = 0;
      const auto alone = [](const State& s) { return s.piece % 50 == 7; };
      run_ordered_in_steps<State>(
          threads, steps,
          [&](State& s) {
            s.piece = next++;
            return s.piece < pieces;
          },
          [](State& s) { s.twice = 2 * s.piece; }, alone,
          [&](State& s, int step) {
            if (step == 0 && alone(s))
              for (const Numbers& of_step : committed) wrong += std::ssize(of_step) != s.piece;
            committed[static_cast<std::size_t>(step)].push_back(s.twice / 2);
          });
      CHECK(wrong == 0);
      for (const Numbers& of_step : committed) CHECK(of_step == numbers_below(pieces));
    }
}

TEST_CASE("the first piece that fails is the one whose error comes out, in whichever step") {
  for (const int threads : {1, 2, 7, 64})
    for (const int failing_step : {0, 3, 4}) {
      INFO(threads << " threads, step " << failing_step);
      constexpr int steps = 5;
      constexpr std::int64_t failing = 123;
      std::int64_t next = 0;
      std::vector<Numbers> committed(steps);
      const auto run = [&] {
        run_ordered_in_steps<State>(
            threads, steps,
            [&](State& s) {
              s.piece = next++;
              if (s.piece == failing + 5) throw std::runtime_error("taking");
              return true;
            },
            [&](State& s) {
              if (s.piece > failing) throw std::runtime_error("working");
            },
            [](const State&) { return false; },
            [&](State& s, int step) {
              if (s.piece == failing && step == failing_step) throw std::runtime_error("committing");
              committed[static_cast<std::size_t>(step)].push_back(s.piece);
            });
      };
      CHECK_THROWS_WITH(run(), "committing");
      for (int step = 0; step < steps; ++step)
        CHECK(committed[static_cast<std::size_t>(step)] ==
              numbers_below(failing + (step < failing_step ? 1 : 0)));
    }
}
