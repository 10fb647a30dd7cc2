#include "support/random_arrays.h"

#include "ir/batch.h"
#include "support/memory_sink.h"

namespace anabranch::testing {

using ir::ArrayType;
using ir::Primitive;
using ir::Ref;
using ir::Scalars;
using ir::Type;

Ref RandomArrays::use(int rank) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < rank; ++d) extents.push_back(extent(rank));
  return ir::use(dice_.array(dice_.element_type(options_.floats), extents));
}

Ref RandomArrays::computation(Scope& scope) {
  if (dice_.chance(3)) return of_segments(scope);
  if (dice_.chance(2)) return part(scope);
  switch (dice_.below(29)) {
    case 0:
      return generate(scope, shape(scope, dice_.below(4)));
    case 1:
    case 2:
    case 3:
    case 4:
      return map(scope);
    case 5:
    case 6:
    case 7:
      return fold(scope);
    case 8:
    case 9:
      return gather(scope);
    case 10:
      return rearranged(scope);
    case 11:
    case 12:
      return slice(scope);
    case 13:
      return reshape(scope);
    case 14:
      return scaled_by_own_sum(scope);
    case 15:
      return scan(scope);
    case 16:
      return two_folds_of_one(scope);
    case 17:
    case 18:
      return stencil(scope);
    case 19:
    case 20:
      return scan(scope);
    case 21:
      return ir::project_array(ir::sort(proper(scope)), dice_.below(2));
    case 23:
      return scan_state(scope);
    case 24:
      return ir::compute(array(scope));
    case 25:
      return folds_of_shifted_rows(scope);
    case 26:
    case 27:
      return of_components(scope);
    case 22:
      return dice_.chance(40) ? selected(scope) : dice_.chance(50) ? grouped(scope) : repeated(scope);
    default:
      return ir::unit(scalars_.element(scope, dice_.element_type(options_.floats), 3));
  }
}

Ref RandomArrays::fold_of_a_long_row(Scope& scope) {
  const std::vector<std::int64_t> lengths{12'289, 16'384, 20'481, 70'000};
  const Ref extents = ir::tuple({ir::int64(dice_.pick(lengths))});
  const Ref ix = ir::parameter(Type::element({ScalarType::int64}));
  const Scalars scalars{dice_.scalar_type(options_.floats)};
  const Ref a = ir::generate(extents, ir::lambda({ix}, {ir::cast(scalars[0], ir::component(ix, 0))}));
  Scope inner{{}, scope.arrays, 2};
  return ir::fold(scalars_.join(scope, scalars), a, scalars_.element(inner, scalars, 1));
}

Ref RandomArrays::loop(Scope& scope) {
  const std::vector<Ref> start{proper(scope), array(scope)};
  const Ref rounds = ir::int64(dice_.below(4));
  const auto parameters = [&] {
    return std::vector<Ref>{ir::parameter(start[0]->type()), ir::parameter(start[1]->type())};
  };
  const std::vector<Ref> asked = parameters(), state = parameters();
  const Ref most = ir::primitive(Primitive::subtract, {ir::extent(start[0], 0), rounds});
  const Ref longer = ir::primitive(
      Primitive::less, {ir::primitive(Primitive::maximum, {most, ir::int64(0)}), ir::extent(asked[0], 0)});
  Scope inner = scope;
  for (int i = 0; i < 3; ++i) inner.arrays.insert(inner.arrays.end(), state.begin(), state.end());
  const Ref first = shorter(mapped(inner, state[0]));
  const Ref body = ir::lambda(state, {first, mapped(inner, state[1])});
  return ir::project_array(ir::awhile(ir::lambda(asked, {ir::unit(longer)}), body, start), dice_.below(2));
}

Ref RandomArrays::branch(Scope& scope) {
  const Ref a = array(scope);
  Scope inner{{}, scope.arrays, 2};
  const Ref condition = scalars_.scalar(inner, ScalarType::boolean, 2);
  Scope then = scope, otherwise = scope;
  const Ref both =
      ir::acond(condition, ir::lambda({}, {mapped(then, a)}), ir::lambda({}, {mapped(otherwise, a)}));
  return ir::project_array(both, 0);
}

Ref RandomArrays::segments(Scope& scope) {
  const CutVectors cut = segments_.cut(scope, proper(scope), most_segments());
  if (dice_.chance(50)) scope.arrays.push_back(dice_.pick(cut.vectors));  // what else reads it
  const Ref number = ir::parameter(Type::array(0, {ScalarType::int64}));
  const std::vector<Ref> parts = segments_.some(cut, ir::index(number, ir::tuple({})));
  return ir::produce(ir::extent(cut.lengths, 0), ir::lambda({number}, parts));
}

Ref RandomArrays::of_segments(Scope& scope) {
  if (within_segments_ > 1) return fold(scope);
  std::vector<Ref> sequences{segments(scope)};
  if (dice_.chance(15)) sequences.push_back(ir::rows(proper(scope)));
  ++within_segments_;
  const Ref first = of_items(scope, sequences);
  if (dice_.chance(20)) {
    scope.arrays.push_back(first);
    sequences.resize(1);
    scope.arrays.push_back(of_items(scope, sequences));
  }
  --within_segments_;
  return first;
}

Ref RandomArrays::of_rows(Scope& scope) {
  const Ref a = proper(scope);
  const Ref row = ir::parameter(Type::array(a->type().rank - 1, a->type().scalars));
  Scope inner = scope;
  for (int i = 0; i < 3; ++i) inner.arrays.push_back(row);
  const Ref first = computation(inner);
  inner.arrays.insert(inner.arrays.end(), {first, first});
  const Ref result = dice_.chance(50) ? computation(inner) : first;
  const Ref some = ir::take_seq(ir::int64(dice_.below(9)), ir::rows(a));
  const Ref items = ir::map_seq(ir::lambda({row}, {result}), {some});
  const bool stack = result->type().rank < 3 && dice_.chance(45);
  return ir::consume(stack ? ir::tabulate(items) : ir::elements(items));
}

Ref RandomArrays::accumulated(Scope& scope, const Ref& all) {
  std::vector<Ref> state{array(scope)}, parameters, items;
  if (dice_.chance(30)) state.push_back(dice_.pick(scope.arrays));
  for (const Ref& array : state) parameters.push_back(ir::parameter(array->type()));
  for (const ArrayType& item : all->type().arrays) items.push_back(ir::parameter(Type::array(item)));
  Scope inner = scope;
  for (int i = 0; i < 2; ++i) {
    inner.arrays.insert(inner.arrays.end(), parameters.begin(), parameters.end());
    inner.arrays.insert(inner.arrays.end(), items.begin(), items.end());
  }
  std::vector<Ref> results;
  for (const Ref& parameter : parameters)
    results.push_back(dice_.chance(20) ? parameter : mapped(inner, parameter));
  for (int more = 1 + dice_.below(2); more > 0; --more)
    results.push_back(dice_.chance(20) ? dice_.pick(items) : computation(inner));
  parameters.insert(parameters.end(), items.begin(), items.end());
  return ir::map_accum_seq(all, ir::lambda(parameters, results), state);
}

Ref RandomArrays::next_count(const Scope& scope, const Ref& state, Primitive operation, int depth) {
  const ScalarType type = state->type().scalars[0];
  const auto term = [&](ScalarType of) {
    Scope own = scope;
    return scalars_.scalar(own, of, 2);
  };
  if (depth == 0) return dice_.chance(70) ? state : term(type);
  const int kind = dice_.below(10);
  if (kind < 3) {
    const Ref condition = term(ScalarType::boolean);
    const Ref then = next_count(scope, state, operation, depth - 1);
    return ir::cond(condition, then, next_count(scope, state, operation, depth - 1));
  }
  if (kind == 3) return term(type);
  if (dice_.chance(5)) operation = Primitive::maximum;
  if (!ir::accepts(ir::info(operation).operands, type)) return state;
  const Ref inner = next_count(scope, state, operation, depth - 1);
  const Ref other = term(type);
  return dice_.chance(70) ? ir::primitive(operation, {inner, other})
                          : ir::primitive(operation, {other, inner});
}

Ref RandomArrays::counted(Scope& scope, const Ref& all) {
  std::vector<Ref> items, singles, state, parameters;
  Scope inner = scope;
  for (const ArrayType& item : all->type().arrays)
    inner.arrays.push_back(items.emplace_back(ir::parameter(Type::array(item))));
  for (int more = 1 + dice_.below(2); more > 0; --more)
    singles.push_back(ir::unit(scalars_.element(inner, dice_.element_type(options_.floats), 2)));
  const Ref of_singles = ir::map_seq(ir::lambda(items, singles), {all});
  for (int more = 1 + dice_.below(3); more > 0; --more) {
    Scope of_seed = scope;
    Scalars scalars{dice_.scalar_type(options_.floats && dice_.chance(40))};
    if (dice_.chance(20)) scalars.push_back(dice_.scalar_type(false));
    state.push_back(ir::unit(scalars_.element(of_seed, scalars, 1)));
  }
  const auto own = [&](const Ref& single) {
    parameters.push_back(ir::parameter(Type::array(0, single->type().scalars)));
    return ir::components(ir::index(parameters.back(), ir::tuple({})));
  };
  std::vector<std::vector<Ref>> states;
  for (const Ref& single : state) states.push_back(own(single));
  Scope step{{}, scope.arrays, 1};
  for (const Ref& single : singles)
    for (const Ref& part : own(single)) step.elements.push_back(part);
  if (dice_.chance(10))
    for (const auto& parts : states) step.elements.insert(step.elements.end(), parts.begin(), parts.end());
  // Each may depend on those that come before it, from the first on or from the last on.
  std::vector<Ref> results(states.size());
  const bool is_reversed = dice_.chance(50);
  for (std::size_t k = 0; k < states.size(); ++k) {
    const std::size_t which = is_reversed ? states.size() - 1 - k : k;
    std::vector<Ref> next;
    for (const Ref& part : states[which]) {
      using enum Primitive;
      const Primitive operation =
          dice_.pick(std::vector{add, add, subtract, multiply, minimum, maximum, bit_and, bit_or, bit_xor});
      next.push_back(next_count(step, part, operation, 1 + dice_.below(3)));
    }
    results[which] = ir::unit(next.size() == 1 ? next[0] : ir::tuple(next));
    step.elements.insert(step.elements.end(), states[which].begin(), states[which].end());
  }
  if (dice_.chance(30)) {
    for (std::size_t s = 0; s < states.size(); ++s) results.push_back(Ref(results[s]));
  } else {
    for (int more = 1 + dice_.below(2); more > 0; --more)
      results.push_back(ir::unit(scalars_.element(step, dice_.element_type(options_.floats), 3)));
  }
  return ir::map_accum_seq(of_singles, ir::lambda(parameters, results), state);
}

Ref RandomArrays::folded(Scope& scope, const Ref& all) {
  const ArrayType item = all->type().arrays[0];
  if (dice_.chance(60)) return ir::consume(ir::fold_seq(all, join_of_arrays(scope, item), nothing(item)));
  const ir::Batch batch(item);
  Scope inner = scope;
  const Ref elements = ir::consume(ir::elements(batch.sequence()));
  inner.arrays.insert(inner.arrays.end(), {elements, elements, elements});
  const Ref sum = dice_.chance(50) ? elements : computation(inner);
  return ir::consume(ir::fold_batch(all, ir::lambda(batch.parameters(), {sum}),
                                    join_of_arrays(scope, sum->type().array_type()),
                                    nothing(sum->type().array_type())));
}

Ref RandomArrays::condition(Scope& scope) {
  Scope inner{{}, scope.arrays, 2};
  return ir::unit(scalars_.scalar(inner, ScalarType::boolean, 2));
}

int RandomArrays::most_segments() const { return within_segments_ > 0 ? 6 : longest_ > 1000 ? 200 : 24; }

Ref RandomArrays::of_items(Scope& scope, const std::vector<Ref>& sequences) {
  std::vector<Ref> items;
  for (const Ref& sequence : sequences)
    for (const ArrayType& item : sequence->type().arrays) items.push_back(ir::parameter(Type::array(item)));
  Scope inner = scope;
  for (int i = 0; i < 3; ++i) inner.arrays.insert(inner.arrays.end(), items.begin(), items.end());
  std::vector<Ref> results;
  for (int more = 1 + dice_.below(3); more > 0; --more) {
    results.push_back(dice_.chance(8) ? dice_.pick(items) : computation(inner));
    inner.arrays.push_back(results.back());
  }
  const int count = static_cast<int>(results.size());
  Ref made = ir::map_seq(ir::lambda(items, results), sequences);
  if (dice_.chance(10)) made = ir::take_seq(ir::int64(dice_.below(40)), made);
  std::vector<Ref> arrays;
  for (int c = 0; c < count; ++c) {
    const Ref part = ir::project_seq(made, c, 1);
    const bool stack = part->type().arrays[0].rank < 3 && dice_.chance(45);
    arrays.push_back(ir::consume(stack ? ir::tabulate(part) : ir::elements(part)));
  }
  scope.arrays.insert(scope.arrays.end(), arrays.begin(), arrays.end() - 1);
  return arrays.back();
}

Ref RandomArrays::part(Scope& scope) {
  Ref a = proper(scope);
  if (dice_.chance(60))
    a = ir::map(scalars_.function({{}, {}, 1}, {a->type().scalars}, a->type().scalars, 2), {a});
  if (dice_.chance(50)) a = ir::reshape(ir::tuple({scalars_.size(a)}), a);
  Scope inner{{}, scope.arrays, 2};
  const Ref size = scalars_.size(a);
  const Ref begin = scalars_.position(inner, ir::primitive(Primitive::add, {size, ir::int64(1)}), 2);
  const Ref left = ir::primitive(Primitive::subtract, {size, begin});
  Ref length = ir::primitive(Primitive::minimum, {left, shape(scope, 1)});
  if (dice_.chance(70)) return ir::part(ir::tuple({length}), a, begin);
  const Ref across = ir::int64(1 + dice_.below(3));
  length = ir::primitive(Primitive::divide, {length, across});
  return ir::part(dice_.chance(50) ? ir::tuple({length, across}) : ir::tuple({across, length}), a, begin);
}

Ref RandomArrays::selected(Scope& scope) {
  const Ref a = proper(scope);
  const Ref mask =
      ir::map(scalars_.function({{}, scope.arrays, 0}, {a->type().scalars}, {ScalarType::boolean}, 2), {a});
  const Ref b = ir::parameter(Type::element(ScalarType::boolean));
  const Ref ones = ir::map(ir::lambda({b}, {ir::cast(ScalarType::int64, b)}), {mask});
  const Ref all = ir::reshape(ir::tuple({scalars_.size(a)}), ones);
  const Ref x = ir::parameter(Type::element(ScalarType::int64)),
            y = ir::parameter(Type::element(ScalarType::int64));
  const Ref count = ir::fold(ir::lambda({x, y}, {ir::primitive(Primitive::add, {x, y})}), all, ir::int64(0));
  return ir::select(ir::tuple({ir::index(count, ir::tuple({}))}), mask, a);
}

Ref RandomArrays::grouped(Scope& scope) {
  const Ref a = proper(scope);
  const Ref numbers =
      ir::map(scalars_.function({{}, scope.arrays, 0}, {a->type().scalars}, {ScalarType::int64}, 2), {a});
  const Ref x = ir::parameter(Type::element(ScalarType::int64));
  const Ref place = ir::primitive(Primitive::subtract,
                                  {ir::primitive(Primitive::bit_and, {x, ir::int64(7)}), ir::int64(1)});
  const Ref places = ir::reshape(ir::tuple({scalars_.size(a)}), ir::map(ir::lambda({x}, {place}), {numbers}));
  const Ref bins = ir::tuple({ir::int64(7 + dice_.below(3))});
  if (dice_.chance(30)) return ir::last_at(bins, places, true);
  if (dice_.chance(40)) return joined_at(scope, bins, places, a);
  const Ref both = ir::group(bins, places, true);
  const Ref counts = ir::project_array(both, 0);
  if (dice_.chance(50)) return counts;
  // With the counts, as the numbers alone say nothing.
  Scope made{{}, {counts, ir::project_array(both, 1)}, 0};
  return ir::map(
      scalars_.function({{}, {}, 0}, {{ScalarType::int64}, {ScalarType::int64}}, {ScalarType::int64}, 2),
      made.arrays);
}

Ref RandomArrays::joined_at(Scope& scope, const Ref& bins, const Ref& places, const Ref& a) {
  const ScalarType type = dice_.scalar_type(false);
  const Ref values = ir::map(scalars_.function({{}, scope.arrays, 0}, {a->type().scalars}, {type}, 2), {a});
  std::vector<Primitive> joins;
  for (int p = 0; p < ir::primitive_count; ++p)
    if (const auto join = static_cast<Primitive>(p); ir::joins_in_any_order(join, type))
      joins.push_back(join);
  return ir::accumulate(dice_.pick(joins), bins, places, ir::reshape(ir::tuple({scalars_.size(a)}), values),
                        true);
}

Ref RandomArrays::repeated(Scope& scope) {
  const Ref a = proper(scope);
  if (dice_.chance(40)) {
    const Ref begin = ir::primitive(Primitive::minimum, {scalars_.size(a), ir::int64(dice_.below(3))});
    return ir::part(ir::tuple({ir::primitive(Primitive::subtract, {scalars_.size(a), begin})}), a, begin);
  }
  const Ref numbers =
      ir::map(scalars_.function({{}, scope.arrays, 0}, {a->type().scalars}, {ScalarType::int64}, 2), {a});
  const Ref x = ir::parameter(Type::element(ScalarType::int64)),
            y = ir::parameter(Type::element(ScalarType::int64)),
            z = ir::parameter(Type::element(ScalarType::int64));
  const Ref few = ir::map(ir::lambda({x}, {ir::primitive(Primitive::bit_and, {x, ir::int64(1)})}), {numbers});
  const Ref counts = ir::reshape(ir::tuple({scalars_.size(a)}), few);
  const Ref total =
      ir::fold(ir::lambda({y, z}, {ir::primitive(Primitive::add, {y, z})}), counts, ir::int64(0));
  return ir::repeat(ir::tuple({ir::index(total, ir::tuple({}))}), counts);
}

Ref RandomArrays::join_of_arrays(const Scope& scope, const ArrayType& type) {
  const Ref left = ir::parameter(Type::array(type)), right = ir::parameter(Type::array(type));
  Scope inner = scope;
  inner.arrays.insert(inner.arrays.end(), {left, right, left, right});
  const Ref result = dice_.chance(60) ? ir::map(scalars_.join(inner, type.scalars), {left, right})
                                      : mapped(inner, dice_.chance(50) ? left : right);
  return ir::lambda({left, right}, {result});
}

Ref RandomArrays::nothing(const ArrayType& type) {
  std::vector<Ref> extents, zeros;
  for (int d = 0; d < type.rank; ++d) extents.push_back(ir::int64(dice_.below(4)));
  for (const ScalarType s : type.scalars) zeros.push_back(ir::constant(s, 0));
  const Ref element = zeros.size() == 1 ? zeros[0] : ir::tuple(zeros);
  if (type.rank == 0) return ir::unit(element);
  const Ref ix = ir::parameter(Type::element(int64s(type.rank)));
  return ir::generate(ir::tuple(extents), ir::lambda({ix}, {element}));
}

Ref RandomArrays::mapped(Scope& scope, const Ref& a) {
  scope.arrays.push_back(computation(scope));
  return ir::map(scalars_.function({{}, scope.arrays, 0}, {a->type().scalars}, a->type().scalars, 3), {a});
}

Ref RandomArrays::shorter(const Ref& a) {
  std::vector<Ref> extents{ir::primitive(Primitive::subtract, {ir::extent(a, 0), ir::int64(1)})};
  for (int d = 1; d < a->type().rank; ++d) extents.push_back(ir::extent(a, d));
  const Ref ix = ir::parameter(Type::element(int64s(a->type().rank)));
  return ir::backpermute(ir::tuple(std::move(extents)), ir::lambda({ix}, {ix}), a, {true, true});
}

Ref RandomArrays::shape(Scope& scope, int rank) {
  static constexpr std::int64_t most[] = {0, 600, 33, 9};
  std::vector<Ref> extents;
  for (int d = 0; d < rank; ++d) {
    const Ref cap = ir::int64(most[rank]);
    const int roll = dice_.below(10);
    if (roll < 4) {
      extents.push_back(ir::int64(extent(rank)));
    } else if (roll < 8 && !scope.arrays.empty() && array(scope)->type().rank > 0) {
      Ref a = array(scope);
      while (a->type().rank == 0) a = array(scope);
      const Ref e = ir::extent(a, dice_.below(a->type().rank));
      extents.push_back(ir::primitive(Primitive::minimum, {e, cap}));
    } else {
      Scope inner{{}, scope.arrays, 2};
      const Ref e = scalars_.scalar(inner, ScalarType::int64, 2);
      extents.push_back(
          ir::primitive(Primitive::minimum, {ir::primitive(Primitive::bit_and, {e, ir::int64(63)}), cap}));
    }
  }
  return ir::tuple(std::move(extents));
}

Ref RandomArrays::generate(Scope& scope, const Ref& extents) {
  const Scope inner{{}, scope.arrays, 0};
  return ir::generate(
      extents, scalars_.function(inner, {extents->type().scalars}, dice_.element_type(options_.floats), 4));
}

const Ref& RandomArrays::array(Scope& scope) { return dice_.pick(scope.arrays); }

Ref RandomArrays::proper(Scope& scope) {
  for (int attempt = 0; attempt < 8; ++attempt)
    if (const Ref& a = array(scope); a->type().rank > 0) return a;
  return generate(scope, shape(scope, 1));
}

Ref RandomArrays::map(Scope& scope) {
  std::vector<Ref> arguments{array(scope)};
  for (int more = dice_.below(3); more > 0; --more) {
    const Ref& candidate = array(scope);
    if (candidate->type().rank == arguments[0]->type().rank) arguments.push_back(candidate);
  }
  std::vector<Scalars> parameters;
  for (const Ref& a : arguments) parameters.push_back(a->type().scalars);
  Scope inner{{}, dice_.chance(50) ? scope.arrays : std::vector<Ref>{}, 0};
  return ir::map(scalars_.function(inner, parameters, dice_.element_type(options_.floats), 3), arguments);
}

Ref RandomArrays::of_components(Scope& scope) {
  const Ref from = proper(scope);
  Scalars scalars;
  for (int parts = 2 + dice_.below(3); parts > 0; --parts)
    scalars.push_back(dice_.scalar_type(options_.floats));
  const Ref whole = tuples(scope, from, scalars);
  std::vector<Ref> made;
  std::vector<Scalars> types;
  for (int readers = 2 + dice_.below(2); readers > 0; --readers) {
    const Ref x = ir::parameter(Type::element(scalars));
    Scope inner{{}, dice_.chance(30) ? scope.arrays : std::vector<Ref>{}, 0};
    for (int taken = 1 + dice_.below(2); taken > 0; --taken) {
      const Ref part = ir::component(x, dice_.below(x->type().components()));
      inner.elements.insert(inner.elements.end(), {part, part});
    }
    types.push_back(dice_.element_type(options_.floats));
    made.push_back(ir::map(ir::lambda({x}, {scalars_.element(inner, types.back(), 2)}), {whole}));
  }
  scope.arrays.insert(scope.arrays.end(), made.begin(), made.end());
  return ir::map(scalars_.function({{}, {}, 2}, types, dice_.element_type(options_.floats), 2), made);
}

Ref RandomArrays::tuples(Scope& scope, const Ref& from, const Scalars& scalars) {
  const bool mapped = dice_.chance(60);
  const Ref extents = mapped ? Ref() : shape(scope, 1 + dice_.below(3));
  const Ref x = ir::parameter(Type::element(mapped ? from->type().scalars : extents->type().scalars));
  Scope inner{{x, x, x}, dice_.chance(50) ? scope.arrays : std::vector<Ref>{}, 0};
  std::vector<Ref> parts;
  for (const ScalarType type : scalars) parts.push_back(scalars_.scalar(inner, type, 3));
  if (parts.size() > 2 && dice_.chance(30)) {
    const Ref first = ir::tuple({parts[0], parts[1]});
    parts.erase(parts.begin());
    parts[0] = first;
  }
  const Ref function = ir::lambda({x}, {ir::tuple(std::move(parts))});
  return mapped ? ir::map(function, {from}) : ir::generate(extents, function);
}

Ref RandomArrays::fold(Scope& scope) {
  const bool seeded = dice_.chance(75);
  Ref a = proper(scope);
  if (!seeded) {
    // No row is empty.
    std::vector<Ref> extents;
    for (int rank = 1 + dice_.below(2); rank > 0; --rank) extents.push_back(shape(scope, 1));
    extents.back() = ir::primitive(Primitive::maximum, {extents.back(), ir::int64(1)});
    for (Ref& e : extents)
      if (extents.size() > 1) e = ir::primitive(Primitive::minimum, {e, ir::int64(33)});
    a = generate(scope, ir::tuple(extents));
  }
  const Scalars& scalars = a->type().scalars;
  const Ref join = scalars_.join(scope, scalars);
  Scope inner{{}, scope.arrays, 2};
  const Ref seed = seeded ? scalars_.element(inner, scalars, 2) : Ref();
  return ir::fold(join, a, seed);
}

Ref RandomArrays::two_folds_of_one(Scope& scope) {
  const Ref a = proper(scope);
  const Scalars& scalars = a->type().scalars;
  Scope inner{{}, scope.arrays, 2};
  std::vector<Ref> folds;
  for (int i = 0; i < 2; ++i) {
    const Ref join = scalars_.join(scope, scalars);
    folds.push_back(ir::fold(join, a, scalars_.element(inner, scalars, 1)));
  }
  return ir::map(scalars_.function({{}, {}, 2}, {scalars, scalars}, dice_.element_type(options_.floats), 2),
                 folds);
}

Ref RandomArrays::scan(Scope& scope) {
  const bool seeded = dice_.chance(60);
  const Ref a = proper(scope);
  const Scalars& scalars = a->type().scalars;
  const Ref join = scalars_.join(scope, scalars);
  Scope inner{{}, scope.arrays, 2};
  const Ref seed = seeded ? scalars_.element(inner, scalars, 2) : Ref();
  ir::ScanKind kind;
  if (seeded) kind.prefixes = static_cast<ir::Prefixes>(dice_.below(3));
  kind.from_right = dice_.chance(50);
  const int axis = dice_.chance(50) ? a->type().rank - 1 : dice_.below(a->type().rank);
  const Ref both = ir::scan(join, a, seed, kind, axis);
  return ir::project_array(both, seeded ? dice_.below(2) : 0);
}

Ref RandomArrays::scan_state(Scope& scope) {
  const Ref a = proper(scope);
  const Scalars state = dice_.element_type(options_.floats);
  Scope inner{{}, scope.arrays, 2};
  const Ref seed = scalars_.element(inner, state, 2);
  const Ref step = scalars_.function({{}, {}, 2}, {state, a->type().scalars}, state, 2);
  const Ref states = ir::scan_state(step, a, seed);
  return dice_.chance(10) ? ir::trace("states", states) : states;
}

Ref RandomArrays::gather(Scope& scope) {
  const Ref from = array(scope);
  std::vector<Ref> extents;
  const Ref wanted = shape(scope, 1 + dice_.below(3));
  for (int d = 0; d < wanted->type().components(); ++d) extents.push_back(ir::component(wanted, d));
  extents.back() =
      ir::primitive(Primitive::multiply,
                    {extents.back(), ir::primitive(Primitive::minimum, {scalars_.size(from), ir::int64(1)})});
  const Ref to = ir::tuple(extents);
  const Ref ix = ir::parameter(Type::element(to->type().scalars));
  Scope inner{{ix, ix}, dice_.chance(60) ? scope.arrays : std::vector<Ref>{}, 0};
  const Ref function = ir::lambda({ix}, {scalars_.index_of(inner, from, 3)});
  return ir::backpermute(to, function, from, {});
}

Ref RandomArrays::rearranged(Scope& scope) {
  const Ref from = proper(scope);
  const int rank = from->type().rank;
  std::vector<int> order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  for (int d = rank - 1; d > 0; --d)
    std::swap(order[static_cast<std::size_t>(d)], order[static_cast<std::size_t>(dice_.below(d + 1))]);
  const bool backwards = rank == 1 || dice_.chance(30);
  std::vector<Ref> extents;
  for (int d : order) extents.push_back(ir::extent(from, d));
  const Ref ix = ir::parameter(Type::element(int64s(rank)));
  std::vector<Ref> old(static_cast<std::size_t>(rank));
  for (int d = 0; d < rank; ++d) {
    Ref i = ir::component(ix, d);
    if (backwards)
      i = ir::primitive(
          Primitive::subtract,
          {ir::primitive(Primitive::subtract, {extents[static_cast<std::size_t>(d)], ir::int64(1)}), i});
    old[static_cast<std::size_t>(order[static_cast<std::size_t>(d)])] = i;
  }
  return ir::backpermute(ir::tuple(extents), ir::lambda({ix}, {ir::tuple(std::move(old))}), from,
                         {true, true});
}

Ref RandomArrays::stencil(Scope& scope) {
  const Ref a = proper(scope);
  std::vector<Ref> extents;
  for (int d = 0; d < a->type().rank; ++d) {
    extents.push_back(ir::extent(a, d));
    if (dice_.chance(20)) extents.back() = ir::primitive(Primitive::add, {extents.back(), ir::int64(1)});
  }
  const Ref ix = ir::parameter(Type::element(int64s(a->type().rank)));
  Scope inner{{ix}, {}, 2};
  for (int reads = 1 + dice_.below(3); reads > 0; --reads)
    inner.elements.push_back(scalars_.read_near(inner, a));
  return ir::generate(ir::tuple(extents), ir::lambda({ix}, {scalars_.element(inner, a->type().scalars, 2)}));
}

Ref RandomArrays::folds_of_shifted_rows(Scope& scope) {
  const Ref a = proper(scope);
  const int rank = a->type().rank;
  if (rank > 3) return fold(scope);
  std::vector<Ref> extents;
  for (int d = 0; d < rank; ++d) extents.push_back(ir::extent(a, d));
  extents.insert(extents.end() - 1, ir::int64(2 + dice_.below(12)));
  const Ref ix = ir::parameter(Type::element(int64s(rank + 1)));
  const Ref shift = ir::component(ix, rank - 1), i = ir::component(ix, rank), n = extents.back();
  const Ref to = ir::primitive(dice_.chance(50) ? Primitive::add : Primitive::subtract, {i, shift});
  const auto read = [&](const Ref& last) {
    std::vector<Ref> at;
    for (int d = 0; d + 1 < rank; ++d) at.push_back(ir::component(ix, d));
    at.push_back(last);
    return ir::index(a, ir::tuple(at));
  };
  const Ref greatest = ir::primitive(Primitive::subtract, {n, ir::int64(1)});
  const Ref kept =
      ir::primitive(Primitive::maximum, {ir::primitive(Primitive::minimum, {to, greatest}), ir::int64(0)});
  Scope inner{{ix, read(i), read(kept)}, {}, 2};
  Ref e = scalars_.element(inner, a->type().scalars, 2);
  if (dice_.chance(50)) e = ir::cond(ir::primitive(Primitive::less, {to, n}), e, read(i));
  const Ref rows = ir::generate(ir::tuple(extents), ir::lambda({ix}, {e}));
  Scope outer{{}, scope.arrays, 2};
  return ir::fold(scalars_.join(scope, a->type().scalars), rows,
                  scalars_.element(outer, a->type().scalars, 2));
}

Ref RandomArrays::slice(Scope& scope) {
  const Ref from = proper(scope);
  const int rank = from->type().rank;
  Scope inner{{}, scope.arrays, 2};
  std::vector<Ref> extents;
  std::vector<Ref> begin;
  for (int d = 0; d < rank; ++d) {
    const Ref extent = ir::extent(from, d);
    begin.push_back(dice_.chance(40) ? ir::int64(0) : scalars_.position(inner, extent, 2));
    const Ref most = ir::primitive(Primitive::subtract, {extent, begin.back()});
    Ref length = most;
    if (dice_.chance(60)) length = ir::primitive(Primitive::minimum, {most, shape(scope, 1)});
    extents.push_back(length);
  }
  const Ref ix = ir::parameter(Type::element(int64s(rank)));
  std::vector<Ref> old;
  for (int d = 0; d < rank; ++d)
    old.push_back(ir::primitive(Primitive::add, {ir::component(ix, d), begin[static_cast<std::size_t>(d)]}));
  return ir::backpermute(ir::tuple(extents), ir::lambda({ix}, {ir::tuple(std::move(old))}), from,
                         {true, true});
}

Ref RandomArrays::reshape(Scope& scope) {
  const Ref from = array(scope);
  const int rank = from->type().rank;
  const Ref size = scalars_.size(from);
  switch (dice_.below(4)) {
    case 0:
      return ir::reshape(ir::tuple({size, ir::int64(1)}), from);
    case 1:
      return ir::reshape(ir::tuple({ir::int64(1), size}), from);
    case 2: {
      std::vector<Ref> turned;
      for (int d = rank; d-- > 0;) turned.push_back(ir::extent(from, d));
      return ir::reshape(ir::tuple(std::move(turned)), from);
    }
    default:
      return ir::reshape(size, from);
  }
}

Ref RandomArrays::scaled_by_own_sum(Scope& scope) {
  const Ref a = proper(scope);
  const Scalars scalars = a->type().scalars;
  Scope inner{{}, {}, 2};
  const Ref join = scalars_.join(inner, scalars);
  const Ref sum = ir::fold(join, a, scalars_.element(inner, scalars, 1));
  const Ref x = ir::parameter(Type::element(scalars));
  Scope in_body{{x, x}, {sum}, 1};
  if (sum->type().rank == 0) in_body.elements.push_back(ir::index(sum, ir::tuple({})));
  return ir::map(ir::lambda({x}, {scalars_.element(in_body, dice_.element_type(options_.floats), 3)}), {a});
}

}  // namespace anabranch::testing
