#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "support/contest.h"

/// What passes from item to item of a stream of single elements in memory, beside a loop in C++.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Number = std::int32_t;
using Items = Seq<Scalar<Number>>;

/// `make`: of the items, those with the state. `loop` writes the same ones.
template <class Make, class Loop>
void add_states(const std::string& name, std::int64_t n, Make make, Loop loop) {
  add_contest("states/" + name, [=] {
    const auto from = std::make_shared<Vector<Number>>(Index{n});
    for (std::int64_t i = 0; i < n; ++i) from->set(i, static_cast<Number>(i * 7919 % 1013 - 400));
    const auto to = std::make_shared<Vector<Number>>(Index{n}),
               other = std::make_shared<Vector<Number>>(Index{n});
    const auto program = std::make_shared<Program<Acc<Vector<Number>>, Vector<Number>>>(
        compile<Vector<Number>>([=](auto a) { return consume(elements(make(rows(a)))); }));
    const auto by_loop = [=] { loop(from->data(), n, other->mutable_data()); };
    by_loop();
    const auto right = [=] { return std::equal(to->data(), to->data() + n, other->data()); };
    Contest contest;
    contest.amount = 2.0 * sizeof(Number) * static_cast<double>(n);
    contest.note = fmt::format("{:.3g} M items", static_cast<double>(n) / 1e6);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*to, {.threads = threads}, *from); }, right});
      if (threads == 1) contest.contenders.push_back({"loop", Role::peer, threads, by_loop});
    }
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t n = 20'000'000;
  add_states(
      "count", n,
      [](Items items) {
        return map_accum_seq(
            [](auto count, auto x) {
              return std::pair(unit(cond(the(x) > 0, the(count) + 1, the(count))), unit(the(count) * the(x)));
            },
            unit(0), items);
      },
      [](const Number* x, std::int64_t size, Number* out) {
        for (std::uint32_t i = 0, count = 0; i < size; count += x[i++] > 0)
          out[i] = static_cast<Number>(count * static_cast<std::uint32_t>(x[i]));
      });
  add_states(
      "difference", n,
      [](Items items) {
        return map_accum_seq([](auto last, auto x) { return std::pair(x, unit(the(x) - the(last))); },
                             unit(0), items);
      },
      [](const Number* x, std::int64_t size, Number* out) {
        for (std::int64_t i = 0; i < size; ++i) out[i] = x[i] - (i == 0 ? 0 : x[i - 1]);
      });
  add_states(
      "last_valid", n,
      [](Items items) {
        return scan_seq([](auto last, auto x) { return unit(cond(the(x) > 0, the(x), the(last))); }, unit(0),
                        items);
      },
      [](const Number* x, std::int64_t size, Number* out) {
        Number last = 0;
        for (std::int64_t i = 0; i < size; ++i) out[i] = last = x[i] > 0 ? x[i] : last;
      });
  add_states(
      "run_length", n,
      [](Items items) {
        return map_accum_seq(
            [](auto last, auto run, auto x) {
              return std::pair(std::tuple(x, unit(cond(the(x) > the(last), the(run) + 1, 0))), run);
            },
            std::tuple(unit(0), unit(0)), items);
      },
      [](const Number* x, std::int64_t size, Number* out) {
        Number last = 0, run = 0;
        for (std::int64_t i = 0; i < size; ++i) {
          out[i] = run;
          run = x[i] > last ? run + 1 : 0;
          last = x[i];
        }
      });
  // One after the other: the sum decides about itself.
  add_states(
      "saturated", n,
      [](Items items) {
        return scan_seq([](auto sum, auto x) { return unit(min(max(the(sum) + the(x), -1000), 1000)); },
                        unit(0), items);
      },
      [](const Number* x, std::int64_t size, Number* out) {
        Number sum = 0;
        for (std::int64_t i = 0; i < size; ++i) out[i] = sum = std::min(std::max(sum + x[i], -1000), 1000);
      });
  return run_all(argc, argv);
}
