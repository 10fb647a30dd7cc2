#include "plan/expand.h"

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::plan {

using namespace ir;

namespace {
/// What a map gives of these elements. A source that its function does not look at need not be readable.
template <class F>
Ref mapped(const Map& map, F&& element_of) {
  const std::span<const Ref> parameters = map.function()->parameters();
  std::vector<Ref> arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool taken = mentions(*map.function()->result(), parameters.subspan(i, 1));
    arguments.push_back(taken ? element_of(map.arrays()[i]) : parameters[i]);
  }
  return ir::apply(map.function(), arguments)[0];
}
}  // namespace

Ref Expander::element(const Ref& array, std::span<const Ref> ix) {
  if (stored(array)) return index(array, tuple({ix.begin(), ix.end()}), array->place(), true);
  return definition(array, ix);
}

Ref Expander::definition(const Ref& array, std::span<const Ref> ix) {
  std::vector<const Node*> key{array.get()};
  for (const Ref& i : ix) key.push_back(i.get());
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  kept_.push_back(array);
  kept_.insert(kept_.end(), ix.begin(), ix.end());

  const Ref at = tuple({ix.begin(), ix.end()});
  if (is_given(*array)) return known_[key] = index(array, at, array->place(), true);
  Ref result;
  switch (array->op().as<ArrayOp>()) {
    case Op::unit:
      result = Unit(array).value();
      break;
    case Op::generate:
      result = ir::apply(Generate(array).function(), {{at}})[0];
      break;
    case Op::map:
      result = mapped(Map(array), [&](const Ref& source) { return element(source, ix); });
      break;
    case Op::backpermute: {
      const Ref from = ir::apply(Backpermute(array).function(), {{at}})[0];
      const Ref& source = Backpermute(array).array();
      if (array->payload().in_bounds || !stored(source))
        result = element(source, components(from));
      else
        result = index(source, from, array->place(), false, Symbol::of_static(array->label()));
      break;
    }
    case Op::reshape:
      result = element_linear(Reshape(array).array(), to_linear(staged_.facts_of(array).extents, ix));
      break;
    case Op::compute:
      result = element(Unchanged(array).array(), ix);
      break;
    case Op::part: {
      const PartOf part(array);
      const Ref within = to_linear(staged_.facts_of(array).extents, ix);
      const Ref position = primitive(Primitive::add, {part.begin(), within}, array->place());
      result = element_linear(part.array(), position);
      break;
    }
    case Op::use:
    case Op::consume:
    case Op::sort:
    case Op::select:
    case Op::group:
    case Op::last_at:
    case Op::accumulate:
    case Op::repeat:
    case Op::trace:
    case Op::awhile:
    case Op::acond:
    case Op::fold:
    case Op::scan:
    case Op::scan_state:
    case Op::project_array:
      throw InternalError(fmt::format("plan: {} cannot be delayed", name_of(array->op())));
  }
  known_[key] = result;
  return result;
}

Ref Expander::element_linear(const Ref& array, const Ref& position) {
  if (stored(array)) return linear_index(array, position, array->place(), true);
  if (array->type().rank == 0) return definition(array, {});
  if (array->type().rank == 1) return definition(array, {{position}});
  if (array->op() == Op::reshape) return element_linear(Reshape(array).array(), position);
  if (array->op() != Op::map) throw InternalError("plan: this array cannot be read by position");
  const std::vector<const Node*> key{array.get(), position.get()};
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  kept_.push_back(array);
  kept_.push_back(position);
  return known_[key] =
             mapped(Map(array), [&](const Ref& source) { return element_linear(source, position); });
}

Ref Expander::inline_reads(const Ref& scalar) {
  Rewriter rewriter(
      [this](const Ref&, const Ref& rebuilt) -> Ref {
        if (!is_read(rebuilt->op())) return rebuilt;
        const Ref& array = Read(rebuilt).array();
        if (stored(array)) return rebuilt;
        if (array->type().rank == 0) return inline_reads(definition(array, {}));
        if (rebuilt->op() == Op::index && Read(rebuilt).in_bounds())
          return inline_reads(definition(array, components(Read(rebuilt).at())));
        throw InternalError("plan: an array read at a computed position is not manifest");
      },
      [](const Node& node) { return !node.type().is_array(); });
  return rewriter(scalar);
}

}  // namespace anabranch::plan
