// Constructors of array computations.

#include <algorithm>

#include <fmt/format.h>

#include "ir/make.h"
#include "ir/maker.h"
#include "ir/operator_class.h"
#include "ir/views.h"

namespace anabranch::ir {

using namespace making;

Ref use(std::shared_ptr<anabranch::detail::ArrayData> array, Place place) {
  require(array != nullptr, place, "use", "an empty handle was given");
  require(array->buffers.size() == array->scalars.size(), place, "use",
          "an array has a buffer for each component");
  Type type = Type::array(static_cast<int>(array->extents.size()), array->scalars);
  require(type.rank <= 4, place, "use", "arrays have at most 4 dimensions");
  Payload payload;
  payload.array = std::move(array);
  return collective(Op::use, std::move(type), {}, std::move(payload), place);
}

Ref unit(Ref element, Place place, Symbol label) {
  require_present({&element, 1}, place, "unit");
  require(element->type().is_element(), place, "unit", "wraps an element");
  Type type = Type::array(0, element->type().scalars);
  return collective(Op::unit, std::move(type), {std::move(element)}, labelled(label), place);
}

Ref generate(Ref shape, Ref function, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "generate";
  std::vector<Ref> children{std::move(shape), std::move(function)};
  require_present(children, place, what);
  const int rank = shape_rank(children[0], place, what);
  require_lambda(children[1], 1, 1, place, what);
  require_type(children[1]->parameters()[0]->type(), children[0]->type(), place, what);
  require(children[1]->result()->type().is_element(), place, what, "its function gives an element");
  Type type = Type::array(rank, children[1]->result()->type().scalars);
  return collective(Op::generate, std::move(type), std::move(children), labelled(label), place);
}

Ref map(Ref function, std::vector<Ref> arrays, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "map";
  require_present(arrays, place, what);
  require(static_cast<bool>(function) && !arrays.empty(), place, what,
          "needs a function and at least one array");
  require_lambda(function, arrays.size(), 1, place, what);
  require(arrays[0]->type().is_array(), place, what, "works on arrays");
  const int rank = arrays[0]->type().rank;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Type& type = arrays[i]->type();
    require(type.is_array() && type.rank == rank, place, what, [&] {
      return fmt::format("its arrays have one rank, got {} and {}", to_string(arrays[0]->type()),
                         to_string(type));
    });
    require_type(function->parameters()[i]->type(), Type::element(type.scalars), place, what);
  }
  require(function->result()->type().is_element(), place, what, "its function gives an element");
  Type type = Type::array(rank, function->result()->type().scalars);
  std::vector<Ref> children{std::move(function)};
  for (Ref& a : arrays) children.push_back(std::move(a));
  return collective(Op::map, std::move(type), std::move(children), labelled(label), place);
}

namespace {
void require_has_rows(const Type& type, const Place& place, const char* what) {
  require(type.is_array() && type.rank >= 1, place, what, [&] {
    return fmt::format("works along the innermost dimension of an array of rank 1 or more, got {}",
                       to_string(type));
  });
}

/// Of an operation along rows: an operator on the elements of an array, and perhaps a seed.
Type require_rows(std::span<const Ref> children, const Place& place, const char* what) {
  require_present(children, place, what);
  const Type& type = children[1]->type();
  require_has_rows(type, place, what);
  const Type element = Type::element(type.scalars);
  require_lambda(children[0], 2, 1, place, what);
  require_type(children[0]->parameters()[0]->type(), element, place, what);
  require_type(children[0]->parameters()[1]->type(), element, place, what);
  require_type(children[0]->result()->type(), element, place, what);
  if (children.size() == 3) require_type(children[2]->type(), element, place, what);
  return type;
}
}  // namespace

Ref fold(Ref function, Ref array, Ref seed, Place place, Symbol label,
         std::optional<fold_order::OperatorClass> order) {
  const char* what = label ? label.c_str() : "fold";
  std::vector<Ref> children{std::move(function), std::move(array)};
  if (seed) children.push_back(std::move(seed));
  const Type type = require_rows(children, place, what);
  Type result = Type::array(type.rank - 1, type.scalars);
  Payload payload = labelled(label);
  payload.order = order.value_or(fold_order_class(*children[0]));
  return collective(Op::fold, std::move(result), std::move(children), std::move(payload), place);
}

Ref scan(Ref function, Ref array, Ref seed, ScanKind kind, int axis, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "scan";
  std::vector<Ref> children{std::move(function), std::move(array)};
  if (seed) children.push_back(std::move(seed));
  const Type type = require_rows(children, place, what);
  const bool seeded = children.size() == 3;
  require(seeded || kind.prefixes == Prefixes::inclusive, place, what, "an exclusive scan needs a seed");
  std::vector<ArrayType> results{type.array_type()};
  if (seeded) results.push_back({type.rank - 1, type.scalars});
  Payload payload = labelled(label);
  payload.scan = kind;
  payload.first = axis < 0 ? type.rank - 1 : axis;
  require(payload.first < type.rank, place, what, "an array has no such dimension");
  return collective(Op::scan, Type::several(std::move(results)), std::move(children), std::move(payload),
                    place);
}

Ref scan_state(Ref function, Ref array, Ref seed, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "scan_state";
  std::vector<Ref> children{std::move(function), std::move(array), std::move(seed)};
  require_present(children, place, what);
  const Type& type = children[1]->type();
  require_has_rows(type, place, what);
  const Type& state = children[2]->type();
  require(state.is_element(), place, what, "the state is an element");
  require_lambda(children[0], 2, 1, place, what);
  require_type(children[0]->parameters()[0]->type(), state, place, what);
  require_type(children[0]->parameters()[1]->type(), Type::element(type.scalars), place, what);
  require_type(children[0]->result()->type(), state, place, what);
  Type states = Type::array(type.rank, state.scalars);
  return collective(Op::scan_state, std::move(states), std::move(children), labelled(label), place);
}

Ref project_array(Ref arrays, int which, Place place) {
  require_present({&arrays, 1}, place, "project_array");
  const Type& type = arrays->type();
  require(type.is_several() && which >= 0 && static_cast<std::size_t>(which) < type.arrays.size(), place,
          "project_array", [&] { return fmt::format("array {} of {}", which, to_string(type)); });
  Payload payload = labelled(arrays->payload().label);
  payload.first = which;
  return collective(Op::project_array, Type::array(type.arrays[static_cast<std::size_t>(which)]),
                    {std::move(arrays)}, std::move(payload), place);
}

Ref backpermute(Ref shape, Ref function, Ref array, IndexFacts facts, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "backpermute";
  std::vector<Ref> children{std::move(shape), std::move(function), std::move(array)};
  require_present(children, place, what);
  const int rank = shape_rank(children[0], place, what);
  require(children[2]->type().is_array(), place, what, "reads an array");
  require_lambda(children[1], 1, 1, place, what);
  require_type(children[1]->parameters()[0]->type(), children[0]->type(), place, what);
  require(is_index_type(children[1]->result()->type(), children[2]->type().rank), place, what,
          "its function gives an index of its array");
  Type type = Type::array(rank, children[2]->type().scalars);
  Payload payload = labelled(label);
  payload.injective = facts.injective;
  payload.in_bounds = facts.in_bounds;
  return collective(Op::backpermute, std::move(type), std::move(children), std::move(payload), place);
}

Ref reshape(Ref shape, Ref array, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "reshape";
  std::vector<Ref> children{std::move(shape), std::move(array)};
  require_present(children, place, what);
  const int rank = shape_rank(children[0], place, what);
  require(children[1]->type().is_array(), place, what, "takes an array");
  Type type = Type::array(rank, children[1]->type().scalars);
  return collective(Op::reshape, std::move(type), std::move(children), labelled(label), place);
}

Ref consume(Ref sink, Place place) {
  require_present({&sink, 1}, place, "consume");
  require(sink->op().is_a<SinkOp>(), place, "consume", "takes a sequence terminal");
  Type type = sink->type();
  return collective(Op::consume, std::move(type), {std::move(sink)}, {}, place);
}

namespace {

/// A body: a function of these arrays, whose results are arrays.
void require_body(const Ref& function, std::span<const Ref> arguments, const Place& place, const char* what) {
  require(function->op() == Op::lambda && function->parameters().size() == arguments.size(), place, what,
          [&] { return fmt::format("expects a function of {} arrays", arguments.size()); });
  for (std::size_t i = 0; i < arguments.size(); ++i)
    require_type(function->parameters()[i]->type(), arguments[i]->type(), place, what);
  for (const Ref& r : function->results())
    require(r->type().is_array(), place, what, "its functions give arrays");
}

/// Results of bodies, one by one.
void require_results(std::span<const Ref> got, std::span<const Ref> wanted, const Place& place,
                     const char* what) {
  require(got.size() == wanted.size(), place, what,
          [&] { return fmt::format("expects {} arrays as result, got {}", wanted.size(), got.size()); });
  for (std::size_t i = 0; i < got.size(); ++i) require_type(got[i]->type(), wanted[i]->type(), place, what);
}

Type type_of_results(std::span<const Ref> results) {
  std::vector<ArrayType> arrays;
  for (const Ref& r : results) arrays.push_back(r->type().array_type());
  return Type::several(std::move(arrays));
}

}  // namespace

Ref awhile(Ref predicate, Ref body, std::vector<Ref> state, Place place, int collects) {
  std::vector<Ref> children{std::move(predicate), std::move(body)};
  children.insert(children.end(), state.begin(), state.end());
  require_present(children, place, "awhile");
  require(!state.empty(), place, "awhile", "needs a state");
  for (const Ref& array : state) require(array->type().is_array(), place, "awhile", "its state is arrays");
  require_body(children[0], state, place, "awhile condition");
  require(children[0]->results().size() == 1, place, "awhile condition", "gives one array");
  require_type(children[0]->result()->type(), Type::array(0, {ScalarType::boolean}), place,
               "awhile condition");
  require_body(children[1], state, place, "awhile");
  const auto results = children[1]->results();
  require(collects >= 0 && results.size() >= static_cast<std::size_t>(collects), place, "awhile",
          "its function gives the next state and what is collected");
  require_results(results.first(results.size() - static_cast<std::size_t>(collects)), state, place, "awhile");
  for (const Ref& vector : results.last(static_cast<std::size_t>(collects)))
    require(vector->type().rank == 1, place, "awhile", "what it collects are vectors");
  Type type = type_of_results(results);
  Payload payload;
  payload.count = collects;
  return collective(Op::awhile, std::move(type), std::move(children), std::move(payload), place);
}

Ref acond(Ref condition, Ref then, Ref otherwise, Place place) {
  std::vector<Ref> children{std::move(condition), std::move(then), std::move(otherwise)};
  require_present(children, place, "acond");
  require_type(children[0]->type(), Type::element(ScalarType::boolean), place, "acond");
  require_body(children[1], {}, place, "acond");
  require_body(children[2], {}, place, "acond");
  require_results(children[2]->results(), children[1]->results(), place, "acond");
  Type type = type_of_results(children[1]->results());
  return collective(Op::acond, std::move(type), std::move(children), {}, place);
}

Ref part(Ref shape, Ref array, Ref begin, Place place, Symbol label, bool consecutive) {
  const char* what = label ? label.c_str() : "part";
  std::vector<Ref> children{std::move(shape), std::move(array), std::move(begin)};
  require_present(children, place, what);
  const int rank = shape_rank(children[0], place, what);
  require(children[1]->type().is_array() && children[1]->type().rank >= 1, place, what, "takes an array");
  require_type(children[2]->type(), Type::element(ScalarType::int64), place, what);
  if (const Ref inner = children[1]; inner->op() == Op::part) {
    children[2] = primitive(Primitive::add, {PartOf(inner).begin(), children[2]}, place);
    children[1] = PartOf(inner).array();
    consecutive = false;
  }
  Type type = Type::array(rank, children[1]->type().scalars);
  Payload payload = labelled(label);
  payload.injective = true;
  payload.in_bounds = true;
  payload.consecutive = consecutive;
  return collective(Op::part, std::move(type), std::move(children), std::move(payload), place);
}

Ref sort(Ref array, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "sort";
  require_present({&array, 1}, place, what);
  const Type& type = array->type();
  require(type.is_array() && type.rank >= 1, place, what, "sorts the rows of an array of rank 1 or more");
  require(!type.scalars.empty(), place, what, "its elements have a value to compare");
  Type results = Type::several({type.array_type(), {type.rank, {ScalarType::int64}}});
  return collective(Op::sort, std::move(results), {std::move(array)}, labelled(label), place);
}

namespace {

/// Of an operation whose result is a vector: its extent.
void require_extent(const Ref& shape, const Place& place, const char* what) {
  require(shape_rank(shape, place, what) == 1, place, what, "gives a vector");
}

void require_integers(const Ref& array, const Place& place, const char* what) {
  const Type& type = array->type();
  require(type.is_array() && type.rank == 1 && type.scalars.size() == 1 && is_integer(type.scalars[0]), place,
          what, [&] { return fmt::format("takes a vector of integers, got {}", to_string(type)); });
}

constexpr ScalarType number = ScalarType::int64;

}  // namespace

Ref select(Ref shape, Ref mask, Ref array, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "select";
  std::vector<Ref> children{std::move(shape), std::move(mask), std::move(array)};
  require_present(children, place, what);
  require_extent(children[0], place, what);
  require(children[2]->type().is_array(), place, what, "takes an array");
  require_type(children[1]->type(), Type::array(children[2]->type().rank, {ScalarType::boolean}), place,
               what);
  Type type = Type::array(1, children[2]->type().scalars);
  return collective(Op::select, std::move(type), std::move(children), labelled(label), place);
}

namespace {

/// Of elements that go to places.
Ref sent(Op op, Type type, Ref shape, Ref places, bool drops, const Place& place, Symbol label) {
  const char* what = label ? label.c_str() : name_of(op);
  std::vector<Ref> children{std::move(shape), std::move(places)};
  require_present(children, place, what);
  require_extent(children[0], place, what);
  require_integers(children[1], place, what);
  Payload payload = labelled(label);
  payload.drops = drops;
  return collective(op, std::move(type), std::move(children), std::move(payload), place);
}

}  // namespace

Ref group(Ref shape, Ref places, bool drops, Place place, Symbol label) {
  Type both = Type::several({{1, {number}}, {1, {number}}});
  return sent(Op::group, std::move(both), std::move(shape), std::move(places), drops, place, label);
}

Ref last_at(Ref shape, Ref places, bool drops, Place place, Symbol label) {
  return sent(Op::last_at, Type::array(1, {number}), std::move(shape), std::move(places), drops, place,
              label);
}

Ref accumulate(Primitive join, Ref shape, Ref places, Ref array, bool drops, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "accumulate";
  std::vector<Ref> children{std::move(shape), std::move(places), std::move(array)};
  require_present(children, place, what);
  require_extent(children[0], place, what);
  require_type(children[1]->type(), Type::array(1, {number}), place, what);
  const Type& type = children[2]->type();
  require(type.is_array() && type.rank == 1 && type.scalars.size() == 1 &&
              joins_in_any_order(join, type.scalars[0]),
          place, what, [&] { return fmt::format("cannot join {} by {}", to_string(type), info(join).name); });
  Payload payload = labelled(label);
  payload.primitive = join;
  payload.drops = drops;
  Type result = type;
  return collective(Op::accumulate, std::move(result), std::move(children), std::move(payload), place);
}

Ref repeat(Ref shape, Ref counts, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "repeat";
  std::vector<Ref> children{std::move(shape), std::move(counts)};
  require_present(children, place, what);
  require_extent(children[0], place, what);
  require_integers(children[1], place, what);
  return collective(Op::repeat, Type::array(1, {number}), std::move(children), labelled(label), place);
}

namespace {
Ref as_it_is(Op op, Ref array, Payload payload, const Place& place) {
  const char* what = payload.label ? payload.label.c_str() : name_of(op);
  require_present({&array, 1}, place, what);
  require(array->type().is_array(), place, what, "takes an array");
  Type type = array->type();
  return collective(op, std::move(type), {std::move(array)}, std::move(payload), place);
}
}  // namespace

Ref compute(Ref array, Place place, Symbol label) {
  return as_it_is(Op::compute, std::move(array), labelled(label), place);
}

Ref trace(Symbol text, Ref array, Place place, Symbol label) {
  Payload payload = labelled(label);
  payload.text = text;
  return as_it_is(Op::trace, std::move(array), std::move(payload), place);
}

}  // namespace anabranch::ir
