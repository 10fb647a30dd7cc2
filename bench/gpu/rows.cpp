#include <algorithm>
#include <memory>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "gpu/ragged_rows.h"
#include "gpu/resident_programs.h"
#include "gpu/results.h"

namespace anabranch::bench {
namespace {

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
  const RaggedRows of(lengths);
  const Buffer<T> host_values = random_numbers<T>(of.elements, 1);
  const std::vector<double> expected = sums_of(of.offsets, host_values);
  const double bytes =
      sizeof(T) * static_cast<double>(of.elements + of.rows) + 4.0 * static_cast<double>(of.rows + 1);
  Contest contest(bench, name, of.note("sums", bytes));
  const DeviceBuffer offsets(std::span<const std::int32_t>{of.offsets}), values(host_values.span()),
      out(expected.size() * sizeof(T));
  const auto right = [&] { return found_in<T>(out, expected, tolerance<T>(of.longest)); };

  contest.enter("anabranch", [&] {
    return contender_of(resident_row_sums<T>(of.on_gpu(offsets, values), out.address()), right, bytes);
  });
  contest.enter("CUB segmented reduce", [&] {
    auto cub = std::make_shared<CubRows<T>>(of.rows, offsets.data<std::int32_t>(), nullptr, values.data<T>(),
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
