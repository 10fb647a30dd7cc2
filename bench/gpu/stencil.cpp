#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/results.h"

namespace anabranch::bench {
namespace {

template <class T>
std::vector<double> smoothed_on_host(const Buffer<T>& x) {
  const auto at = [&](std::size_t i) { return static_cast<double>(x[i]); };
  const std::size_t last = x.size() - 1;
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i <= last; ++i)
    out[i] = 0.25 * at(i > 0 ? i - 1 : 0) + 0.5 * at(i) + 0.25 * at(std::min(i + 1, last));
  return out;
}

/// The sums of five neighbours, `stride` apart, in lines of `length`; beyond their ends is the last one again.
template <class In>
std::vector<double> sums_of_five(const In& in, std::int64_t stride, std::int64_t length) {
  const auto n = static_cast<std::int64_t>(in.size());
  std::vector<double> out(in.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t place = i / stride % length;
    double sum = 0;
    for (std::int64_t by = -2; by <= 2; ++by) {
      const std::int64_t other = std::clamp<std::int64_t>(place + by, 0, length - 1);
      sum += static_cast<double>(in[static_cast<std::size_t>(i + (other - place) * stride)]);
    }
    out[static_cast<std::size_t>(i)] = sum;
  }
  return out;
}

}  // namespace

template <class T>
nlohmann::json hold_smoothing(const Bench& bench, const std::string& name, std::int64_t n) {
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest contest(bench, name,
                  fmt::format("3 neighbours of {} numbers, {:.3g} MB, on the GPU", n, bytes / 1e6));
  const Buffer<T> x = random_numbers<T>(n, 1);
  const std::vector<double> expected = smoothed_on_host(x);
  const DeviceBuffer in(x.span()), out(x.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(3)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_smoothed<T>(n, in.address(), out.address()), right, bytes);
  });
  contest.enter("Thrust transform", [&] {
    return Contender{
        .run = [&] { thrust_smoothed(n, in.data<T>(), out.data<T>()); }, .right = right, .bytes = bytes};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_smoothing<float>(const Bench&, const std::string&, std::int64_t);

template <class T>
nlohmann::json hold_box_means(const Bench& bench, const std::string& name, std::int64_t side) {
  const std::int64_t n = side * side;
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest contest(
      bench, name,
      fmt::format("5 x 5 neighbours of {} x {} numbers, {:.3g} MB, on the GPU", side, side, bytes / 1e6));
  const Buffer<T> x = random_numbers<T>(n, 1);
  std::vector<double> expected = sums_of_five(sums_of_five(x, 1, side), side, side);
  for (double& sum : expected) sum /= 25;
  const DeviceBuffer in(x.span()), out(x.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(25)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_box_means<T>(side, side, in.address(), out.address()), right, bytes);
  });
  contest.enter("Thrust transform", [&] {
    return Contender{.run = [&] { thrust_box_means(side, side, in.data<T>(), out.data<T>()); },
                     .right = right,
                     .bytes = bytes};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_box_means<float>(const Bench&, const std::string&, std::int64_t);

}  // namespace anabranch::bench
