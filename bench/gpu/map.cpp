#include <memory>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {

template <class T>
nlohmann::json hold_map(const Bench& bench, const std::string& name, std::int64_t n) {
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest contest(bench, name,
                  fmt::format("x * x + 1/2 of {} numbers, {:.3g} MB, on the GPU", n, bytes / 1e6));
  const Buffer<T> x = random_numbers<T>(n, 1);
  std::vector<double> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    expected[i] = static_cast<double>(x[i]) * static_cast<double>(x[i]) + 0.5;
  const DeviceBuffer in(x.span()), out(x.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(1)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_squares<T>(n, in.address(), out.address()), right, bytes);
  });
  contest.enter("Thrust transform", [&] {
    return Contender{
        .run = [&] { thrust_squares(n, in.data<T>(), out.data<T>()); }, .right = right, .bytes = bytes};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_map<float>(const Bench&, const std::string&, std::int64_t);
template nlohmann::json hold_map<double>(const Bench&, const std::string&, std::int64_t);

}  // namespace anabranch::bench
