#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/peers.h"
#include "support/programs.h"

/// Dot product of two vectors, in memory.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

template <class T>
void add_dot(const std::string& name, std::int64_t n, int calls) {
  add_contest("dot/" + name, [=] {
    const Buffer<T> x = random_numbers<T>(n, 1), y = random_numbers<T>(n, 2);
    double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      expected += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    // A sum in lanes wanders as far as sqrt(n) roundings of its size.
    const double tolerance =
        64 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(static_cast<double>(n));
    auto result = std::make_shared<double>();
    const auto right = [=] {
      return std::abs(*result - expected) <= tolerance * std::sqrt(static_cast<double>(n));
    };
    const auto program = compile<Vector<T>, Vector<T>>(dotp<T>);
    const auto xs = Vector<T>::view(Index<1>{{n}}, x.data()), ys = Vector<T>::view(Index<1>{{n}}, y.data());

    Contest contest;
    contest.amount = 2.0 * sizeof(T) * static_cast<double>(n);
    contest.note = fmt::format("2 x {:.3g} MB", static_cast<double>(n) * sizeof(T) / 1e6);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *result = program.run({.threads = threads}, xs, ys)[0]; }, right,
                                    calls});
      contest.contenders.push_back({"loop (omp simd)", Role::peer, threads,
                                    [=] { *result = dot_loop(x.data(), y.data(), n, threads); }, right,
                                    calls});
      if (threads == 1)
        contest.contenders.push_back({"Eigen", Role::peer, threads,
                                      [=] { *result = eigen_dot(x.data(), y.data(), n); }, right, calls});
      auto read = std::make_shared<ReadAll>(threads);
      read->also(x).also(y);
      contest.contenders.push_back({"read all bytes", Role::limit, threads, [=] { (*read)(); }, {}, calls});
    }
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_dot<double>("f64", 20'000'000, 1);
  add_dot<float>("f32", 20'000'000, 1);
  add_dot<double>("f64_in_L2", 40'000, 500);
  return run_all(argc, argv);
}
