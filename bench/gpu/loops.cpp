#include <anabranch/anabranch.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "support/programs.h"

namespace anabranch::bench {
namespace {

/// `compiled`, which is a loop of so many turns.
template <class T>
Contender loop(Program<Acc<Vector<T>>> compiled, Backend backend, const std::vector<T>& expected,
               std::int64_t turns) {
  const auto program = std::make_shared<Program<Acc<Vector<T>>>>(std::move(compiled));
  const auto result = std::make_shared<Vector<T>>();
  return Contender{.run = [=] { *result = program->run({.backend = backend}); },
                   .right =
                       [=, &expected] {
                         return result->size() == static_cast<std::int64_t>(expected.size()) &&
                                std::equal(expected.begin(), expected.end(), result->data());
                       },
                   .on_stream = false,
                   .turns = turns,
                   .note = fmt::format("a turn of {} in a whole run", turns)};
}

/// What counted_loop gives: elements that are all the same.
std::vector<float> after_rounds(std::int64_t rounds, std::size_t n) {
  float x = 1;
  for (std::int64_t i = 0; i < rounds; ++i) x = x * 0.5f + 1.0f;
  return std::vector<float>(n, x);
}

std::vector<std::int64_t> sums_to(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i * (i + 1) / 2);
  return out;
}

}  // namespace

nlohmann::json hold_loops(const Bench& bench, const std::string& name, std::int64_t turns) {
  constexpr std::int64_t elements = 1000;
  Contest contest(
      bench, name,
      fmt::format("turns of loops: a counter and a map of {} floats; of each of {} items, of which "
                  "one fewer goes on with each turn",
                  elements, turns));
  const std::vector<float> rounded = after_rounds(turns, static_cast<std::size_t>(elements));
  const std::vector<std::int64_t> sums = sums_to(turns);
  const auto enter = [&](const std::string& who, Backend backend) {
    contest.enter(who, [&] { return loop(compile(counted_loop(turns, elements)), backend, rounded, turns); });
  };
  const auto enter_items = [&](const std::string& who, Backend backend) {
    contest.enter(who, [&] { return loop(compile(loops_of_items(turns)), backend, sums, turns); });
  };
  enter("anabranch cuda: awhile", Backend::cuda);
  enter("anabranch cpu: awhile", Backend::cpu);
  enter_items("anabranch cuda: awhile of items", Backend::cuda);
  enter_items("anabranch cpu: awhile of items", Backend::cpu);
  enter_launch(contest);
  return contest.hold();
}

}  // namespace anabranch::bench
