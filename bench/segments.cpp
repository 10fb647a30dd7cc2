#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/contest.h"
#include "support/segment_peers.h"

/// Sums of rows of many laws of length, beside code that takes 16 rows at a time. One thread, `float`.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Law = std::function<std::int64_t(std::mt19937_64&)>;

/// `elements` in all, in a chunk that is what one run reads.
void add(const std::string& name, std::int64_t size, int calls, const Law& law) {
  add_contest(fmt::format("segments/{}, {} elements", name, size), [=] {
    struct Data {
      std::vector<std::int64_t> offsets{0};
      std::vector<std::int32_t> columns;
      std::vector<float> values, expected;
    };
    const auto data = std::make_shared<Data>();
    std::mt19937_64 random(1);
    while (data->offsets.back() < size) data->offsets.push_back(data->offsets.back() + law(random));
    const auto count = static_cast<std::size_t>(data->offsets.back());
    const auto rows = static_cast<std::int64_t>(data->offsets.size()) - 1;
    data->columns.resize(count);
    for (std::size_t i = 0; i < count; ++i) data->values.push_back(static_cast<float>(random() % 1000));
    data->expected.resize(static_cast<std::size_t>(rows));
    segments_in_loops(data->values.data(), data->offsets.data(), rows, data->expected.data());
    const auto view = [](const auto& v) {
      using T = typename std::decay_t<decltype(v)>::value_type;
      return Vector<T>::view(Index{static_cast<std::int64_t>(v.size())}, v.data());
    };
    const auto source = io::csr_view(rows, 1, view(data->offsets), view(data->columns), view(data->values));
    const auto total = [](auto row) {
      const auto [columns, values] = unzip(row);
      return sum(values);
    };
    const auto make = [=] { return compile(consume(elements(map_seq(total, stream_in(source))))); };
    const auto program = std::make_shared<decltype(make())>(make());
    const auto got = std::make_shared<Vector<float>>(Index{rows});
    const auto out = std::make_shared<std::vector<float>>(static_cast<std::size_t>(rows));
    const auto right = [=](const float* sums) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const float e = data->expected[static_cast<std::size_t>(r)];
        if (std::abs(sums[r] - e) > 1e-4F * (1 + std::abs(e))) return false;
      }
      return true;
    };
    Contest contest;
    contest.unit = "Gelement/s";
    contest.amount = static_cast<double>(count);
    contest.note = fmt::format("{} rows", rows);
    contest.contenders.push_back({"anabranch", Role::library, 1,
                                  [=] { program->run_into(*got, {.threads = 1}); },
                                  [=] { return right(got->data()); }, calls});
    contest.contenders.push_back(
        {"row by row", Role::peer, 1,
         [=] { segments_in_loops(data->values.data(), data->offsets.data(), rows, out->data()); },
         [=] { return right(out->data()); }, calls});
    if (has_segments_in_vectors())
      contest.contenders.push_back(
          {"16 rows by hand", Role::peer, 1,
           [=] { segments_in_vectors(data->values.data(), data->offsets.data(), rows, out->data()); },
           [=] { return right(out->data()); }, calls});
    return contest;
  });
}

Law always(std::int64_t n) {
  return [=](auto&) { return n; };
}
Law up_to(std::int64_t n) {
  return
      [=](auto& random) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n + 1)); };
}

}  // namespace

int main(int argc, char** argv) {
  const Law power = [](auto& random) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return std::min<std::int64_t>(10'000, static_cast<std::int64_t>(2 / std::pow(1 - u, 1 / 1.2)));
  };
  const Law mixed = [](auto& random) {
    const std::uint64_t die = random() % 100;
    return static_cast<std::int64_t>(random() % (die < 90 ? 9 : die < 99 ? 65 : 1001));
  };
  const std::pair<const char*, Law> laws[] = {
      {"all 4", always(4)},   {"0 to 8", up_to(8)}, {"0 to 16", up_to(16)}, {"all 32", always(32)},
      {"0 to 64", up_to(64)}, {"power law", power}, {"mixed", mixed},       {"all 1000", always(1000)}};
  for (const auto& [size, calls] : {std::pair<std::int64_t, int>{20'000'000, 1}, {1'000'000, 10}})
    for (const auto& [name, law] : laws) add(name, size, calls, law);
  return run_all(argc, argv);
}
