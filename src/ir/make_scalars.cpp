// Constructors of scalar expressions and functions.

#include <algorithm>

#include <fmt/format.h>

#include "ir/make.h"
#include "ir/maker.h"
#include "ir/views.h"

namespace anabranch::ir {

using namespace making;

Ref parameter(Type type, Place place) {
  require(type.is_element() || type.is_array(), place, "parameter", "a parameter is an element or an array");
  require(type.is_element() || (type.rank >= 0 && type.rank <= 4), place, "parameter",
          "arrays have 0 to 4 dimensions");
  return Maker::make_parameter(std::move(type), place);
}

Ref constant(ScalarType type, std::uint64_t bits, Place place) {
  Payload payload;
  payload.bits = bits;
  return scalar_node(Op::constant, Type::element(type), {}, std::move(payload), place);
}

Ref primitive(Primitive op, std::vector<Ref> operands, Place place) {
  const PrimitiveInfo& what = info(op);
  const std::string name(what.name);
  require_present(operands, place, name.c_str());
  require(op != Primitive::cast && op != Primitive::bitcast, place, name.c_str(),
          "is made by its own constructor");
  require(static_cast<int>(operands.size()) == what.arity, place, name.c_str(),
          [&] { return fmt::format("takes {} operands, got {}", what.arity, operands.size()); });
  const Type& type = operands[0]->type();
  for (const Ref& operand : operands) {
    require(operand->type().is_element() && operand->type().components() == 1, place, name.c_str(),
            [&] { return fmt::format("takes scalars, got {}", to_string(operand->type())); });
    require_type(operand->type(), type, place, name.c_str());
  }
  require(accepts(what.operands, type.scalars[0]), place, name.c_str(),
          [&] { return fmt::format("is not defined on {}", name_of(type.scalars[0])); });
  Type result = what.boolean_result ? Type::element(ScalarType::boolean) : type;
  Payload payload;
  payload.primitive = op;
  return scalar_node(Op::primitive, std::move(result), std::move(operands), std::move(payload), place);
}

Ref cast(ScalarType to, Ref value, Place place) {
  require_present({&value, 1}, place, "cast");
  require(value->type().is_element() && value->type().components() == 1, place, "cast",
          [&] { return fmt::format("takes a scalar, got {}", to_string(value->type())); });
  if (value->type().scalars[0] == to) return value;
  Payload payload;
  payload.primitive = Primitive::cast;
  return scalar_node(Op::primitive, Type::element(to), {std::move(value)}, std::move(payload), place);
}

Ref bitcast(ScalarType to, Ref value, Place place) {
  require_present({&value, 1}, place, "bitcast");
  require(value->type().is_element() && value->type().components() == 1, place, "bitcast",
          [&] { return fmt::format("takes a scalar, got {}", to_string(value->type())); });
  const ScalarType from = value->type().scalars[0];
  const bool numbers = from != ScalarType::boolean && to != ScalarType::boolean;
  require(numbers && size_of(from) == size_of(to), place, "bitcast", [&] {
    return fmt::format("takes a number to one of its size, not {} to {}", name_of(from), name_of(to));
  });
  if (from == to) return value;
  Payload payload;
  payload.primitive = Primitive::bitcast;
  return scalar_node(Op::primitive, Type::element(to), {std::move(value)}, std::move(payload), place);
}

Ref tuple(std::vector<Ref> parts, Place place) {
  require_present(parts, place, "tuple");
  if (parts.size() == 1) return parts[0];
  Scalars scalars;
  for (const Ref& part : parts) {
    require(part->type().is_element(), place, "tuple",
            [&] { return fmt::format("joins elements, got {}", to_string(part->type())); });
    scalars.insert(scalars.end(), part->type().scalars.begin(), part->type().scalars.end());
  }
  return scalar_node(Op::tuple, Type::element(std::move(scalars)), std::move(parts), {}, place);
}

Ref project(Ref value, int first, int count, Place place) {
  require_present({&value, 1}, place, "project");
  require(
      value->type().is_element() && first >= 0 && count >= 0 && first + count <= value->type().components(),
      place, "project", [&] {
        return fmt::format("components [{}, {}) of {}", first, first + count, to_string(value->type()));
      });
  // Look through tuples and projections, so that taking apart what was just put together leaves no trace.
  for (;;) {
    if (first == 0 && count == value->type().components()) return value;
    if (value->op() == Op::project) {
      first += value->payload().first;
      value = Ref(Project(value).value());
      continue;
    }
    if (value->op() == Op::tuple) {
      int start = 0;
      const Ref* inside = nullptr;
      for (const Ref& part : value->children()) {
        const int width = part->type().components();
        if (first >= start && first + count <= start + width && width > 0) {
          inside = &part;
          break;
        }
        start += width;
      }
      if (inside) {
        first -= start;
        value = Ref(*inside);
        continue;
      }
      std::vector<Ref> parts;
      start = 0;
      for (const Ref& part : value->children()) {
        const int width = part->type().components();
        const int from = std::max(first, start);
        const int to = std::min(first + count, start + width);
        if (from < to) parts.push_back(project(part, from - start, to - from, place));
        start += width;
      }
      return tuple(std::move(parts), place);
    }
    break;
  }
  Payload payload;
  payload.first = first;
  payload.count = count;
  const auto begin = value->type().scalars.begin() + first;
  Scalars scalars(begin, begin + count);
  return scalar_node(Op::project, Type::element(std::move(scalars)), {std::move(value)}, std::move(payload),
                     place);
}

Ref cond(Ref condition, Ref then, Ref otherwise, Place place) {
  std::vector<Ref> children{std::move(condition), std::move(then), std::move(otherwise)};
  require_present(children, place, "cond");
  require_type(children[0]->type(), Type::element(ScalarType::boolean), place, "cond");
  require(children[1]->type().is_element(), place, "cond", "chooses between elements");
  require_type(children[2]->type(), children[1]->type(), place, "cond");
  Type type = children[1]->type();
  return scalar_node(Op::cond, std::move(type), std::move(children), {}, place);
}

Ref while_loop(Ref predicate, Ref body, Ref initial, Place place) {
  std::vector<Ref> children{std::move(predicate), std::move(body), std::move(initial)};
  require_present(children, place, "while_loop");
  const Type type = children[2]->type();
  require(type.is_element(), place, "while_loop", "iterates on an element");
  require_lambda(children[0], 1, 1, place, "while_loop");
  require_lambda(children[1], 1, 1, place, "while_loop");
  require_type(children[0]->parameters()[0]->type(), type, place, "while_loop condition");
  require_type(children[0]->result()->type(), Type::element(ScalarType::boolean), place,
               "while_loop condition");
  require_type(children[1]->parameters()[0]->type(), type, place, "while_loop body");
  require_type(children[1]->result()->type(), type, place, "while_loop body");
  return scalar_node(Op::while_loop, type, std::move(children), {}, place);
}

Ref index(Ref array, Ref ix, Place place, bool in_bounds, Symbol label, bool injective) {
  std::vector<Ref> children{std::move(array), std::move(ix)};
  require_present(children, place, "index");
  require(children[0]->type().is_array(), place, "index",
          [&] { return fmt::format("reads an array, got {}", to_string(children[0]->type())); });
  require(is_index_type(children[1]->type(), children[0]->type().rank), place, "index", [&] {
    return fmt::format("an array of rank {} is indexed by as many int64, got {}", children[0]->type().rank,
                       to_string(children[1]->type()));
  });
  Type type = Type::element(children[0]->type().scalars);
  Payload payload = labelled(label);
  payload.in_bounds = in_bounds;
  payload.injective = injective;
  return scalar_node(Op::index, std::move(type), std::move(children), std::move(payload), place);
}

Ref linear_index(Ref array, Ref position, Place place, bool in_bounds, Symbol label) {
  std::vector<Ref> children{std::move(array), std::move(position)};
  require_present(children, place, "linear_index");
  require(children[0]->type().is_array(), place, "linear_index", "reads an array");
  require_type(children[1]->type(), Type::element(ScalarType::int64), place, "linear_index");
  Type type = Type::element(children[0]->type().scalars);
  Payload payload = labelled(label);
  payload.in_bounds = in_bounds;
  return scalar_node(Op::linear_index, std::move(type), std::move(children), std::move(payload), place);
}

Ref shape(Ref array, Place place) {
  require_present({&array, 1}, place, "shape");
  require(array->type().is_array(), place, "shape", "of an array");
  Scalars scalars(static_cast<std::size_t>(array->type().rank), ScalarType::int64);
  return scalar_node(Op::shape, Type::element(std::move(scalars)), {std::move(array)}, {}, place);
}

Ref lambda(std::vector<Ref> parameters, std::vector<Ref> results, Place place, Symbol label) {
  require_present(parameters, place, "function");
  require_present(results, place, "function");
  require(!results.empty(), place, "function", "needs a result");
  Payload payload = labelled(label);
  payload.first = static_cast<int>(parameters.size());
  FreeParameters free = without(free_of(results), parameters);
  std::vector<Ref> children = std::move(parameters);
  for (const Ref& p : children) {
    require(p->op() == Op::parameter, place, "function", "takes parameters only");
    Maker::bind(*p);
  }
  for (Ref& r : results) children.push_back(std::move(r));
  return Maker::make(Op::lambda, Type::function(), std::move(children), std::move(payload), place,
                     std::move(free));
}

Ref component(const Ref& element, int c) { return project(element, c, 1, element->place()); }

std::vector<Ref> components(const Ref& element) {
  std::vector<Ref> parts;
  for (int c = 0; c < element->type().components(); ++c) parts.push_back(component(element, c));
  return parts;
}

Ref extent(const Ref& array, int d) { return project(shape(array), d, 1); }

Ref product(std::span<const Ref> factors) {
  Ref size = int64(1);
  for (const Ref& factor : factors) size = primitive(Primitive::multiply, {size, factor});
  return size;
}

Ref to_linear(std::span<const Ref> extents, std::span<const Ref> ix) {
  if (ix.empty()) return int64(0);
  Ref position = ix[0];
  for (std::size_t d = 1; d < ix.size(); ++d)
    position = primitive(Primitive::add, {primitive(Primitive::multiply, {position, extents[d]}), ix[d]});
  return position;
}

}  // namespace anabranch::ir
