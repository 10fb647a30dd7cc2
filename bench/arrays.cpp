#include <anabranch/anabranch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "support/array_peers.h"
#include "support/contest.h"

/// Dense arrays rearranged and read near each place, in memory.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Peer = std::function<void(const float* from, float* to)>;

/// One array in, one out: `bytes` of them are moved at least.
template <int N, int M, class F>
void add(const std::string& name, const char* peer_name, const Index<N>& shape, const Index<M>& result_shape,
         F f, Peer peer) {
  add_contest("arrays/" + name, [=] {
    auto from = std::make_shared<Array<N, float>>(shape);
    for (std::int64_t i = 0; i < from->size(); ++i)
      from->set(i, static_cast<float>((i * 7919) % 1009) / 1009);
    const auto result = [=] { return std::make_shared<Array<M, float>>(result_shape); };
    const auto to = result(), expected = result(), other = result();
    const auto into = [](const auto& array) { return const_cast<float*>(array->data()); };
    peer(from->data(), into(expected));
    auto program =
        std::make_shared<Program<Acc<Array<M, float>>, Array<N, float>>>(compile<Array<N, float>>(f));
    const auto right = [=] {
      for (std::int64_t i = 0; i < to->size(); ++i)
        if (std::abs((*to)[i] - (*expected)[i]) > 1e-3F * (1 + std::abs((*expected)[i]))) return false;
      return true;
    };
    Contest contest;
    contest.amount = 4.0 * static_cast<double>(from->size() + to->size());
    for (const int threads : thread_counts())
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*to, {.threads = threads}, *from); }, right, 1});
    contest.contenders.push_back({peer_name, Role::peer, 1, [=] { peer(from->data(), into(other)); }, {}, 1});
    contest.contenders.push_back(
        {"copy",
         Role::limit,
         1,
         [=] { std::copy_n(from->data(), std::min(from->size(), to->size()), into(other)); },
         {},
         1});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t side = 8192, length = 50'000'000;
  add(
      "transpose 8192 x 8192", "Eigen", Index{side, side}, Index{side, side},
      [](auto a) { return transpose(a); },
      [=](const float* from, float* to) { transpose_by_eigen(from, side, side, to); });
  add(
      "transpose 1000 x 50000", "Eigen", Index{1000, 50'000}, Index{50'000, 1000},
      [](auto a) { return transpose(a); },
      [=](const float* from, float* to) { transpose_by_eigen(from, 1000, 50'000, to); });
  add(
      "five points 8192 x 8192", "loop", Index{side, side}, Index{side, side},
      [](auto a) {
        return stencil([](auto n) { return 4 * n(0, 0) - n(-1, 0) - n(1, 0) - n(0, -1) - n(0, 1); }, clamp,
                       a);
      },
      [=](const float* from, float* to) { five_points_loop(from, side, side, to); });
  add(
      "window of 9, 50 M", "loop", Index{length}, Index{length},
      [](auto a) {
        return stencil(
            [](auto n) {
              auto total = n(-4);
              for (int d = -3; d <= 4; ++d) total = total + n(d);
              return total;
            },
            clamp, a);
      },
      [=](const float* from, float* to) { window_sums_loop(from, length, 4, to); });
  add(
      "concat, 50 M", "std::copy", Index{length / 2}, Index{length}, [](auto a) { return concat(a, a); },
      [=](const float* from, float* to) {
        std::copy_n(from, length / 2, std::copy_n(from, length / 2, to));
      });
  add(
      "rotate, 50 M", "std::rotate_copy", Index{length}, Index{length},
      [](auto a) { return rotate(a, 1000); },
      [=](const float* from, float* to) { std::rotate_copy(from, from + length - 1000, from + length, to); });
  add(
      "reverse, 50 M", "std::reverse_copy", Index{length}, Index{length}, [](auto a) { return reverse(a); },
      [=](const float* from, float* to) { std::reverse_copy(from, from + length, to); });
  add(
      "scanr1 of maximum, 50 M", "loop", Index{length}, Index{length},
      [](auto a) { return scanr1(maximum_of, a); },
      [=](const float* from, float* to) {
        float greatest = to[length - 1] = from[length - 1];
        for (std::int64_t i = length - 2; i >= 0; --i) to[i] = greatest = std::max(greatest, from[i]);
      });
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{side, side}, {100'000, 500}})
    for (const bool eigen : {false, true})
      add(
          "sums of columns, " + std::to_string(rows) + " x " + std::to_string(columns) + (eigen ? " " : ""),
          eigen ? "Eigen" : "loop", Index{rows, columns}, Index{columns}, [](auto a) { return sum(a, 0); },
          [=](const float* from, float* to) {
            (eigen ? column_sums_by_eigen : column_sums_loop)(from, rows, columns, to);
          });
  return run_all(argc, argv);
}
