#pragma once

#include <memory>
#include <string>
#include <vector>

#include <anabranch/source.h>

/// Items of different lengths in memory as a source of views.
namespace anabranch::io::detail {

/// Offsets that have been checked, and the arrays that they divide.
struct RaggedArrays {
  std::string name;
  std::int64_t items = 0;
  OffsetType offset_type = OffsetType::int64;
  std::shared_ptr<const void> offsets;  ///< items + 1
  std::vector<ScalarType> scalars;
  std::vector<std::shared_ptr<const void>> components;
};

std::shared_ptr<SourceBase> ragged_view(RaggedArrays arrays);

}  // namespace anabranch::io::detail
