#include "support/random_segments.h"

#include <anabranch/segments.h>

#include "front/handle.h"

namespace anabranch::testing {

using ir::Primitive;
using ir::Ref;
using ir::Scalars;
using ir::Type;

namespace {

using Numbers = Acc<Vector<std::int64_t>>;

Numbers numbers_of(const Ref& vector) { return detail::acc<1, std::int64_t>(front::handle_of(vector)); }
Ref size_of_segments(const Ref& lengths) {
  const auto at = detail::Loc::current();
  return front::node_of(detail::size_of_segments(numbers_of(lengths), at).handle());
}
Ref sums_before(const Ref& lengths) {
  return front::node_of(detail::sums_before(numbers_of(lengths), detail::Loc::current()).handle());
}

Ref operation(Primitive primitive, const Ref& x, const Ref& y) { return ir::primitive(primitive, {x, y}); }
Ref times(const Ref& x, int factor) {
  return factor == 1 ? x : operation(Primitive::multiply, x, ir::int64(factor));
}

template <class F>
Ref generated(const Ref& size, F&& element) {
  const Ref i = ir::parameter(Type::element(ScalarType::int64));
  return ir::generate(ir::tuple({size}), ir::lambda({i}, {element(i)}));
}

}  // namespace

CutVectors RandomSegments::cut(Scope& scope, const Ref& from, int most) {
  using enum Primitive;
  CutVectors out;
  const Ref size = scalars_.size(from);
  const bool as_it_is = dice_.chance(40);  // the size comes first
  const Ref right = as_it_is ? lengths_within(scope, from, size, most) : lengths(scope, from, most);
  const bool is_wrong = options_.unguarded && dice_.chance(35);
  out.lengths = is_wrong ? wrong(right) : right;
  out.begins = sums_before(out.lengths);
  out.total = size_of_segments(out.lengths);
  if (!as_it_is && dice_.chance(25)) out.width = 2 + dice_.below(2);
  out.checked = is_wrong || dice_.chance(85);
  const Ref elements = as_it_is ? size : times(is_wrong ? size_of_segments(right) : out.total, out.width);
  if (as_it_is && dice_.chance(60)) out.vectors.push_back(from);
  if (as_it_is && dice_.chance(50)) {
    Scope inner{{}, scope.arrays, 1};
    out.vectors.push_back(ir::map(
        scalars_.function(inner, {from->type().scalars}, dice_.element_type(options_.floats), 2), {from}));
  }
  if (out.vectors.empty() || dice_.chance(40)) add_vectors(scope, out, elements, right);
  return out;
}

/// An int64 of each element.
Ref RandomSegments::numbers(Scope& scope, const Ref& from) {
  const Ref each = ir::map(
      scalars_.function({{}, scope.arrays, 1}, {from->type().scalars}, {ScalarType::int64}, 2), {from});
  return ir::reshape(ir::tuple({scalars_.size(from)}), each);
}

/// Any at all: of the data, equal ones, or given ones.
Ref RandomSegments::lengths(Scope& scope, const Ref& from, int most) {
  using enum Primitive;
  const int count = std::min(dice_.pick(std::vector<int>{0, 1, 2, 3, 7, 16, 33, 64, 100, 200}), most);
  switch (dice_.below(4)) {
    case 0: {
      const std::int64_t each = dice_.pick(std::vector<std::int64_t>{0, 1, 2, 3, 7, 8, 16, 17, 33});
      const Ref some = operation(minimum, scalars_.size(from), ir::int64(most));
      return generated(dice_.chance(50) ? ir::int64(count) : some,
                       [&](const Ref&) { return ir::int64(each); });
    }
    case 1: {
      std::vector<std::int64_t> sizes = dice_.item_sizes(count);
      for (std::int64_t& size : sizes) size = std::min<std::int64_t>(size, most < 100 ? 70 : 5000);
      HostArray array = detail::allocate_array(Scalars{ScalarType::int64}, std::vector<std::int64_t>{count});
      std::copy(sizes.begin(), sizes.end(), static_cast<std::int64_t*>(array->buffers[0].get()));
      return ir::use(array);
    }
    default: {
      const Ref all = numbers(scope, from);
      const Ref mask = ir::int64(dice_.pick(std::vector<std::int64_t>{1, 3, 7, 15}));
      return generated(operation(minimum, ir::extent(all, 0), ir::int64(most)),
                       [&](const Ref& i) { return operation(bit_and, ir::index(all, i), mask); });
    }
  }
}

/// Lengths of so many elements: those of the data as long as there are elements, and one segment of what is left; or all of
/// one length but for the last ones.
Ref RandomSegments::lengths_within(Scope& scope, const Ref& from, const Ref& size, int most) {
  using enum Primitive;
  const Ref n = ir::int64(std::min(1 + dice_.below(60), most) - 1);
  const std::int64_t each = dice_.pick(std::vector<std::int64_t>{1, 2, 3, 7, 8, 31});
  const Ref zero = ir::int64(0), one = ir::int64(1);
  Ref cuts;  // one more than n
  if (dice_.chance(50)) {
    cuts = generated(operation(add, n, one), [&](const Ref& i) { return times(i, static_cast<int>(each)); });
  } else {
    const Ref all = numbers(scope, from);
    const Ref there = ir::extent(all, 0);
    const Ref lengths = generated(n, [&](const Ref& i) {
      const Ref at = operation(maximum, zero, operation(minimum, i, operation(subtract, there, one)));
      const Ref number = operation(bit_and, ir::index(all, at), ir::int64(each));
      return ir::cond(operation(less, zero, there), number, zero);
    });
    const Ref x = ir::parameter(Type::element(ScalarType::int64)),
              y = ir::parameter(Type::element(ScalarType::int64));
    ir::ScanKind kind;
    kind.prefixes = ir::Prefixes::all;
    cuts = ir::project_array(ir::scan(ir::lambda({x, y}, {operation(add, x, y)}), lengths, zero, kind), 0);
  }
  return generated(operation(add, n, one), [&](const Ref& i) {
    const Ref next = operation(minimum, operation(add, i, one), n);
    const Ref end = ir::cond(operation(less, i, n), operation(minimum, ir::index(cuts, next), size), size);
    return operation(subtract, end, operation(minimum, ir::index(cuts, i), size));
  });
}

/// One segment is longer or shorter than it should be; now and then another one makes up for it.
Ref RandomSegments::wrong(const Ref& lengths) {
  using enum Primitive;
  const Ref by =
      ir::int64(dice_.pick(std::vector<std::int64_t>{1, -1, 5, -9, 1'000'000, INT64_MAX, INT64_MIN}));
  const Ref first = ir::int64(dice_.below(8)), second = ir::int64(dice_.below(8));
  const bool both = dice_.chance(40);
  return generated(ir::extent(lengths, 0), [&](const Ref& i) {
    const auto at = [&](const Ref& place) { return ir::cond(operation(equal, i, place), by, ir::int64(0)); };
    const Ref longer = operation(add, ir::index(lengths, i), at(first));
    return both ? operation(subtract, longer, at(second)) : longer;
  });
}

/// One, or the components of tuples, each of them a vector of its own.
void RandomSegments::add_vectors(Scope& scope, CutVectors& cut, const Ref& size, const Ref& lengths) {
  const bool unzipped = dice_.chance(35);
  Scalars scalars = dice_.element_type(options_.floats);
  while (unzipped && scalars.size() < 2) scalars.push_back(dice_.scalar_type(options_.floats));
  const Ref made = cut.width == 1 && dice_.chance(25) ? spread(scope, size, lengths, scalars)
                                                      : vector(scope, size, scalars);
  if (!unzipped) return cut.vectors.push_back(made);
  for (int c = 0; c < 2; ++c) {
    const Ref x = ir::parameter(Type::element(scalars));
    cut.vectors.push_back(ir::map(ir::lambda({x}, {ir::component(x, c)}), {made}));
  }
  if (dice_.chance(40)) cut.vectors.push_back(made);
}

Ref RandomSegments::vector(Scope& scope, const Ref& size, const Scalars& scalars) {
  Scope inner{{}, dice_.chance(60) ? scope.arrays : std::vector<Ref>{}, 1};
  const Ref one = ir::tuple({size});
  const auto generate = [&](const Ref& extents, const Scalars& type) {
    return ir::generate(extents, scalars_.function(inner, {{ScalarType::int64}}, type, 2));
  };
  switch (dice_.below(4)) {
    case 0:
      return generate(one, scalars);
    case 1: {
      // A product of two vectors, one of which is longer.
      const Scalars x = dice_.element_type(options_.floats), y = dice_.element_type(options_.floats);
      const Ref more = operation(Primitive::add, size, ir::int64(dice_.below(3)));
      const Ref longer = generate(ir::tuple({more}), y);
      return ir::map(scalars_.function(inner, {x, y}, scalars, 2), {generate(one, x), longer});
    }
    case 2: {
      // Elements of a short vector, at computed positions.
      const Ref from = generate(ir::tuple({ir::int64(1 + dice_.below(40))}), scalars);
      const Ref i = ir::parameter(Type::element(ScalarType::int64));
      Scope at{{i, i}, inner.arrays, 1};
      return ir::backpermute(one, ir::lambda({i}, {scalars_.index_of(at, from, 2)}), from, {});
    }
    default: {
      const Scalars x = dice_.element_type(options_.floats);
      const Ref made = dice_.chance(50) ? ir::compute(generate(one, x)) : generate(one, x);
      return ir::map(scalars_.function(inner, {x}, scalars, 2), {made});
    }
  }
}

/// Of each element the number of its segment, and what is made of it.
Ref RandomSegments::spread(Scope& scope, const Ref& total, const Ref& lengths, const Scalars& scalars) {
  const Ref number = ir::repeat(ir::tuple({total}), lengths);
  return ir::map(scalars_.function({{}, scope.arrays, 1}, {{ScalarType::int64}}, scalars, 2), {number});
}

Ref RandomSegments::whole(const CutVectors& cut) {
  const Ref& vector = dice_.pick(cut.vectors);
  if (!cut.checked) return vector;
  // Where a length is negative, so is the total, which no multiple is to hide.
  const Ref elements = times(cut.total, cut.width);
  const Ref negative = operation(Primitive::less, cut.total, ir::int64(0));
  return ir::reshape(ir::tuple({ir::cond(negative, cut.total, elements)}), vector);
}

Ref RandomSegments::shape(const Ref& length, int width) {
  const Ref across = ir::int64(width);
  if (dice_.chance(width == 1 ? 85 : 40)) return ir::tuple({times(length, width)});
  return dice_.chance(50) ? ir::tuple({length, across}) : ir::tuple({across, length});
}

Ref RandomSegments::segment(const CutVectors& cut, const Ref& i) {
  const Ref begin = times(ir::index(cut.begins, i), cut.width);
  return ir::part(shape(ir::index(cut.lengths, i), cut.width), whole(cut), begin, {}, {}, true);
}

Ref RandomSegments::other_part(const CutVectors& cut, const Ref& i) {
  using enum Primitive;
  const Ref begin = ir::index(cut.begins, i), length = ir::index(cut.lengths, i);
  const Ref few = ir::int64(dice_.below(40));
  Ref from = begin, size = length;
  switch (dice_.below(4)) {
    case 0: {
      // Another segment, in an order of its own.
      const Ref far = operation(add, times(i, 1 + dice_.below(7)), ir::int64(dice_.below(9)));
      const Ref other = operation(remainder, far, ir::extent(cut.lengths, 0));
      from = ir::index(cut.begins, other);
      size = ir::index(cut.lengths, other);
      break;
    }
    case 1:  // beyond the segment's end
      size = operation(minimum, operation(subtract, cut.total, begin), operation(add, length, few));
      break;
    case 2:  // what is before
      from = ir::int64(0);
      size = operation(minimum, begin, few);
      break;
    default:  // some before and some of it
      from = operation(maximum, operation(subtract, begin, few), ir::int64(0));
      size = operation(minimum, operation(subtract, operation(add, begin, length), from), few);
      break;
  }
  return ir::part(shape(size, cut.width), whole(cut), times(from, cut.width));
}

std::vector<Ref> RandomSegments::some(const CutVectors& cut, const Ref& i) {
  std::vector<Ref> out{segment(cut, i)};
  while (out.size() < 3 && dice_.chance(35))
    out.push_back(dice_.chance(60) ? segment(cut, i) : other_part(cut, i));
  return out;
}

}  // namespace anabranch::testing
