#include "gpu/contests.h"

#include <cmath>
#include <random>

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
/// 0 .. 64.
std::function<std::int32_t()> any_to_64() {
  return [engine = std::mt19937(5)]() mutable { return static_cast<std::int32_t>(engine() % 65); };
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
  for (const double n : {1e8, 1e5})
    add(n > 1e6 ? "dot/large" : "dot/small",
        [n](const Bench& b, const std::string& name) { return hold_dot<double>(b, name, b.scaled(n)); });
  add("dot/large/float",
      [](const Bench& b, const std::string& name) { return hold_dot<float>(b, name, b.scaled(1e8)); });
  const std::vector<std::pair<std::string, std::function<std::int32_t()>>> lengths{
      {"4", always(4)}, {"32", always(32)}, {"1000", always(1000)}, {"random64", any_to_64()}};
  for (const auto& [law, length] : lengths)
    add("rows/" + law, [length = length](const Bench& b, const std::string& name) {
      return hold_row_sums<float>(b, name, row_lengths(b.scaled(5e7), length));
    });
  add("map/double",
      [](const Bench& b, const std::string& name) { return hold_map<double>(b, name, b.scaled(1e8)); });
  add("map/float",
      [](const Bench& b, const std::string& name) { return hold_map<float>(b, name, b.scaled(1e8)); });
  for (const std::size_t i : {0, 2})
    add("streamed/" + matrices(bench)[i].name,
        [make = matrices(bench)[i].make](const Bench& b, const std::string& name) {
          return hold_streamed(b, name, make());
        });
  return out;
}

}  // namespace anabranch::bench
