#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <tuple>
#include <vector>

#include "apps/examples/mandelbrot.h"
#include "support/contest.h"
#include "support/program_peers.h"

/// Programs of the papers that compute more than they read, beside the same by hand. One thread.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

const char* by_hand_name() { return has_programs_in_vectors() ? "AVX-512 by hand" : "loops by hand"; }

void add_mandelbrot(std::int32_t limit) {
  add_contest(fmt::format("programs/mandelbrot, limit {}", limit), [=] {
    constexpr std::int64_t width = 2000, height = 1000;
    const examples::View view;
    const auto program = std::make_shared<Program<Acc<Matrix<std::int32_t>>>>(
        compile(examples::mandelbrot(height, width, limit, view)));
    const auto got = std::make_shared<Matrix<std::int32_t>>();
    const std::vector<std::int32_t> none(static_cast<std::size_t>(width * height));
    const auto expected = std::make_shared<std::vector<std::int32_t>>(none);
    const auto peers = std::make_shared<std::vector<std::int32_t>>(none);
    mandelbrot_in_doubles(expected->data(), width, height, view.left, view.right, view.low, view.high, limit);
    // Floats follow another orbit than doubles at points near the border: at one in 200, at most.
    const auto right_enough = [=](const std::int32_t* rounds) {
      std::int64_t different = 0;
      for (std::int64_t i = 0; i < width * height; ++i)
        different += rounds[i] != (*expected)[static_cast<std::size_t>(i)] ? 1 : 0;
      return different <= width * height / 200;
    };
    Contest contest;
    contest.unit = "Gpixel/s";
    contest.amount = static_cast<double>(width * height);
    contest.note = fmt::format("{} x {} points", height, width);
    contest.contenders.push_back({"anabranch", Role::library, 1, [=] { *got = program->run({.threads = 1}); },
                                  [=] { return right_enough(got->data()); }});
    contest.contenders.push_back({by_hand_name(), Role::peer, 1,
                                  [=] {
                                    mandelbrot_in_vectors(peers->data(), width, height, view.left, view.right,
                                                          view.low, view.high, limit);
                                  },
                                  [=] { return right_enough(peers->data()); }});
    return contest;
  });
}

struct Bodies {
  std::vector<float> x, y, z, m;
};
constexpr float softening = 0.01F;

using Force = std::tuple<float, float, float>;

/// Of each body, by all.
auto accelerations(const Bodies& bodies) {
  const auto numbers = [](const std::vector<float>& v) { return use(Vector<float>(v)); };
  const auto all = zip(numbers(bodies.x), numbers(bodies.y), numbers(bodies.z), numbers(bodies.m));
  const auto n = size(all);
  const auto forces = generate(make<Index<2>>(n, n), [=](auto at) {
    auto [x, y, z, m] = all[at[1]];
    auto [px, py, pz, own] = all[at[0]];
    const auto dx = x - px, dy = y - py, dz = z - pz;
    const auto inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
    const auto force = m * (inverse * inverse * inverse);
    return pack(force * dx, force * dy, force * dz);
  });
  const auto add = [](auto a, auto b) {
    return pack(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b), get<2>(a) + get<2>(b));
  };
  return fold(add, pack(Exp<float>(0.0F), Exp<float>(0.0F), Exp<float>(0.0F)), forces);
}

void add_n_body(std::int64_t count) {
  add_contest(fmt::format("programs/n-body, {}", count), [=] {
    const auto bodies = std::make_shared<Bodies>();
    std::uint32_t state = 1;
    const auto next = [&] {
      state = state * 1664525U + 1013904223U;
      return static_cast<float>(state >> 8) * 0x1p-24F;
    };
    for (std::int64_t i = 0; i < count; ++i) {
      bodies->x.push_back(next());
      bodies->y.push_back(next());
      bodies->z.push_back(next());
      bodies->m.push_back(next());
    }
    const auto n = static_cast<std::size_t>(count);
    const auto ax = std::make_shared<std::vector<float>>(n), ay = std::make_shared<std::vector<float>>(n),
               az = std::make_shared<std::vector<float>>(n);
    const auto by_hand = [=] {
      n_body_in_vectors(bodies->x.data(), bodies->y.data(), bodies->z.data(), bodies->m.data(), ax->data(),
                        ay->data(), az->data(), count, softening);
    };
    const auto expected = std::make_shared<std::vector<Acceleration>>(n);
    n_body_in_doubles(bodies->x.data(), bodies->y.data(), bodies->z.data(), bodies->m.data(),
                      expected->data(), count, softening);
    // Floats, of which some thousands are added: within 1e-5 of the sum of what is added.
    const auto right_enough = [=](auto acceleration) {
      for (std::size_t i = 0; i < n; ++i) {
        const Acceleration& e = (*expected)[i];
        const auto& [x, y, z] = acceleration(i);
        if (!(std::abs(x - e.x) + std::abs(y - e.y) + std::abs(z - e.z) <= 1e-5 * e.scale)) return false;
      }
      return true;
    };
    const auto program =
        std::make_shared<decltype(compile(accelerations(*bodies)))>(compile(accelerations(*bodies)));
    const auto got = std::make_shared<Vector<Force>>();
    Contest contest;
    contest.unit = "Ginteraction/s";
    contest.amount = static_cast<double>(count) * static_cast<double>(count);
    contest.contenders.push_back(
        {"anabranch", Role::library, 1, [=] { *got = program->run({.threads = 1}); },
         [=] {
           return right_enough([&](std::size_t i) { return Force((*got)[static_cast<std::int64_t>(i)]); });
         }});
    contest.contenders.push_back(
        {by_hand_name(), Role::peer, 1, by_hand,
         [=] { return right_enough([&](std::size_t i) { return Force((*ax)[i], (*ay)[i], (*az)[i]); }); }});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_mandelbrot(255);
  add_mandelbrot(512);
  add_n_body(8192);
  return run_all(argc, argv);
}
