#include "run/backends/device_rearrangement.h"

#include <fmt/format.h>

#include "ir/run_error.h"

namespace anabranch::runtime {

namespace {

template <class T>
T* component(const DevicePlacedArray& array, std::size_t number = 0) {
  return number < array.components.size() ? device_pointer<T>(array.components[number]) : nullptr;
}

device::Join join_of(ir::Primitive primitive) {
  using ir::Primitive;
  if (primitive == Primitive::add) return device::Join::add;
  if (primitive == Primitive::multiply) return device::Join::multiply;
  if (primitive == Primitive::minimum) return device::Join::minimum;
  if (primitive == Primitive::maximum) return device::Join::maximum;
  if (primitive == Primitive::bit_and) return device::Join::bit_and;
  if (primitive == Primitive::bit_or) return device::Join::bit_or;
  if (primitive == Primitive::bit_xor) return device::Join::bit_xor;
  throw InternalError(fmt::format("a GPU does not accumulate by {}", ir::info(primitive).name));
}

}  // namespace

std::string why_not_on_device(const plan::RearrangeStep& step, std::int64_t elements, std::int64_t parts) {
  if (step.node->op() == ir::Op::trace) return "the host prints";
  if (elements > device::most_rearranged || parts > device::most_rearranged)
    return fmt::format("{} elements in {} parts are too many", elements, parts);
  return "";
}
bool may_fail(const plan::RearrangeStep& step) { return step.node->op() != ir::Op::sort; }

DeviceRearrangement device_rearrangement(const plan::RearrangeStep& step,
                                         const std::vector<DevicePlacedArray>& inputs,
                                         const std::vector<DevicePlacedArray>& outputs,
                                         cuda::Address failure_at) {
  const ir::Node& node = *step.node;
  const DevicePlacedArray& last = inputs.back();
  const DevicePlacedArray& first_result = outputs[0];
  const ir::Scalars types = types_of_rearranged(step);
  auto* const failure = device_pointer<device::Failure>(failure_at);
  DeviceRearrangement out;
  const auto columns = [&] {
    for (std::size_t c = 0; c < types.size(); ++c)
      out.columns.push_back(
          {device::element_of(types[c]), component<const void>(last, c), component<void>(first_result, c)});
    return out.columns.data();
  };
  const auto count = static_cast<std::int32_t>(types.size());
  const auto places = [&](ScalarType type) {
    return device::Places{device::element_of(type), component<const void>(inputs[0]), inputs[0].parts,
                          first_result.parts, node.payload().drops};
  };
  const auto numbers = [](const DevicePlacedArray& array) { return component<std::int64_t>(array); };
  switch (node.op().as<ir::ArrayOp>()) {
    using ir::Op;
    case Op::sort:
      out.operation = device::Sort{columns(), count, last.parts, numbers(outputs[1])};
      return out;
    case Op::select:
      out.operation =
          device::Select{columns(),          count,  component<const std::uint8_t>(inputs[0]), last.parts,
                         first_result.parts, failure};
      return out;
    case Op::group:
      out.operation = device::Group{places(types[0]), numbers(first_result), numbers(outputs[1]), failure};
      return out;
    case Op::last_at:
      out.operation = device::LastAt{places(types[0]), numbers(first_result), failure};
      return out;
    case Op::accumulate:
      out.operation = device::Accumulate{places(ScalarType::int64),
                                         join_of(node.payload().primitive),
                                         ir::neutral_element(node.payload().primitive, types[0]),
                                         device::element_of(types[0]),
                                         component<const void>(last),
                                         component<void>(first_result),
                                         failure};
      return out;
    case Op::repeat:
      out.operation = device::Repeat{device::element_of(types[0]), component<const void>(last), last.parts,
                                     first_result.parts,           numbers(first_result),       failure};
      return out;
    case Op::trace:
    case Op::use:
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::fold:
    case Op::scan:
    case Op::scan_state:
    case Op::backpermute:
    case Op::reshape:
    case Op::consume:
    case Op::project_array:
    case Op::awhile:
    case Op::acond:
    case Op::part:
    case Op::compute:
      break;
  }
  throw InternalError(fmt::format("a GPU has no rearrangement {}", ir::name_of(node.op())));
}

void raise_failed(const plan::RearrangeStep& step, const device::Failure& failure,
                  const ir::ItemNumbers& items) {
  const auto wrong = [&]() -> std::string {
    switch (failure.what) {
      case device::Failure::What::nothing:
        break;
      case device::Failure::What::out_of_range:
        return ir::out_of_range(failure.value, failure.bound);
      case device::Failure::What::negative:
        return ir::negative_count(step.node->label(), failure.value);
      case device::Failure::What::other_extent:
        return ir::other_extent(failure.bound, failure.value);
    }
    return "";
  }();
  if (failure.what != device::Failure::What::nothing)
    ir::raise(step.node->label(), wrong, step.node->place(), items.of(failure.part));
}

}  // namespace anabranch::runtime
