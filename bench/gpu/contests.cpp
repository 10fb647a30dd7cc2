#include "gpu/contests.h"

#include <cmath>
#include <random>

#include <fmt/format.h>

namespace anabranch::bench {
namespace {

struct Law {
  std::string name;
  std::function<Csr()> make;
};

/// By the length of their rows.
std::vector<Law> matrices(const Bench& bench) {
  const auto n = [&bench](double size, double power = 1) { return bench.scaled(size, power); };
  return {{"27", [=] { return laplacian27(n(130, 1.0 / 3)); }},
          {"9", [=] { return laplacian9(n(2'500, 0.5)); }},
          {"3", [=] { return banded(n(10'000'000), 3, 1'000); }},
          {"80", [=] { return banded(n(700'000), 80, 40'000); }},
          {"powerlaw", [=] { return power_law(n(4'000'000)); }},
          {"random64", [=] { return random_lengths(n(1'500'000), 64, 4'000); }}};
}

/// Rows of so many elements all together.
std::vector<std::int32_t> row_lengths(std::int64_t elements, const std::function<std::int32_t()>& one) {
  std::vector<std::int32_t> out;
  for (std::int64_t all = 0; all < elements; all += out.back()) out.push_back(one());
  return out;
}

std::function<std::int32_t()> always(std::int32_t n) {
  return [n] { return n; };
}
/// 0 .. most.
std::function<std::int32_t()> any_to(unsigned most) {
  return
      [engine = std::mt19937(5), most]() mutable { return static_cast<std::int32_t>(engine() % (most + 1)); };
}

}  // namespace

std::vector<NamedContest> all_contests(const Bench& bench) {
  std::vector<NamedContest> out;
  const auto add = [&](const std::string& name, auto hold) {
    out.push_back({name, [=, &bench] { return hold(bench, name); }});
  };
  for (const Law& law : matrices(bench))
    add("spmv/" + law.name, [make = law.make](const Bench& b, const std::string& name) {
      return hold_spmv<double>(b, name, make());
    });
  add("spmv/27/float", [make = matrices(bench)[0].make](const Bench& b, const std::string& name) {
    return hold_spmv<float>(b, name, make());
  });
  for (const auto& [name, n] :
       {std::pair{"dot/large", 5e7}, {"dot/16M", 0x1p24}, {"dot/1e5", 1e5}, {"dot/1e6", 1e6}})
    add(name,
        [n = n](const Bench& b, const std::string& of) { return hold_dot<double>(b, of, b.scaled(n)); });
  for (const auto& [name, n] : {std::pair{"dot/large/float", 5e7}, {"dot/16M/float", 0x1p24}})
    add(name, [n = n](const Bench& b, const std::string& of) { return hold_dot<float>(b, of, b.scaled(n)); });
  for (const auto& [name, n] : {std::pair{"map/double", 5e7}, {"map/1e5", 1e5}, {"map/1e6", 1e6}})
    add(name,
        [n = n](const Bench& b, const std::string& of) { return hold_map<double>(b, of, b.scaled(n)); });
  add("map/float",
      [](const Bench& b, const std::string& name) { return hold_map<float>(b, name, b.scaled(5e7)); });
  // About as many nonzeros.
  for (const auto& [name, side] : {std::pair{"spmv/27/1e5", 16}, {"spmv/27/1e6", 34}})
    add(name, [side = side](const Bench& b, const std::string& of) {
      return hold_spmv<double>(b, of, laplacian27(b.scaled(side, 1.0 / 3)));
    });
  const std::vector<std::pair<std::string, std::function<std::int32_t()>>> lengths{
      {"4", always(4)}, {"32", always(32)}, {"1000", always(1000)}, {"random64", any_to(64)}};
  for (const auto& [law, length] : lengths)
    add("rows/" + law, [length = length](const Bench& b, const std::string& name) {
      return hold_row_sums<float>(b, name, row_lengths(b.scaled(5e7), length));
    });
  add("scan/large",
      [](const Bench& b, const std::string& name) { return hold_scan<float>(b, name, b.scaled(5e7)); });
  for (const unsigned most : {64u, 8u})
    add(fmt::format("scan/rows{}", most), [most](const Bench& b, const std::string& name) {
      return hold_row_scan<float>(b, name, row_lengths(b.scaled(5e7), any_to(most)));
    });
  add("stencil/3",
      [](const Bench& b, const std::string& name) { return hold_smoothing<float>(b, name, b.scaled(5e7)); });
  add("stencil/25", [](const Bench& b, const std::string& name) {
    return hold_box_means<float>(b, name, b.scaled(7000, 0.5));
  });
  add("select", [](const Bench& b, const std::string& name) { return hold_select(b, name, b.scaled(5e7)); });
  // In shared memory and in the L2 cache.
  for (const std::int64_t places : {256, 65'536})
    add(fmt::format("histogram/{}", places), [places](const Bench& b, const std::string& name) {
      return hold_histogram(b, name, b.scaled(5e7), places);
    });
  for (const std::int64_t places : {256, 65'536})
    add(fmt::format("permute/{}", places), [places](const Bench& b, const std::string& name) {
      return hold_permute(b, name, b.scaled(5e7), places);
    });
  const auto bytes = [](const Bench& b, double n) { return 8.0 * static_cast<double>(b.scaled(n / 8)); };
  add("device", [=](const Bench& b, const std::string& name) { return hold_device(b, name, bytes(b, 2e9)); });
  add("link", [=](const Bench& b, const std::string& name) { return hold_link(b, name, bytes(b, 256e6)); });
  add("awhile", [](const Bench& b, const std::string& name) { return hold_loops(b, name, b.scaled(1000)); });
  add("fixed", [](const Bench& b, const std::string& name) { return hold_fixed(b, name); });
  for (const std::size_t i : {0, 2})
    add("streamed/" + matrices(bench)[i].name,
        [make = matrices(bench)[i].make](const Bench& b, const std::string& name) {
          return hold_streamed(b, name, make());
        });
  add("staging",
      [=](const Bench& b, const std::string& name) { return hold_staging(b, name, bytes(b, 256e6)); });
  add("sort", [](const Bench& b, const std::string& name) { return hold_sort(b, name, b.scaled(1e7)); });
  return out;
}

}  // namespace anabranch::bench
