#include "interp/arrays.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "interp/primitives.h"
#include "ir/extents.h"
#include "ir/fold_order.h"
#include "ir/op_info.h"
#include "ir/run_error.h"
#include "ir/scan_order.h"
#include "ir/standard_arithmetic.h"
#include "ir/views.h"

namespace anabranch::interp {

using ir::ArrayOp;
using ir::Node;
using ir::Op;
using Number = Evaluator::Number;

namespace {

/// Those that are computed have a bound.
void check_extents(const Evaluator& evaluator, const Node& node, std::span<const std::int64_t> extents) {
  const bool computed = node.op().is_a<ArrayOp>() && ir::info(node.op()).extents == ir::ExtentRule::as_given;
  for (const std::int64_t extent : extents) {
    if (extent < 0) evaluator.fail(node, ir::negative_extent(extent));
    if (computed && extent > ir::most_extent) evaluator.fail(node, ir::too_many_elements({&extent, 1}));
  }
}

}  // namespace

HostArray allocate(const Evaluator& evaluator, const Node& node, const ir::Scalars& scalars,
                   std::span<const std::int64_t> extents) {
  check_extents(evaluator, node, extents);
  try {
    return anabranch::detail::allocate_array(scalars, extents);
  } catch (const RunError&) {
    evaluator.fail(node, ir::too_many_elements(extents));
  } catch (const std::bad_alloc&) {
    std::int64_t width = 0, bytes = 1;
    for (ScalarType s : scalars) width += static_cast<std::int64_t>(size_of(s));
    for (std::int64_t extent : extents) bytes *= extent;
    if (__builtin_mul_overflow(bytes, width, &bytes)) evaluator.fail(node, ir::too_many_elements(extents));
    const Place& place = node.place().known() ? node.place() : evaluator.nearest_place;
    throw ResourceError(fmt::format("{}: {} bytes are more memory than the system gives ({})", node.label(),
                                    bytes, anabranch::to_string(place)),
                        place);
  }
}

HostArray view(const HostArray& array, std::int64_t begin, std::vector<std::int64_t> extents) {
  auto out = std::make_shared<anabranch::detail::ArrayData>();
  out->scalars = array->scalars;
  out->extents = std::move(extents);
  for (std::size_t c = 0; c < array->scalars.size(); ++c) {
    auto* bytes = static_cast<unsigned char*>(array->buffers[c].get());
    const auto offset = static_cast<std::size_t>(begin) * size_of(array->scalars[c]);
    out->buffers.emplace_back(array->buffers[c], bytes + offset);
  }
  return out;
}

namespace {

using Element = std::vector<Bits>;

Element element_at(const HostArray& array, std::int64_t position) {
  Element out(array->scalars.size());
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = load(array->scalars[c], array->buffers[c].get(), position);
  return out;
}

void set_element(const HostArray& array, std::int64_t position, std::span<const Bits> value) {
  for (std::size_t c = 0; c < value.size(); ++c)
    store(array->scalars[c], array->buffers[c].get(), position, value[c]);
}

std::int64_t position_of(std::span<const std::int64_t> ix, std::span<const std::int64_t> extents) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < ix.size(); ++d) position = position * extents[d] + ix[d];
  return position;
}

/// Calls f(ix, row-major position) for every index of a shape.
template <class F>
void for_each_index(std::span<const std::int64_t> extents, F&& f) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::vector<std::int64_t> ix(extents.size(), 0);
  for (std::int64_t position = 0;; ++position) {
    f(ix, position);
    std::size_t d = ix.size();
    while (d > 0 && ++ix[d - 1] == extents[d - 1]) ix[--d] = 0;
    if (d == 0) return;
  }
}

double number_of(ScalarType type, Bits bits) {
  if (type == ScalarType::float16) return static_cast<double>(static_cast<float>(from_bits<half>(bits)));
  return type == ScalarType::float32 ? static_cast<double>(from_bits<float>(bits)) : from_bits<double>(bits);
}

/// The order of `sort`, by its definition: numbers by their values, -0 before 0, NaN last.
bool comes_before(ScalarType type, Bits x, Bits y) {
  if (!ir::is_float(type)) {
    const bool is_unsigned = !ir::is_signed(type);
    return is_unsigned ? x < y : ir::integer_of(type, x) < ir::integer_of(type, y);
  }
  const double a = number_of(type, x), b = number_of(type, y);
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return a == b ? std::signbit(a) && !std::signbit(b) : a < b;
}

/// One array operation being executed.
class Operation {
 public:
  Operation(Evaluator& evaluator, Number number)
      : evaluator_(evaluator), node_(evaluator.node(number)), parts_(evaluator.children(number)) {}

  std::vector<HostArray> execute() {
    switch (node_.op().as<ArrayOp>()) {
      case Op::use:
        return {node_.payload().array};
      case Op::unit:
        return {unit()};
      case Op::generate:
        return {generate()};
      case Op::map:
        return {map()};
      case Op::fold:
        return {fold()};
      case Op::scan:
        return scan();
      case Op::scan_state:
        return {scan_state()};
      case Op::backpermute:
        return {backpermute()};
      case Op::reshape:
        return {reshape()};
      case Op::consume:
        return {evaluator_.array(parts_[position_of(Op::consume, "sink")])};
      case Op::project_array:
        return {evaluator_.array(parts_[position_of(Op::project_array, "arrays")],
                                 ir::ProjectArray(node_).which())};
      case Op::part:
        return {part()};
      case Op::sort:
        return sort();
      case Op::select:
        return {select()};
      case Op::group:
        return group();
      case Op::last_at:
        return {last_at()};
      case Op::accumulate:
        return {accumulate()};
      case Op::repeat:
        return {repeat()};
      case Op::compute:
        return {evaluator_.array(parts_[position_of(Op::compute, "array")])};
      case Op::trace:
        return {evaluator_.array(parts_[position_of(Op::trace, "array")])};
      case Op::awhile:
      case Op::acond:
        break;
    }
    throw InternalError(fmt::format("interpreter: {} runs bodies", ir::name_of(node_.op())));
  }

 private:
  HostArray allocate(std::span<const std::int64_t> extents) {
    return interp::allocate(evaluator_, node_, node_.type().scalars, extents);
  }
  /// Array `which` of those that the operation gives.
  HostArray allocate(std::size_t which, std::span<const std::int64_t> extents) {
    return interp::allocate(evaluator_, node_, node_.type().arrays[which].scalars, extents);
  }

  std::span<const Bits> apply(Number lambda, std::span<const std::int64_t> ix) {
    Element argument;
    for (std::int64_t i : ix) argument.push_back(to_bits(i));
    evaluator_.bind(evaluator_.parameters(lambda)[0], argument);
    return evaluator_.evaluate(evaluator_.results(lambda)[0]);
  }

  HostArray unit() {
    HostArray out = allocate({});
    set_element(out, 0, evaluator_.evaluate(parts_[position_of(Op::unit, "value")]));
    return out;
  }

  HostArray generate() {
    const Number function = parts_[position_of(Op::generate, "function")];
    HostArray out = allocate(evaluator_.integers(parts_[position_of(Op::generate, "shape")]));
    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    for_each_index(out->extents, [&](const std::vector<std::int64_t>& ix, std::int64_t position) {
      set_element(out, position, apply(function, ix));
    });
    return out;
  }

  HostArray map() {
    const Number function = parts_[position_of(Op::map, "function")];
    const auto arguments = parts_.subspan(position_of(Op::map, "arrays"));
    std::vector<std::int64_t> extents = evaluator_.array(arguments[0])->extents;
    for (Number argument : arguments)
      for (std::size_t d = 0; d < extents.size(); ++d)
        extents[d] = std::min(extents[d], evaluator_.array(argument)->extents[d]);

    HostArray out = allocate(extents);
    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    for_each_index(extents, [&](const std::vector<std::int64_t>& ix, std::int64_t position) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const HostArray& argument = evaluator_.array(arguments[i]);
        evaluator_.bind(evaluator_.parameters(function)[i],
                        element_at(argument, position_of(ix, argument->extents)));
      }
      set_element(out, position, evaluator_.evaluate(evaluator_.results(function)[0]));
    });
    return out;
  }

  /// The user's operator applied to two elements.
  auto joining(Number function) {
    return [this, function](const Element& left, const Element& right) {
      evaluator_.bind(evaluator_.parameters(function)[0], left);
      evaluator_.bind(evaluator_.parameters(function)[1], right);
      const auto joined = evaluator_.evaluate(evaluator_.results(function)[0]);
      return Element(joined.begin(), joined.end());
    };
  }

  std::optional<Element> seed(std::size_t position) {
    if (parts_.size() <= position) return std::nullopt;
    const auto value = evaluator_.evaluate(parts_[position]);
    return Element(value.begin(), value.end());
  }

  HostArray fold() {
    const Number function = parts_[position_of(Op::fold, "function")];
    const HostArray& array = evaluator_.array(parts_[position_of(Op::fold, "array")]);
    const std::int64_t length = array->extents.back();
    const auto order = node_.payload().order;
    const auto join = joining(function);

    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    HostArray out = allocate(std::span(array->extents).first(array->extents.size() - 1));
    const std::int64_t rows = out->size();
    const std::optional<Element> first = seed(position_of(Op::fold, "seed"));
    for (std::int64_t row = 0; row < rows; ++row) {
      if (length == 0) {
        if (!first) evaluator_.fail(node_, ir::empty_fold());
        set_element(out, row, *first);
        continue;
      }
      const auto at = [&](std::int64_t i) { return element_at(array, row * length + i); };
      Element total = ir::fold_order::reduce_row(length, order, at, join);
      if (first) total = join(*first, total);
      set_element(out, row, total);
    }
    return out;
  }

  std::vector<HostArray> scan() {
    const Number function = parts_[position_of(Op::scan, "function")];
    const HostArray& array = evaluator_.array(parts_[position_of(Op::scan, "array")]);
    const ir::Scan node(node_);
    const auto axis = static_cast<std::size_t>(node.axis());
    const ir::Prefixes prefixes = node.kind().prefixes;
    const bool from_right = node.kind().from_right;
    const std::int64_t length = array->extents[axis];
    std::vector<std::int64_t> extents = array->extents, others = array->extents;
    if (prefixes == ir::Prefixes::all) ++extents[axis];
    others.erase(others.begin() + node.axis());
    const std::int64_t count = extents[axis], shift = prefixes == ir::Prefixes::inclusive ? 0 : 1;
    const auto in_order = [from_right](std::int64_t i, std::int64_t n) { return from_right ? n - 1 - i : i; };

    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    std::vector<HostArray> out{allocate(0, extents)};
    const std::optional<Element> first = seed(position_of(Op::scan, "seed"));
    if (first) out.push_back(allocate(1, others));
    if (out.front()->size() == 0 && out.back()->size() == 0) return out;  // of rows beyond counting, too
    const auto join = joining(function);
    const std::int64_t rows = ir::product_of(others);
    const std::int64_t step =
        ir::product_of(std::span(extents).subspan(axis + 1));  // elements of a row are so far apart
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto place = [&](std::int64_t i, std::int64_t n) {
        return (row / step * n + in_order(i, n)) * step + row % step;
      };
      const auto put = [&](std::int64_t number, const Element& prefix) {
        if (number < count) set_element(out[0], place(number, count), prefix);
      };
      if (first) set_element(out[1], row, *first);
      if (shift > 0) put(0, *first);
      ir::scan_order::scan_row(
          length, first, [&](std::int64_t i) { return element_at(array, place(i, length)); },
          [&](const Element& so_far, const Element& next) {
            return from_right ? join(next, so_far) : join(so_far, next);
          },
          [&](std::int64_t i, const Element& prefix) {
            put(i + shift, prefix);
            if (first && i + 1 == length) set_element(out[1], row, prefix);
          });
    }
    return out;
  }

  HostArray scan_state() {
    const Number function = parts_[position_of(Op::scan_state, "function")];
    const HostArray& array = evaluator_.array(parts_[position_of(Op::scan_state, "array")]);
    const std::int64_t length = array->extents.back();
    const auto next = joining(function);

    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    HostArray out = allocate(array->extents);
    if (out->size() == 0) return out;
    const Element first = seed(position_of(Op::scan_state, "seed")).value();
    for (std::int64_t row = 0; row < out->size(); row += length) {
      Element state = first;
      for (std::int64_t at = row; at < row + length; ++at) {
        state = next(state, element_at(array, at));
        set_element(out, at, state);
      }
    }
    return out;
  }

  HostArray backpermute() {
    const Number function = parts_[position_of(Op::backpermute, "function")];
    const HostArray& array = evaluator_.array(parts_[position_of(Op::backpermute, "array")]);
    HostArray out = allocate(evaluator_.integers(parts_[position_of(Op::backpermute, "shape")]));
    const Evaluator::Application application(evaluator_, evaluator_.parameters(function));
    for_each_index(out->extents, [&](const std::vector<std::int64_t>& ix, std::int64_t position) {
      std::vector<std::int64_t> from;
      for (Bits bits : apply(function, ix)) from.push_back(from_bits<std::int64_t>(bits));
      for (std::size_t d = 0; d < from.size(); ++d)
        if (from[d] < 0 || from[d] >= array->extents[d])
          evaluator_.fail(node_, ir::out_of_range(from[d], array->extents[d]));
      set_element(out, position, element_at(array, position_of(from, array->extents)));
    });
    return out;
  }

  HostArray reshape() {
    const HostArray& array = evaluator_.array(parts_[position_of(Op::reshape, "array")]);
    const std::vector<std::int64_t> extents = evaluator_.integers(parts_[position_of(Op::reshape, "shape")]);
    check_extents(evaluator_, node_, extents);
    std::int64_t size = 1;
    bool overflows = false;
    for (const std::int64_t extent : extents)  // one that is 0 may follow
      overflows = (__builtin_mul_overflow(size, extent, &size) || overflows) && extent != 0;
    if (overflows) evaluator_.fail(node_, ir::too_many_elements(extents));
    if (size != array->size()) evaluator_.fail(node_, ir::other_size(size - array->size()));
    return view(array, 0, extents);
  }

  HostArray part() {
    const HostArray& array = evaluator_.array(parts_[position_of(Op::part, "array")]);
    const std::int64_t begin = evaluator_.integers(parts_[position_of(Op::part, "begin")])[0];
    std::vector<std::int64_t> extents = evaluator_.integers(parts_[position_of(Op::part, "shape")]);
    std::int64_t end = 1;
    bool there = begin >= 0;
    for (const std::int64_t extent : extents)
      there = there && extent >= 0 && !__builtin_mul_overflow(end, extent, &end);
    there = there && !__builtin_add_overflow(end, begin, &end) && end <= array->size();
    if (!there) throw InternalError("interpreter: a part that is not in its array");
    return view(array, begin, std::move(extents));
  }

  std::vector<HostArray> sort() {
    const HostArray& array = evaluator_.array(parts_[position_of(Op::sort, "array")]);
    const std::int64_t length = array->extents.back();
    const ir::StandardArithmetic standard;  // denormal numbers are compared, too
    std::vector<HostArray> out{allocate(0, array->extents), allocate(1, array->extents)};
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    for (std::int64_t begin = 0; begin < array->size(); begin += length) {
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        for (std::size_t c = 0; c < array->scalars.size(); ++c) {
          const void* values = array->buffers[c].get();
          const Bits x = load(array->scalars[c], values, begin + a);
          const Bits y = load(array->scalars[c], values, begin + b);
          if (comes_before(array->scalars[c], x, y)) return true;
          if (comes_before(array->scalars[c], y, x)) return false;
        }
        return false;
      });
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t from = order[static_cast<std::size_t>(i)];
        set_element(out[0], begin + i, element_at(array, begin + from));
        set_element(out[1], begin + i, Element{to_bits(from)});
      }
    }
    return out;
  }

  HostArray select() {
    const HostArray& mask = evaluator_.array(parts_[position_of(Op::select, "mask")]);
    const HostArray& array = evaluator_.array(parts_[position_of(Op::select, "array")]);
    if (mask->size() != array->size()) evaluator_.fail(node_, ir::other_size(mask->size() - array->size()));
    std::vector<std::int64_t> selected;
    for (std::int64_t i = 0; i < array->size(); ++i)
      if (load(ScalarType::boolean, mask->buffers[0].get(), i) != 0) selected.push_back(i);
    HostArray out = allocate(extent_for(std::ssize(selected)));
    for (std::int64_t i = 0; i < out->size(); ++i)
      set_element(out, i, element_at(array, selected[static_cast<std::size_t>(i)]));
    return out;
  }

  /// The operation's extent, which is that of what it gives.
  std::vector<std::int64_t> extent_for(std::int64_t elements) {
    std::vector<std::int64_t> extents = evaluator_.integers(parts_[position_of(Op::select, "shape")]);
    if (extents[0] < 0) evaluator_.fail(node_, ir::negative_extent(extents[0]));
    if (extents[0] != elements) evaluator_.fail(node_, ir::other_extent(extents[0], elements));
    return extents;
  }

  /// The place that element i of a vector goes to; -1: nowhere.
  std::int64_t place_of(const HostArray& places, std::int64_t i, std::int64_t extent) {
    const ScalarType type = places->scalars[0];
    const std::int64_t place = ir::integer_of(type, load(type, places->buffers[0].get(), i));
    const bool dropped = place == -1 && ir::is_signed(type) && node_.payload().drops;
    if (!dropped && (place < 0 || place >= extent)) evaluator_.fail(node_, ir::out_of_range(place, extent));
    return place;
  }

  std::vector<HostArray> group() {
    const HostArray& places = evaluator_.array(parts_[position_of(Op::group, "places")]);
    const std::vector<std::int64_t> extents = evaluator_.integers(parts_[position_of(Op::group, "shape")]);
    std::vector<HostArray> out{allocate(0, extents), allocate(1, places->extents)};
    std::vector<std::vector<std::int64_t>> at(static_cast<std::size_t>(extents[0]));
    std::vector<std::int64_t> dropped;
    for (std::int64_t i = 0; i < places->size(); ++i) {
      const std::int64_t place = place_of(places, i, extents[0]);
      (place < 0 ? dropped : at[static_cast<std::size_t>(place)]).push_back(i);
    }
    std::int64_t next = 0;
    const auto put = [&](const std::vector<std::int64_t>& elements) {
      for (const std::int64_t i : elements) set_element(out[1], next++, Element{to_bits(i)});
    };
    for (std::int64_t place = 0; place < extents[0]; ++place) {
      const auto& elements = at[static_cast<std::size_t>(place)];
      set_element(out[0], place, Element{to_bits(static_cast<std::int64_t>(elements.size()))});
      put(elements);
    }
    put(dropped);
    return out;
  }

  HostArray last_at() {
    const HostArray& places = evaluator_.array(parts_[position_of(Op::last_at, "places")]);
    HostArray out = allocate(evaluator_.integers(parts_[position_of(Op::last_at, "shape")]));
    for (std::int64_t place = 0; place < out->size(); ++place)
      set_element(out, place, Element{to_bits(std::int64_t{-1})});
    for (std::int64_t i = 0; i < places->size(); ++i)
      if (const std::int64_t place = place_of(places, i, out->size()); place >= 0)
        set_element(out, place, Element{to_bits(i)});
    return out;
  }

  HostArray accumulate() {
    const HostArray& places = evaluator_.array(parts_[position_of(Op::accumulate, "places")]);
    const HostArray& array = evaluator_.array(parts_[position_of(Op::accumulate, "array")]);
    if (places->size() != array->size())
      evaluator_.fail(node_, ir::other_size(places->size() - array->size()));
    HostArray out = allocate(evaluator_.integers(parts_[position_of(Op::accumulate, "shape")]));
    const ir::Primitive join = node_.payload().primitive;
    const ScalarType type = array->scalars[0];
    const Element neutral{ir::neutral_element(join, type)};
    for (std::int64_t place = 0; place < out->size(); ++place) set_element(out, place, neutral);
    for (std::int64_t i = 0; i < places->size(); ++i) {
      const std::int64_t place = place_of(places, i, out->size());
      if (place < 0) continue;
      const Bits both[] = {element_at(out, place)[0], element_at(array, i)[0]};
      set_element(out, place, Element{*interp::apply(join, type, type, both)});
    }
    return out;
  }

  HostArray repeat() {
    const HostArray& counts = evaluator_.array(parts_[position_of(Op::repeat, "counts")]);
    const ScalarType type = counts->scalars[0];
    const auto count_of = [&](std::int64_t i) {
      return ir::integer_of(type, load(type, counts->buffers[0].get(), i));
    };
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < counts->size(); ++i) {
      const std::int64_t count = count_of(i);
      if (count < 0) evaluator_.fail(node_, ir::negative_count(node_.label(), count));
      if (count > ir::most_extent - total) evaluator_.fail(node_, ir::too_many_elements({&count, 1}));
      total += count;
    }
    HostArray out = allocate(extent_for(total));
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < counts->size(); ++i)
      for (std::int64_t left = count_of(i); left > 0; --left) set_element(out, at++, Element{to_bits(i)});
    return out;
  }

  Evaluator& evaluator_;
  const Node& node_;
  std::span<const Number> parts_;
};

}  // namespace

std::vector<HostArray> execute(Evaluator& evaluator, Number computation) {
  return Operation(evaluator, computation).execute();
}

}  // namespace anabranch::interp
