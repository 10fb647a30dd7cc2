#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include "support/contest.h"
#include "support/dense_peers.h"

/// Products of matrices and a 5 x 5 stencil, beside libraries that do nothing else.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

template <class T>
using Host = std::shared_ptr<Matrix<T>>;

template <class T>
T* elements_of(const Host<T>& matrix) {
  return const_cast<T*>(matrix->data());
}

template <class T>
Host<T> numbers(std::int64_t side, std::int64_t factor) {
  auto out = std::make_shared<Matrix<T>>(Index{side, side});
  for (std::int64_t i = 0; i < out->size(); ++i)
    out->set(i, static_cast<T>((i * factor) % 1009) / static_cast<T>(1009));
  return out;
}

/// The next contender finds other numbers there.
template <class T>
bool near(const Host<T>& got, const Host<T>& expected, double tolerance) {
  bool as_expected = true;
  for (std::int64_t i = 0; i < got->size() && as_expected; ++i)
    as_expected = std::abs((*got)[i] - (*expected)[i]) <= tolerance * (1 + std::abs((*expected)[i]));
  std::fill_n(elements_of(got), got->size(), T(-1e9));
  return as_expected;
}

template <class T>
void add_matmul(const std::string& type, std::int64_t n, double tolerance) {
  add_contest(fmt::format("dense/matmul {} {}", n, type), [=] {
    const auto a = numbers<T>(n, 7919), b = numbers<T>(n, 6007);
    const auto to = numbers<T>(n, 1), other = numbers<T>(n, 1), expected = numbers<T>(n, 1);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t k = 0; k < n; ++k) total += static_cast<double>((*a)[{i, k}]) * (*b)[{k, j}];
        expected->set(i * n + j, static_cast<T>(total));
      }
    using M = Matrix<T>;
    const auto program =
        std::make_shared<Program<Acc<M>, M, M>>(compile<M, M>([](auto x, auto y) { return matmul(x, y); }));
    Contest contest;
    contest.unit = "Gflop/s";
    contest.amount = 2.0 * static_cast<double>(n * n * n);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*to, {.threads = threads}, *a, *b); },
                                    [=] { return near(to, expected, tolerance); }});
      const auto peer = [&](const char* name, std::function<void()> run) {
        contest.contenders.push_back(
            {name, Role::peer, threads, std::move(run), [=] { return near(other, expected, tolerance); }});
      };
      if (threads == 1) peer("Eigen", [=] { matmul_by_eigen(a->data(), b->data(), n, elements_of(other)); });
      if (has_blas())
        peer("OpenBLAS", [=] { matmul_by_blas(a->data(), b->data(), n, elements_of(other), threads); });
    }
    return contest;
  });
}

/// What a filter for images looks like.
constexpr std::array<float, 25> weights{0.01F, 0.04F, 0.06F, 0.05F, 0.02F, 0.04F, 0.15F, 0.23F, 0.14F,
                                        0.05F, 0.07F, 0.22F, 0.36F, 0.21F, 0.06F, 0.03F, 0.16F, 0.24F,
                                        0.15F, 0.04F, 0.01F, 0.05F, 0.07F, 0.03F, 0.02F};

void add_stencil(std::int64_t side) {
  add_contest(fmt::format("dense/stencil 5 x 5 of {}", side), [=] {
    const auto from = numbers<float>(side, 7919);
    const auto to = numbers<float>(side, 1), other = numbers<float>(side, 1);
    const auto expected = numbers<float>(side, 1);
    stencil_loop(from->data(), side, side, weights.data(), elements_of(expected));
    using M = Matrix<float>;
    const auto program = std::make_shared<Program<Acc<M>, M>>(compile<M>([](auto a) {
      return stencil(
          [](auto n) {
            Exp<float> total = 0.0F;
            for (int dy = 0; dy < 5; ++dy)
              for (int dx = 0; dx < 5; ++dx)
                total = total + weights[static_cast<std::size_t>(dy * 5 + dx)] * n(dy - 2, dx - 2);
            return total;
          },
          clamp, a);
    }));
    Contest contest;
    contest.amount = 8.0 * static_cast<double>(side * side);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*to, {.threads = threads}, *from); },
                                    [=] { return near(to, expected, 1e-5); }});
      const auto peer = [&](const char* name, std::function<void()> run) {
        contest.contenders.push_back(
            {name, Role::peer, threads, std::move(run), [=] { return near(other, expected, 1e-5); }});
      };
      if (threads == 1)
        peer("loops", [=] { stencil_loop(from->data(), side, side, weights.data(), elements_of(other)); });
      if (has_opencv())
        peer("OpenCV", [=] {
          stencil_by_opencv(from->data(), side, side, weights.data(), elements_of(other), threads);
        });
    }
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_matmul<float>("float", 1000, 1e-4);
  add_matmul<double>("double", 1000, 1e-10);
  add_stencil(4096);
  return run_all(argc, argv);
}
