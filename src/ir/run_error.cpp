#include "ir/run_error.h"

#include <algorithm>

#include <fmt/format.h>

namespace anabranch::ir {

std::string grouped(std::int64_t number) {
  std::string digits = fmt::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

void raise(std::string_view operation, std::string_view wrong, const Place& place, std::int64_t item) {
  const std::string in_item = item == no_item ? "" : fmt::format(" in item {}", grouped(item));
  throw RunError(fmt::format("{}: {}{} ({})", operation, wrong, in_item, anabranch::to_string(place)), place,
                 item);
}

std::string out_of_range(std::int64_t index, std::int64_t extent) {
  if (extent <= 0) return fmt::format("index {} into an empty array", index);
  return fmt::format("index {} out of range 0..{}", index, extent - 1);
}

std::string divided_by_zero(std::int64_t dividend) {
  return fmt::format("integer division of {} by zero", dividend);
}
std::string divided_by_zero(std::uint64_t dividend) {
  return fmt::format("integer division of {} by zero", dividend);
}

std::string division_overflows(std::int64_t dividend) {
  return fmt::format("integer division of {} by -1 overflows", dividend);
}

std::string empty_fold() { return "no elements, and no value for that case"; }

std::string negative_extent(std::int64_t extent) { return fmt::format("negative extent {}", extent); }

std::string too_many_elements(std::span<const std::int64_t> extents) {
  return fmt::format("an array of shape ({}) has too many elements", fmt::join(extents, ", "));
}

std::string other_size(std::int64_t more) {
  constexpr std::int64_t beyond = 4 * most_extent;
  if (more >= beyond || more <= -beyond) return "the array or its new shape has too many elements";
  const std::uint64_t difference =
      more > 0 ? static_cast<std::uint64_t>(more) : -static_cast<std::uint64_t>(more);
  return fmt::format("the new shape has {} {} element{} than the array", difference,
                     more > 0 ? "more" : "fewer", difference == 1 ? "" : "s");
}

std::string wrong_windows(std::span<const std::int64_t> shape, std::int64_t hop) {
  const bool is_vector = shape.size() == 1;
  if (hop < 1 || *std::min_element(shape.begin(), shape.end()) < 1)
    return is_vector ? fmt::format("size {}, hop {}: both are at least 1", shape[0], hop)
                     : fmt::format("shape ({}), hop {}: all are at least 1", fmt::join(shape, ", "), hop);
  std::int64_t elements = 1;
  const bool is_too_large = std::any_of(shape.begin(), shape.end(), [&](std::int64_t extent) {
    return __builtin_mul_overflow(elements, extent, &elements) || elements > most_extent;
  });
  return is_too_large && !is_vector ? too_many_elements(shape) : "";
}

std::string other_rows(std::int64_t block, std::span<const std::int64_t> extents,
                       std::span<const std::int64_t> window) {
  return fmt::format("block {} has shape ({}), the windows have shape ({})", grouped(block),
                     fmt::join(extents, ", "), fmt::join(window, ", "));
}

std::string negative_count(std::string_view operation, std::int64_t count) {
  const bool of_items = operation == "produce" || operation == "windows" || operation == "tiles";
  return of_items ? negative_items(operation, count) : fmt::format("negative count {}", count);
}

std::string other_extent(std::int64_t extent, std::int64_t elements) {
  return fmt::format("extent {} for {} elements", extent, elements);
}

std::string negative_items(std::string_view operation, std::int64_t items) {
  if (operation == "windows") return "size and hop are at least 1";
  if (operation == "tiles") return "the extents of a tile are at least 1";
  return fmt::format("the number of items is {}", items);
}

}  // namespace anabranch::ir
