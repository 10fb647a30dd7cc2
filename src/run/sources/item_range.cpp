#include "run/sources/item_range.h"

namespace anabranch::runtime {

bool overlap(const ArrayChunk& array, const ArrayInfo& info) {
  return info.regular() && array.extents.size() == info.extents.size() + 1 && array.extents.back();
}

ItemRange stretch(const ArrayChunk& array, const ArrayInfo& info, std::int64_t items) {
  if (items == 0) return {};
  const std::int64_t* const begins = array.extents.back().get();
  return {begins[0], begins[items - 1] + ir::elements_of_item(info)};
}

}  // namespace anabranch::runtime
