#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/make.h"
#include "support/memory_source.h"

/// What the C++ texts of programs (program_text.h) are written with: types, primitives and data by their names and bits, so
/// that a text outlives changes of their numbers.
namespace anabranch::testing {

/// By its name in messages: "int32", "float".
ScalarType type_named(std::string_view name);
/// By its name in the table of primitives: "add", "sqrt".
ir::Primitive primitive_named(std::string_view name);

ir::Type element_type(const std::vector<std::string_view>& scalars);
ir::Type array_type(int rank, const std::vector<std::string_view>& scalars);

/// An array from the bits of its components.
HostArray host_array(const std::vector<std::string_view>& scalars, const std::vector<std::int64_t>& extents,
                     const std::vector<std::vector<std::uint64_t>>& bits);

ArrayInfo component(const std::vector<std::string_view>& scalars,
                    const std::vector<std::optional<std::int64_t>>& extents, int descriptor, int offset_bits);
ir::Ref stream_of(const std::vector<ArrayInfo>& components, const std::vector<Item>& items);
/// To a sink that takes the same in each run.
ir::Ref written(const ir::Ref& sequence);

}  // namespace anabranch::testing
