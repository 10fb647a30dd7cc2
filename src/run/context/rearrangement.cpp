#include "run/context/rearrangement.h"

#include <cstring>

#include <fmt/format.h>

#include "ir/array_text.h"
#include "ir/cancelled.h"
#include "ir/extents.h"
#include "ir/print.h"
#include "ir/run_error.h"
#include "ir/views.h"
#include "run/record/print_line.h"

namespace anabranch::runtime {

namespace {

rearrange::Resources resources_of(RunContext& context, const ir::Node& node) {
  rearrange::Resources resources;
  resources.threads = context.executor.concurrency_here();
  resources.check_stop = [&context] {
    if (context.options.stop.stop_requested()) ir::raise_cancelled();
  };
  resources.parallel_for = [&context, check_stop = resources.check_stop](
                               std::int64_t n, const std::function<void(std::int64_t)>& f) {
    context.executor.parallel_for(n, [&](std::int64_t i) {
      check_stop();
      f(i);
    });
  };
  resources.take_memory = [&context, &node](std::int64_t bytes) {
    return context.take_counted(fmt::format("{} at work", ir::title(node)), bytes);
  };
  return resources;
}

const void* at(const PlacedArray& array) { return array.components[0]; }
std::int64_t* numbers(const PlacedArray& array) {
  return array.components.empty() ? nullptr : static_cast<std::int64_t*>(array.components[0]);
}

/// Prints each part, and copies it.
void trace(RunContext& context, const ir::Node& node, const PlacedArray& from, const PlacedArray& to,
           const ir::ItemNumbers& items) {
  const ir::Scalars& scalars = node.type().scalars;
  const std::vector<const void*> components(from.components.begin(), from.components.end());
  for (std::int64_t part = 0; part < from.parts.count; ++part) {
    std::vector<std::int64_t> extents;
    for (const auto& all : from.extents)
      extents.push_back(all[all.size() > 1 ? static_cast<std::size_t>(part) : 0]);
    context.printer->print(
        context.options,
        ir::traced_line(node, items.of(part), {scalars, components, from.parts.begin(part)}, extents));
  }
  for (std::size_t c = 0; c < scalars.size(); ++c)
    if (const std::int64_t elements = from.parts.elements(); elements > 0)
      std::memcpy(to.components[c], from.components[c],
                  static_cast<std::size_t>(elements) * size_of(scalars[c]));
}

}  // namespace

ir::Scalars types_of_rearranged(const plan::RearrangeStep& step) {
  ir::Scalars types;
  ir::each_operand(*step.node, [&](const ir::Operand& how, const ir::Ref& operand) {
    if (how.role == ir::Role::array) types = operand->type().scalars;
  });
  return types;
}

rearrange::Parts parts_of_whole(const detail::ArrayData& array, const plan::RearrangeStep& step) {
  rearrange::Parts parts;
  parts.size = array.size();
  if (!works_on_rows(step)) return parts;
  parts.size = array.extents.back();
  for (std::size_t d = 0; d + 1 < array.extents.size(); ++d)
    parts.count = ir::times(parts.count, array.extents[d]);
  return parts;
}

bool works_on_rows(const plan::RearrangeStep& step) { return step.node->op() == ir::Op::sort; }
bool asks_for_extents(const plan::RearrangeStep& step) { return step.node->op() == ir::Op::trace; }

void run_rearrangement(RunContext& context, const plan::RearrangeStep& step,
                       const std::vector<PlacedArray>& inputs, const std::vector<PlacedArray>& outputs,
                       const ir::ItemNumbers& items) {
  const ir::Node& node = *step.node;
  const rearrange::Resources resources = resources_of(context, node);
  const PlacedArray& last = inputs.back();
  const ir::Scalars types = types_of_rearranged(step);
  const std::vector<const void*> data(last.components.begin(), last.components.end());
  const rearrange::Components array{types, data};
  // Of group and last_at the only array; of accumulate the first, of int64.
  const rearrange::Places places{node.op() == ir::Op::accumulate ? ScalarType::int64 : types[0],
                                 at(inputs[0]), inputs[0].parts, outputs[0].parts, node.payload().drops};
  const auto run = [&]() -> rearrange::MayFail {
    using ir::Op;
    switch (node.op().as<ir::ArrayOp>()) {
      case Op::sort:
        rearrange::sort(array, last.parts, outputs[0].components, numbers(outputs[1]), resources);
        return {};
      case Op::select:
        for (std::int64_t part = 0; part < last.parts.count; ++part)
          if (inputs[0].parts.length(part) != last.parts.length(part))
            return rearrange::Failure{part,
                                      ir::other_size(inputs[0].parts.length(part) - last.parts.length(part))};
        return rearrange::select(array, static_cast<const std::uint8_t*>(at(inputs[0])), last.parts,
                                 outputs[0].components, outputs[0].parts, resources);
      case Op::group:
        return rearrange::group(places, numbers(outputs[0]), numbers(outputs[1]), resources);
      case Op::last_at:
        return rearrange::last_at(places, numbers(outputs[0]), resources);
      case Op::accumulate:
        return rearrange::accumulate(places, {node.payload().primitive, types[0], at(last), last.parts},
                                     outputs[0].components[0], resources);
      case Op::repeat:
        return rearrange::repeat(types[0], at(last), last.parts, numbers(outputs[0]), outputs[0].parts,
                                 resources, node.label());
      case Op::trace:
        trace(context, node, last, outputs[0], items);
        return {};
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
    throw InternalError(fmt::format("{} is no rearrangement", ir::name_of(node.op())));
  };
  if (const rearrange::MayFail failure = run())
    ir::raise(node.label(), failure->wrong, node.place(), items.of(failure->part));
}

}  // namespace anabranch::runtime
