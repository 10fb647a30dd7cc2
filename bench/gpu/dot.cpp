#include <memory>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/libraries.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {
template <class T>
nlohmann::json hold_dot(const Bench& bench, const std::string& name, std::int64_t n) {
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest contest(bench, name, fmt::format("2 x {} numbers, {:.3g} MB, on the GPU", n, bytes / 1e6));
  const Buffer<T> x = random_numbers<T>(n, 1), y = random_numbers<T>(n, 2);
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<long double>(x[i]) * y[i];
  const std::vector<double> expected{static_cast<double>(sum)};
  const DeviceBuffer xs(x.span()), ys(y.span()), out(sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(n)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_dot<T>(n, xs.address(), ys.address(), out.address()), right, bytes);
  });
  contest.enter("cuBLAS", [&] {
    const CublasDot<T> cublas(n, xs.data<T>(), ys.data<T>(), out.data<T>());
    return Contender{.run = [cublas] { cublas(); }, .right = right, .bytes = bytes};
  });
  contest.enter("CUB reduce", [&] {
    auto cub = std::make_shared<CubSum<T>>(n, xs.data<T>(), ys.data<T>(), out.data<T>());
    return Contender{.run = [cub] { (*cub)(); }, .right = right, .bytes = bytes};
  });
  enter_read(contest, bytes);
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_dot<float>(const Bench&, const std::string&, std::int64_t);
template nlohmann::json hold_dot<double>(const Bench&, const std::string&, std::int64_t);

}  // namespace anabranch::bench
