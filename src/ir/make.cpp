#include "ir/make.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/views.h"

namespace anabranch::ir {

class Maker {
 public:
  static Ref make(Op op, Type type, std::vector<Ref> children, Payload payload, Place place,
                  FreeParameters free) {
    return Ref(
        new Node(op, std::move(type), std::move(children), std::move(payload), place, std::move(free)));
  }
  /// A parameter is free in itself.
  static Ref make_parameter(Type type, Place place) {
    auto free = std::make_shared<std::vector<const Node*>>(1, nullptr);
    Ref node = make(Op::parameter, std::move(type), {}, {}, place, free);
    (*free)[0] = node.get();
    return node;
  }
  static void bind(const Node& parameter) { parameter.bound_.store(true, std::memory_order_relaxed); }
};

namespace {

const FreeParameters& nothing_free() {
  static const FreeParameters none = std::make_shared<const std::vector<const Node*>>();
  return none;
}

bool by_id(const Node* a, const Node* b) { return a->id() < b->id(); }

/// Union of the children's free parameters; shares a child's set wherever it already is the union.
FreeParameters free_of(std::span<const Ref> children) {
  FreeParameters all = nothing_free();
  for (const Ref& child : children) {
    const FreeParameters& mine = child->shared_free();
    if (mine == all || mine->empty()) continue;
    if (all->empty() || std::includes(mine->begin(), mine->end(), all->begin(), all->end(), by_id)) {
      all = mine;
    } else if (!std::includes(all->begin(), all->end(), mine->begin(), mine->end(), by_id)) {
      auto both = std::make_shared<std::vector<const Node*>>();
      std::set_union(all->begin(), all->end(), mine->begin(), mine->end(), std::back_inserter(*both), by_id);
      all = std::move(both);
    }
  }
  return all;
}

[[noreturn]] void refuse(const Place& place, const std::string& message) {
  throw ProgramError(fmt::format("{} ({})", message, to_string(place)));
}

void require(bool ok, const Place& place, const char* what, const std::string& detail) {
  if (!ok) refuse(place, fmt::format("{}: {}", what, detail));
}

void require_present(std::span<const Ref> children, const Place& place, const char* what) {
  for (const Ref& child : children)
    require(static_cast<bool>(child), place, what, "an empty handle was given");
}

Ref scalar_node(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place) {
  FreeParameters free = free_of(children);
  return Maker::make(op, std::move(type), std::move(children), std::move(payload), place, std::move(free));
}

/// Array and sequence computations: none of them may depend on a scalar parameter, because one would then run
/// for every element (nested parallelism in scalar code).
Ref collective(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place) {
  FreeParameters free = free_of(children);
  const char* name = payload.label ? payload.label.c_str() : name_of(op);
  for (const Node* parameter : *free) {
    if (!parameter->type().is_element()) continue;
    if (parameter->bound())
      refuse(
          place,
          fmt::format("{}: an Exp is used outside the function whose parameter it depends on (introduced at "
                      "{}); it stands for one element, inside that function only. Let the function return "
                      "the value: map gives an array of them",
                      name, to_string(parameter->place())));
    refuse(place,
           fmt::format(
               "{}: an array computation depends on a scalar parameter (introduced at {}): this would be "
               "nested parallelism inside scalar code. Map a sequence over arrays (map_seq, produce) "
               "instead, or compute the array outside the function",
               name, to_string(parameter->place())));
  }
  return Maker::make(op, std::move(type), std::move(children), std::move(payload), place, std::move(free));
}

Payload labelled(Symbol label) {
  Payload payload;
  payload.label = label;
  return payload;
}

bool is_index_type(const Type& type, int rank) {
  return type.is_element() && type.components() == rank &&
         std::all_of(type.scalars.begin(), type.scalars.end(),
                     [](ScalarType s) { return s == ScalarType::int64; });
}

void require_lambda(const Ref& function, std::size_t parameters, std::size_t results, const Place& place,
                    const char* what) {
  require(function->op() == Op::lambda, place, what, "expects a function");
  require(function->parameters().size() == parameters && function->results().size() == results, place, what,
          fmt::format("expects a function of {} parameters and {} results, got {} and {}", parameters,
                      results, function->parameters().size(), function->results().size()));
}

void require_type(const Type& got, const Type& wanted, const Place& place, const char* what) {
  require(got == wanted, place, what, fmt::format("expects {}, got {}", to_string(wanted), to_string(got)));
}

int shape_rank(const Ref& shape, const Place& place, const char* what) {
  require(
      shape->type().is_element() && shape->type().components() <= 4 &&
          is_index_type(shape->type(), shape->type().components()),
      place, what,
      fmt::format("expects a shape (int64 for each of 0 to 4 dimensions), got {}", to_string(shape->type())));
  return shape->type().components();
}

}  // namespace

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
  require(op != Primitive::cast, place, "cast", "is made by its own constructor");
  require(static_cast<int>(operands.size()) == what.arity, place, name.c_str(),
          fmt::format("takes {} operands, got {}", what.arity, operands.size()));
  const Type& type = operands[0]->type();
  for (const Ref& operand : operands) {
    require(operand->type().is_element() && operand->type().components() == 1, place, name.c_str(),
            fmt::format("takes scalars, got {}", to_string(operand->type())));
    require_type(operand->type(), type, place, name.c_str());
  }
  require(accepts(what.operands, type.scalars[0]), place, name.c_str(),
          fmt::format("is not defined on {}", name_of(type.scalars[0])));
  Type result = what.boolean_result ? Type::element(ScalarType::boolean) : type;
  Payload payload;
  payload.primitive = op;
  return scalar_node(Op::primitive, std::move(result), std::move(operands), std::move(payload), place);
}

Ref cast(ScalarType to, Ref value, Place place) {
  require_present({&value, 1}, place, "cast");
  require(value->type().is_element() && value->type().components() == 1, place, "cast",
          fmt::format("takes a scalar, got {}", to_string(value->type())));
  if (value->type().scalars[0] == to) return value;
  Payload payload;
  payload.primitive = Primitive::cast;
  return scalar_node(Op::primitive, Type::element(to), {std::move(value)}, std::move(payload), place);
}

Ref tuple(std::vector<Ref> parts, Place place) {
  require_present(parts, place, "tuple");
  if (parts.size() == 1) return parts[0];
  Scalars scalars;
  for (const Ref& part : parts) {
    require(part->type().is_element(), place, "tuple",
            fmt::format("joins elements, got {}", to_string(part->type())));
    scalars.insert(scalars.end(), part->type().scalars.begin(), part->type().scalars.end());
  }
  return scalar_node(Op::tuple, Type::element(std::move(scalars)), std::move(parts), {}, place);
}

Ref project(Ref value, int first, int count, Place place) {
  require_present({&value, 1}, place, "project");
  require(
      value->type().is_element() && first >= 0 && count >= 0 && first + count <= value->type().components(),
      place, "project",
      fmt::format("components [{}, {}) of {}", first, first + count, to_string(value->type())));
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

Ref index(Ref array, Ref ix, Place place, bool in_bounds, Symbol label) {
  std::vector<Ref> children{std::move(array), std::move(ix)};
  require_present(children, place, "index");
  require(children[0]->type().is_array(), place, "index",
          fmt::format("reads an array, got {}", to_string(children[0]->type())));
  require(is_index_type(children[1]->type(), children[0]->type().rank), place, "index",
          fmt::format("an array of rank {} is indexed by as many int64, got {}", children[0]->type().rank,
                      to_string(children[1]->type())));
  Type type = Type::element(children[0]->type().scalars);
  Payload payload = labelled(label);
  payload.in_bounds = in_bounds;
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
  FreeParameters inside = free_of(results);
  auto free = std::make_shared<std::vector<const Node*>>();
  for (const Node* p : *inside) {
    const bool mine =
        std::any_of(parameters.begin(), parameters.end(), [&](const Ref& q) { return q.get() == p; });
    if (!mine) free->push_back(p);
  }
  std::vector<Ref> children = std::move(parameters);
  for (const Ref& p : children) {
    require(p->op() == Op::parameter, place, "function", "takes parameters only");
    Maker::bind(*p);
  }
  for (Ref& r : results) children.push_back(std::move(r));
  return Maker::make(Op::lambda, Type::function(), std::move(children), std::move(payload), place,
                     free->empty() ? nothing_free() : FreeParameters(std::move(free)));
}

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
    require(type.is_array() && type.rank == rank, place, what,
            fmt::format("its arrays have one rank, got {} and {}", to_string(arrays[0]->type()),
                        to_string(type)));
    require_type(function->parameters()[i]->type(), Type::element(type.scalars), place, what);
  }
  require(function->result()->type().is_element(), place, what, "its function gives an element");
  Type type = Type::array(rank, function->result()->type().scalars);
  std::vector<Ref> children{std::move(function)};
  for (Ref& a : arrays) children.push_back(std::move(a));
  return collective(Op::map, std::move(type), std::move(children), labelled(label), place);
}

namespace {
/// Of an operation along rows: an operator on the elements of an array, and perhaps a seed.
Type require_rows(std::span<const Ref> children, const Place& place, const char* what) {
  require_present(children, place, what);
  const Type& type = children[1]->type();
  require(type.is_array() && type.rank >= 1, place, what,
          fmt::format("works along the innermost dimension of an array of rank 1 or more, got {}",
                      to_string(type)));
  const Type element = Type::element(type.scalars);
  require_lambda(children[0], 2, 1, place, what);
  require_type(children[0]->parameters()[0]->type(), element, place, what);
  require_type(children[0]->parameters()[1]->type(), element, place, what);
  require_type(children[0]->result()->type(), element, place, what);
  if (children.size() == 3) require_type(children[2]->type(), element, place, what);
  return type;
}
}  // namespace

Ref fold(Ref function, Ref array, Ref seed, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "fold";
  std::vector<Ref> children{std::move(function), std::move(array)};
  if (seed) children.push_back(std::move(seed));
  const Type type = require_rows(children, place, what);
  Type result = Type::array(type.rank - 1, type.scalars);
  return collective(Op::fold, std::move(result), std::move(children), labelled(label), place);
}

Ref scan(Ref function, Ref array, Ref seed, bool exclusive, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "scan";
  std::vector<Ref> children{std::move(function), std::move(array)};
  if (seed) children.push_back(std::move(seed));
  const Type type = require_rows(children, place, what);
  const bool seeded = children.size() == 3;
  require(seeded || !exclusive, place, what, "an exclusive scan needs a seed");
  std::vector<ArrayType> results{type.array_type()};
  if (seeded) results.push_back({type.rank - 1, type.scalars});
  Payload payload = labelled(label);
  payload.exclusive = exclusive;
  return collective(Op::scan, Type::several(std::move(results)), std::move(children), std::move(payload),
                    place);
}

Ref project_array(Ref arrays, int which, Place place) {
  require_present({&arrays, 1}, place, "project_array");
  const Type& type = arrays->type();
  require(type.is_several() && which >= 0 && static_cast<std::size_t>(which) < type.arrays.size(), place,
          "project_array", fmt::format("array {} of {}", which, to_string(type)));
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
          fmt::format("expects a function of {} arrays", arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    require_type(function->parameters()[i]->type(), arguments[i]->type(), place, what);
  for (const Ref& r : function->results())
    require(r->type().is_array(), place, what, "its functions give arrays");
}

/// Results of bodies, one by one.
void require_results(std::span<const Ref> got, std::span<const Ref> wanted, const Place& place,
                     const char* what) {
  require(got.size() == wanted.size(), place, what,
          fmt::format("expects {} arrays as result, got {}", wanted.size(), got.size()));
  for (std::size_t i = 0; i < got.size(); ++i) require_type(got[i]->type(), wanted[i]->type(), place, what);
}

Type type_of_results(std::span<const Ref> results) {
  std::vector<ArrayType> arrays;
  for (const Ref& r : results) arrays.push_back(r->type().array_type());
  return Type::several(std::move(arrays));
}

}  // namespace

Ref awhile(Ref predicate, Ref body, std::vector<Ref> state, Place place) {
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
  require_results(children[1]->results(), state, place, "awhile");
  Type type = type_of_results(state);
  return collective(Op::awhile, std::move(type), std::move(children), {}, place);
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

namespace {

/// What a source declares must be possible, and not contradict itself: lifting believes it.
void require_declaration(const SourceInfo& info, const Place& place) {
  const std::string source = "stream_in: source " + info.name;
  std::map<int, std::size_t> first;  // array of each descriptor
  for (std::size_t i = 0; i < info.arrays.size(); ++i) {
    const ArrayInfo& array = info.arrays[i];
    require(array.rank() <= 4, place, source.c_str(), "arrays have at most 4 dimensions");
    for (const auto& extent : array.extents)
      require(!extent || *extent >= 0, place, source.c_str(), "it declares a negative extent");
    if (array.descriptor < 0) continue;
    const std::size_t other = first.try_emplace(array.descriptor, i).first->second;
    if (array.extents != info.arrays[other].extents)
      refuse(place, fmt::format("{}: its arrays {} and {} have one descriptor and different extents", source,
                                other, i));
  }
}

}  // namespace

Ref stream_in(std::shared_ptr<SourceBase> source, Place place) {
  require(source != nullptr, place, "stream_in", "an empty handle was given");
  require_declaration(source->info(), place);
  std::vector<ArrayType> arrays;
  for (const ArrayInfo& array : source->info().arrays) arrays.push_back({array.rank(), array.scalars});
  Payload payload;
  payload.source = std::move(source);
  return collective(Op::stream_in, Type::sequence(std::move(arrays)), {}, std::move(payload), place);
}

Ref produce(Ref count, Ref function, Place place) {
  std::vector<Ref> children{std::move(count), std::move(function)};
  require_present(children, place, "produce");
  require_type(children[0]->type(), Type::element(ScalarType::int64), place, "produce");
  require(children[1]->op() == Op::lambda && children[1]->parameters().size() == 1, place, "produce",
          "expects a function of the item's number");
  require_type(children[1]->parameters()[0]->type(), Type::array(0, {ScalarType::int64}), place, "produce");
  std::vector<ArrayType> arrays;
  for (const Ref& r : children[1]->results()) {
    require(r->type().is_array(), place, "produce", "its function gives arrays");
    arrays.push_back(r->type().array_type());
  }
  return collective(Op::produce, Type::sequence(std::move(arrays)), std::move(children), {}, place);
}

Ref rows(Ref array, Place place) {
  require_present({&array, 1}, place, "rows");
  require(array->type().is_array() && array->type().rank >= 1, place, "rows",
          "of an array of rank 1 or more");
  Type type = Type::sequence({{array->type().rank - 1, array->type().scalars}});
  return collective(Op::rows, std::move(type), {std::move(array)}, {}, place);
}

Ref map_seq(Ref function, std::vector<Ref> sequences, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "map_seq";
  require_present(sequences, place, what);
  require(static_cast<bool>(function) && !sequences.empty(), place, what,
          "needs a function and at least one sequence");
  std::vector<ArrayType> items;
  for (const Ref& s : sequences) {
    require(s->type().is_sequence(), place, what, "works on sequences");
    items.insert(items.end(), s->type().arrays.begin(), s->type().arrays.end());
  }
  require(function->op() == Op::lambda && function->parameters().size() == items.size(), place, what,
          fmt::format("expects a function of {} arrays", items.size()));
  for (std::size_t i = 0; i < items.size(); ++i)
    require_type(function->parameters()[i]->type(), Type::array(items[i]), place, what);
  std::vector<ArrayType> results;
  for (const Ref& r : function->results()) {
    require(r->type().is_array(), place, what, "its function gives arrays");
    results.push_back(r->type().array_type());
  }
  std::vector<Ref> children{std::move(function)};
  for (Ref& s : sequences) children.push_back(std::move(s));
  return collective(Op::map_seq, Type::sequence(std::move(results)), std::move(children), labelled(label),
                    place);
}

Ref project_seq(Ref sequence, int first, int count, Place place) {
  require_present({&sequence, 1}, place, "project_seq");
  require(sequence->type().is_sequence() && first >= 0 && count >= 1 &&
              first + count <= static_cast<int>(sequence->type().arrays.size()),
          place, "project_seq", "components of a sequence");
  if (count == static_cast<int>(sequence->type().arrays.size())) return sequence;
  const auto begin = sequence->type().arrays.begin() + first;
  Type type = Type::sequence({begin, begin + count});
  Payload payload;
  payload.first = first;
  payload.count = count;
  return collective(Op::project_seq, std::move(type), {std::move(sequence)}, std::move(payload), place);
}

Ref take_seq(Ref count, Ref sequence, Place place) {
  std::vector<Ref> children{std::move(count), std::move(sequence)};
  require_present(children, place, "take_seq");
  require_type(children[0]->type(), Type::element(ScalarType::int64), place, "take_seq");
  require(children[1]->type().is_sequence(), place, "take_seq", "works on sequences");
  Type type = children[1]->type();
  return collective(Op::take_seq, std::move(type), std::move(children), {}, place);
}

namespace {
const ArrayType& only_component(const Ref& sequence, const Place& place, const char* what) {
  require_present({&sequence, 1}, place, what);
  require(sequence->type().is_sequence() && sequence->type().arrays.size() == 1, place, what,
          fmt::format("takes a sequence of single arrays, got {}", to_string(sequence->type())));
  return sequence->type().arrays[0];
}
}  // namespace

Ref elements(Ref sequence, Place place) {
  Type type = Type::array(1, only_component(sequence, place, "elements").scalars);
  return collective(Op::elements, std::move(type), {std::move(sequence)}, {}, place);
}

Ref tabulate(Ref sequence, Place place) {
  const ArrayType& item = only_component(sequence, place, "tabulate");
  require(item.rank < 4, place, "tabulate",
          "items of rank 4 cannot be stacked: arrays have at most 4 dimensions");
  Type type = Type::array(item.rank + 1, item.scalars);
  return collective(Op::tabulate, std::move(type), {std::move(sequence)}, {}, place);
}

namespace {

/// The parts of a node, over other children: one function for each stratum.
struct Rebuilt {
  const Node& node;
  std::vector<Ref> children;
  const Payload& p = node.payload();
  const Place& at = node.place();

  const Ref& child(std::size_t position) const { return children[position]; }
  std::vector<Ref> from(std::size_t position) const {
    return {children.begin() + static_cast<std::ptrdiff_t>(position), children.end()};
  }

  Ref make(ScalarOp op) {
    switch (op) {
      case Op::constant:
        return Ref(&node);
      case Op::primitive:
        if (p.primitive == Primitive::cast) return cast(node.type().scalars[0], child(0), at);
        return primitive(p.primitive, std::move(children), at);
      case Op::tuple:
        return tuple(std::move(children), at);
      case Op::project:
        return project(child(0), p.first, p.count, at);
      case Op::cond:
        return cond(child(0), child(1), child(2), at);
      case Op::while_loop:
        return while_loop(child(0), child(1), child(2), at);
      case Op::index:
        return index(child(0), child(1), at, p.in_bounds, p.label);
      case Op::linear_index:
        return linear_index(child(0), child(1), at, p.in_bounds, p.label);
      case Op::shape:
        return shape(child(0), at);
    }
    return {};
  }

  Ref make(FunctionOp op) {
    switch (op) {
      case Op::parameter:
        return Ref(&node);
      case Op::lambda:
        return lambda({children.begin(), children.begin() + p.first}, from(static_cast<std::size_t>(p.first)),
                      at, p.label);
    }
    return {};
  }

  Ref make(ArrayOp op) {
    switch (op) {
      case Op::use:
        return Ref(&node);
      case Op::unit:
        return unit(child(0), at, p.label);
      case Op::generate:
        return generate(child(0), child(1), at, p.label);
      case Op::map:
        return map(child(0), from(1), at, p.label);
      case Op::fold:
        return fold(child(0), child(1), children.size() > 2 ? child(2) : Ref(), at, p.label);
      case Op::scan:
        return scan(child(0), child(1), children.size() > 2 ? child(2) : Ref(), p.exclusive, at, p.label);
      case Op::backpermute:
        return backpermute(child(0), child(1), child(2), {.injective = p.injective, .in_bounds = p.in_bounds},
                           at, p.label);
      case Op::reshape:
        return reshape(child(0), child(1), at, p.label);
      case Op::consume:
        return consume(child(0), at);
      case Op::project_array:
        return project_array(child(0), p.first, at);
      case Op::awhile:
        return awhile(child(0), child(1), from(2), at);
      case Op::acond:
        return acond(child(0), child(1), child(2), at);
    }
    return {};
  }

  Ref make(SourceOp op) {
    switch (op) {
      case Op::stream_in:
        return Ref(&node);
      case Op::produce:
        return produce(child(0), child(1), at);
      case Op::rows:
        return rows(child(0), at);
    }
    return {};
  }

  Ref make(SequenceOp op) {
    switch (op) {
      case Op::map_seq:
        return map_seq(child(0), from(1), at, p.label);
      case Op::project_seq:
        return project_seq(child(0), p.first, p.count, at);
      case Op::take_seq:
        return take_seq(child(0), child(1), at);
    }
    return {};
  }

  Ref make(SinkOp op) {
    switch (op) {
      case Op::elements:
        return elements(child(0), at);
      case Op::tabulate:
        return tabulate(child(0), at);
    }
    return {};
  }
};

}  // namespace

Ref rebuild(const Ref& node, std::vector<Ref> children) {
  if (std::equal(children.begin(), children.end(), node->children().begin(), node->children().end()))
    return node;
  Rebuilt rebuilt{*node, std::move(children)};
  return node->op().visit([&](auto op) { return rebuilt.make(op); });
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
