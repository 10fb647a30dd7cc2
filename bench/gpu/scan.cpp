#include <algorithm>
#include <memory>
#include <numeric>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/ragged_rows.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {
namespace {

/// Sums over all rows, which begin at `offsets`, in double.
template <class T>
std::vector<double> prefixes(const std::vector<std::int32_t>& offsets, const Buffer<T>& values) {
  std::vector<double> out(values.size());
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    double sum = 0;
    for (auto k = static_cast<std::size_t>(offsets[row]); k < static_cast<std::size_t>(offsets[row + 1]); ++k)
      out[k] = sum += static_cast<double>(values[k]);
  }
  return out;
}

}  // namespace

template <class T>
nlohmann::json hold_scan(const Bench& bench, const std::string& name, std::int64_t n) {
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest contest(bench, name,
                  fmt::format("inclusive sums of {} numbers, {:.3g} MB, on the GPU", n, bytes / 1e6));
  const Buffer<T> x = random_numbers<T>(n, 1);
  const std::vector<double> expected = prefixes<T>({0, static_cast<std::int32_t>(n)}, x);
  const DeviceBuffer in(x.span()), out(x.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(n)); };

  contest.enter("anabranch",
                [&] { return contender_of(resident_scan<T>(n, in.address(), out.address()), right, bytes); });
  contest.enter("CUB scan", [&] {
    auto cub = std::make_shared<CubScan<T>>(n, in.data<T>(), nullptr, out.data<T>());
    return Contender{
        .run = [cub] { (*cub)(); }, .right = right, .bytes = bytes, .note = "reads once; joins in any order"};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_scan<float>(const Bench&, const std::string&, std::int64_t);

template <class T>
nlohmann::json hold_row_scan(const Bench& bench, const std::string& name,
                             const std::vector<std::int32_t>& lengths) {
  const RaggedRows of(lengths);
  std::vector<std::int32_t> numbers;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    numbers.insert(numbers.end(), static_cast<std::size_t>(lengths[row]), static_cast<std::int32_t>(row));
  const double bytes =
      2.0 * sizeof(T) * static_cast<double>(of.elements) + 4.0 * static_cast<double>(of.rows + 1);
  Contest contest(bench, name, of.note("inclusive sums", bytes));
  const Buffer<T> x = random_numbers<T>(of.elements, 1);
  const std::vector<double> expected = prefixes<T>(of.offsets, x);
  const DeviceBuffer offsets(std::span<const std::int32_t>{of.offsets}),
      keys(std::span<const std::int32_t>{numbers}), in(x.span()), out(x.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(of.longest)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_row_scan<T>(of.on_gpu(offsets, in), out.address()), right, bytes);
  });
  contest.enter("CUB scan", [&] {
    auto cub =
        std::make_shared<CubScan<T>>(of.elements, in.data<T>(), keys.data<std::int32_t>(), out.data<T>());
    return Contender{.run = [cub] { (*cub)(); },
                     .right = right,
                     .bytes = bytes,
                     .note = "by key: reads a row's number with each element, too"};
  });
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_row_scan<float>(const Bench&, const std::string&,
                                             const std::vector<std::int32_t>&);

}  // namespace anabranch::bench
