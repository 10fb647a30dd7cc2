#include <anabranch/anabranch.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "gpu/contests.h"
#include "gpu/device_run.h"
#include "gpu/entrants.h"
#include "gpu/rearrange_peers.h"
#include "gpu/results.h"
#include "support/programs.h"

namespace anabranch::bench {
namespace {

Buffer<std::int32_t> random_places(std::int64_t n, std::int64_t places) {
  std::mt19937 engine(3);
  Buffer<std::int32_t> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int32_t>(engine() % static_cast<unsigned>(places));
  return out;
}

/// Is this what a run gave?
template <class T>
auto equals(const std::vector<T>& expected) {
  return [&expected](const DeviceArray<Vector<T>>& found) {
    const Vector<T> host = found.host();
    return std::ranges::equal(expected,
                              std::span<const T>(host.data(), static_cast<std::size_t>(host.size())));
  };
}

std::vector<double> as_doubles(const auto& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

nlohmann::json hold_select(const Bench& bench, const std::string& name, std::int64_t n) {
  constexpr float limit = 0;
  const Buffer<float> x = random_floats(n, 1);
  std::vector<float> expected;
  std::ranges::copy_if(x.span(), std::back_inserter(expected), [](float v) { return v > limit; });
  const auto kept = static_cast<std::int64_t>(expected.size());
  const double bytes = sizeof(float) * static_cast<double>(n + kept);
  Contest contest(bench, name, fmt::format("{} of {} floats, {:.3g} MB, on the GPU", kept, n, bytes / 1e6));
  const DeviceArray<Vector<float>> xs(vector_over(x.data(), n));

  contest.enter("anabranch cuda", [&] {
    return device_run(bench, name + "-anabranch cuda",
                      compile<Vector<float>>([](auto a) { return above(limit, a); }), equals(expected), bytes,
                      xs);
  });
  const DeviceBuffer in(x.span()), out(x.size() * sizeof(float)), count(sizeof(std::int64_t));
  const std::vector<double> numbers = as_doubles(expected), counts{static_cast<double>(kept)};
  contest.enter("CUB select", [&] {
    auto cub = std::make_shared<CubSelect>(n, limit, in.data<float>(), out.data<float>(),
                                           count.data<std::int64_t>());
    const auto right = [&] {
      return found_in<std::int64_t>(count, counts, 0) && found_in<float>(out, numbers, 0);
    };
    return Contender{.run = [cub] { (*cub)(); }, .right = right, .bytes = bytes, .note = "one pass"};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}

nlohmann::json hold_histogram(const Bench& bench, const std::string& name, std::int64_t n,
                              std::int64_t bins) {
  const Buffer<std::int32_t> x = random_places(n, bins);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
  for (const std::int32_t bin : x.span()) ++expected[static_cast<std::size_t>(bin)];
  const double bytes = 4.0 * static_cast<double>(n) + 8.0 * static_cast<double>(bins);
  Contest contest(bench, name,
                  fmt::format("{} int32 into {} bins, {:.3g} MB, on the GPU", n, bins, bytes / 1e6));
  const DeviceArray<Vector<std::int32_t>> xs(vector_over(x.data(), n));

  contest.enter("anabranch cuda", [&] {
    return device_run(bench, name + "-anabranch cuda",
                      compile<Vector<std::int32_t>>([bins](auto a) { return histogram(bins, a); }),
                      equals(expected), bytes, xs);
  });
  const DeviceBuffer in(x.span()), out(expected.size() * sizeof(std::int32_t));
  const std::vector<double> counts = as_doubles(expected);
  contest.enter("CUB histogram", [&] {
    auto cub = std::make_shared<CubHistogram>(n, bins, in.data<std::int32_t>(), out.data<std::int32_t>());
    return Contender{.run = [cub] { (*cub)(); },
                     .right = [&] { return found_in<std::int32_t>(out, counts, 0); },
                     .bytes = bytes,
                     .note = "counts of 4 bytes"};
  });
  enter_read(contest, bytes);
  enter_copy(contest, bytes);
  return contest.hold();
}

nlohmann::json hold_permute(const Bench& bench, const std::string& name, std::int64_t n,
                            std::int64_t places) {
  const Buffer<std::int32_t> to = random_places(n, places);
  Buffer<std::int64_t> values(static_cast<std::size_t>(n));
  std::vector<std::int64_t> expected(static_cast<std::size_t>(places));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int64_t>(i % 1000);
    expected[static_cast<std::size_t>(to[i])] += values[i];
  }
  const double bytes = 12.0 * static_cast<double>(n) + 8.0 * static_cast<double>(places);
  Contest contest(bench, name,
                  fmt::format("{} int64 added at {} places, {:.3g} MB, on the GPU", n, places, bytes / 1e6));
  const DeviceArray<Vector<std::int32_t>> tos(vector_over(to.data(), n));
  const DeviceArray<Vector<std::int64_t>> xs(vector_over(values.data(), n));

  contest.enter("anabranch cuda", [&] {
    return device_run(bench, name + "-anabranch cuda",
                      compile<Vector<std::int32_t>, Vector<std::int64_t>>(
                          [places](auto a, auto b) { return sums_at(places, a, b); }),
                      equals(expected), bytes, tos, xs);
  });
  const DeviceBuffer where(to.span()), in(values.span()), out(expected.size() * sizeof(std::int64_t));
  const std::vector<double> sums = as_doubles(expected);
  contest.enter("Thrust with atomics", [&] {
    return Contender{.run =
                         [&] {
                           thrust_sums_at(places, n, where.data<std::int32_t>(), in.data<std::int64_t>(),
                                          out.data<std::int64_t>());
                         },
                     .right = [&] { return found_in<std::int64_t>(out, sums, 0); },
                     .bytes = bytes,
                     .note = "one atomic addition in memory for each element"};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}

}  // namespace anabranch::bench
