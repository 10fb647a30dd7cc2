#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "support/contest.h"
#include "support/mathematics_peers.h"
#include "support/matrices.h"

/// Mathematical functions beside glibc's libmvec, which is as fast as it gets: its errors reach 4 ulp. One thread,
/// data in a cache.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

constexpr std::int64_t n = 200'000;
constexpr int calls = 10;

template <class T>
bool near(const Vector<T>& got, const Buffer<T>& expected) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T e = expected[static_cast<std::size_t>(i)];
    if (std::abs(got[i] - e) > 64 * std::numeric_limits<T>::epsilon() * (1 + std::abs(e))) return false;
  }
  return true;
}

/// `function` of four multiples of numbers from `least` to `most`.
template <class T, class F>
void add_function(const std::string& name, F function, T least, T most) {
  add_contest(fmt::format("mathematics/{}_{}", name, std::is_same_v<T, float> ? "f32" : "f64"), [=] {
    Buffer<T> x = random_numbers<T>(n, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = least + (most - least) * std::abs(x[i]);
    const auto expected = std::make_shared<Buffer<T>>(x.size());
    const MathLoop<T> loop = math_loop<T>(name);
    loop(x.data(), expected->data(), n);
    const auto program = compile<Vector<T>>([=](const Acc<Vector<T>>& xs) {
      return map(
          [=](auto v) {
            return function(v) + function(T(0.75) * v) + function(T(0.5) * v) + function(T(0.25) * v);
          },
          xs);
    });
    const auto xs = Vector<T>::view(Index<1>{{n}}, x.data()).copy();
    const auto result = std::make_shared<Vector<T>>(Index<1>{{n}});
    Contest contest;
    contest.unit = "G/s";
    contest.amount = 4.0 * n;
    contest.note = fmt::format("{} to {}", least, most);
    contest.contenders.push_back({"anabranch", Role::library, 1,
                                  [=] { program.run_into(*result, {.threads = 1}, xs); },
                                  [=] { return near(*result, *expected); }, calls});
    contest.contenders.push_back(
        {"libmvec", Role::peer, 1, [=] { loop(xs.data(), expected->data(), n); }, {}, calls});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
#define ANABRANCH_BOTH(name, least, most)                                                \
  add_function<float>(#name, [](auto x) { return name(x); }, float(least), float(most)); \
  add_function<double>(#name, [](auto x) { return name(x); }, double(least), double(most));
  ANABRANCH_BOTH(exp, 0, 20)
  ANABRANCH_BOTH(log, 0.01, 100)
  ANABRANCH_BOTH(sin, 0, 100)
  ANABRANCH_BOTH(cos, 0, 100)
  ANABRANCH_BOTH(tan, 0, 100)
  ANABRANCH_BOTH(tanh, 0, 4)
  ANABRANCH_BOTH(exp2, 0, 20)
  ANABRANCH_BOTH(log2, 0.01, 100)
  ANABRANCH_BOTH(log10, 0.01, 100)
  ANABRANCH_BOTH(asin, 0, 1)
  ANABRANCH_BOTH(acos, 0, 1)
  ANABRANCH_BOTH(atan, 0, 10)
  ANABRANCH_BOTH(sinh, 0, 10)
  ANABRANCH_BOTH(cosh, 0, 10)
  ANABRANCH_BOTH(asinh, 0, 10)
  ANABRANCH_BOTH(acosh, 4, 10)
  ANABRANCH_BOTH(atanh, 0, 0.9)
  ANABRANCH_BOTH(erf, 0, 3)
  ANABRANCH_BOTH(cbrt, 0, 100)
#define ANABRANCH_BOTH_OF_TWO(name, least, most)                                               \
  add_function<float>(#name, [](auto x) { return name(x, 1.5F); }, float(least), float(most)); \
  add_function<double>(#name, [](auto x) { return name(x, 1.5); }, double(least), double(most));
  ANABRANCH_BOTH_OF_TWO(pow, 0.01, 100)
  ANABRANCH_BOTH_OF_TWO(atan2, 0, 10)
  ANABRANCH_BOTH_OF_TWO(hypot, 0, 10)
  return run_all(argc, argv);
}
