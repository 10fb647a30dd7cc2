#include <algorithm>
#include <memory>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {
namespace {

std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> out{0};
  for (const std::int32_t n : lengths) out.push_back(out.back() + n);
  return out;
}

template <class T>
std::vector<double> sums_of(const std::vector<std::int32_t>& offsets, const Buffer<T>& values) {
  std::vector<double> out(offsets.size() - 1);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k)
      out[i] += static_cast<double>(values[static_cast<std::size_t>(k)]);
  return out;
}

}  // namespace

template <class T>
nlohmann::json hold_row_sums(const Bench& bench, const std::string& name,
                             const std::vector<std::int32_t>& lengths) {
  const std::vector<std::int32_t> host_offsets = offsets_of(lengths);
  const Buffer<T> host_values = random_numbers<T>(host_offsets.back(), 1);
  const std::vector<double> expected = sums_of(host_offsets, host_values);
  const auto rows = static_cast<std::int64_t>(lengths.size());
  const std::int64_t elements = host_offsets.back();
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const double bytes = sizeof(T) * static_cast<double>(elements + rows) + 4.0 * static_cast<double>(rows + 1);
  Contest contest(
      bench, name,
      fmt::format("sums of {:.3g} M rows, {:.3g} M elements, {:.3g} MB, on the GPU",
                  static_cast<double>(rows) / 1e6, static_cast<double>(elements) / 1e6, bytes / 1e6));
  const DeviceBuffer offsets(std::span<const std::int32_t>{host_offsets}), values(host_values.span()),
      out(expected.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(longest)); };

  contest.enter("anabranch", [&] {
    const ResidentMatrix matrix{.rows = rows,
                                .nonzeros = elements,
                                .longest = longest,
                                .offsets = offsets.address(),
                                .values = values.address()};
    return contender_of(resident_row_sums<T>(matrix, out.address()), right, bytes);
  });
  contest.enter("CUB segmented reduce", [&] {
    auto cub = std::make_shared<CubRows<T>>(rows, offsets.data<std::int32_t>(), nullptr, values.data<T>(),
                                            nullptr, out.data<T>());
    return Contender{.run = [cub] { (*cub)(); }, .right = right, .bytes = bytes};
  });
  enter_read(contest, bytes);
  enter_copy(contest, bytes);
  return contest.hold();
}
template nlohmann::json hold_row_sums<float>(const Bench&, const std::string&,
                                             const std::vector<std::int32_t>&);

}  // namespace anabranch::bench
