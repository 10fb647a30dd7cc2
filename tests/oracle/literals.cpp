#include "oracle/literals.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "support/memory_sink.h"

namespace anabranch::testing {

namespace {

ir::Scalars types_named(const std::vector<std::string_view>& names) {
  ir::Scalars out;
  for (const auto name : names) out.push_back(type_named(name));
  return out;
}

}  // namespace

ScalarType type_named(std::string_view name) {
  for (const auto& facts : detail::scalar_table)
    if (name == facts.name) return facts.type;
  throw std::logic_error("no scalar type is called " + std::string(name));
}

ir::Primitive primitive_named(std::string_view name) {
  for (int i = 0; i < ir::primitive_count; ++i)
    if (name == ir::info(static_cast<ir::Primitive>(i)).name) return static_cast<ir::Primitive>(i);
  throw std::logic_error("no primitive is called " + std::string(name));
}

ir::Type element_type(const std::vector<std::string_view>& scalars) {
  return ir::Type::element(types_named(scalars));
}

ir::Type array_type(int rank, const std::vector<std::string_view>& scalars) {
  return ir::Type::array(rank, types_named(scalars));
}

HostArray host_array(const std::vector<std::string_view>& scalars, const std::vector<std::int64_t>& extents,
                     const std::vector<std::vector<std::uint64_t>>& bits) {
  HostArray out = detail::allocate_array(types_named(scalars), extents);
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    const std::size_t width = size_of(out->scalars[c]);
    if (bits.at(c).size() != static_cast<std::size_t>(out->size()))
      throw std::logic_error("host_array: wrong number of elements");
    for (std::size_t i = 0; i < bits[c].size(); ++i)
      std::memcpy(static_cast<std::byte*>(out->buffers[c].get()) + i * width, &bits[c][i], width);
  }
  return out;
}

ArrayInfo component(const std::vector<std::string_view>& scalars,
                    const std::vector<std::optional<std::int64_t>>& extents, int descriptor,
                    int offset_bits) {
  return array_info(types_named(scalars), extents, descriptor,
                    offset_bits == 32 ? OffsetType::int32 : OffsetType::int64);
}

ir::Ref stream_of(const std::vector<ArrayInfo>& components, const std::vector<Item>& items) {
  return ir::stream_in(std::make_shared<MemorySource>("regress", components, items));
}

ir::Ref written(const ir::Ref& sequence) {
  return ir::write(sequence, same_again_sink(sequence->type().arrays));
}

}  // namespace anabranch::testing
