// Constructors of sequences, their sources and sinks.

#include <iterator>
#include <map>

#include <fmt/format.h>

#include "ir/batch.h"
#include "ir/make.h"
#include "ir/maker.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

using namespace making;

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
      refuse(place, source.c_str(),
             fmt::format("its arrays {} and {} have one descriptor and different extents", other, i));
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

Ref produce(Ref count, Ref function, Place place, Symbol label) {
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
  return collective(Op::produce, Type::sequence(std::move(arrays)), std::move(children), labelled(label),
                    place);
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
          [&] { return fmt::format("expects a function of {} arrays", items.size()); });
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

/// Items that say of themselves whether they are kept: without that.
Type without_flag(const Ref& sequence, const Place& place, const char* what) {
  require_present({&sequence, 1}, place, what);
  const std::vector<ArrayType>& arrays = sequence->type().arrays;
  require(sequence->type().is_sequence() && arrays.size() >= 2 &&
              arrays.back() == ArrayType{0, {ScalarType::boolean}},
          place, what, "takes a sequence whose last array is a Scalar<bool>");
  return Type::sequence({arrays.begin(), arrays.end() - 1});
}

/// The items of sources, and of sequences that are made otherwise than item by item.
Ref drop_items(const Ref& count, const Ref& sequence, const Place& place) {
  return collective(Op::drop_seq, sequence->type(), {count, sequence}, {}, place);
}

/// A sequence of numbers, and the function of the numbers.
Ref drop_of_produce(const Ref& count, const Ref& sequence, const Place& place) {
  const Produce made(sequence);
  const Ref number = parameter(Type::array(0, {ScalarType::int64}), sequence->place());
  const Ref numbers = produce(made.count(), lambda({number}, {number}, sequence->place()), sequence->place(),
                              sequence->payload().label);
  if (made.function()->results()[0] == made.function()->parameters()[0] &&
      made.function()->results().size() == 1)
    return drop_items(count, numbers, place);
  return map_seq(made.function(), {drop_items(count, numbers, place)}, sequence->place(), "produce");
}

/// Of the first `most` items, all but the first `count`.
Ref take_of_drop(const Ref& most, const Ref& count, const Ref& dropped, const Place& place) {
  const auto negative = primitive(Primitive::less, {most, int64(0)}, place);
  const Ref left =
      primitive(Primitive::maximum, {primitive(Primitive::subtract, {most, count}, place), int64(0)}, place);
  return take_seq(cond(negative, most, left, place), dropped, place);
}

}  // namespace

Ref filter_seq(Ref sequence, Place place) {
  Type type = without_flag(sequence, place, "filter_seq");
  return collective(Op::filter_seq, std::move(type), {std::move(sequence)}, {}, place);
}

Ref take_while_seq(Ref sequence, Place place) {
  Type type = without_flag(sequence, place, "take_while_seq");
  return collective(Op::take_while_seq, std::move(type), {std::move(sequence)}, {}, place);
}

Ref drop_seq(Ref count, Ref sequence, Place place) {  // NOLINT: by value, as all that make nodes take them
  const std::vector<Ref> children{count, sequence};
  require_present(children, place, "drop_seq");
  require_type(count->type(), Type::element(ScalarType::int64), place, "drop_seq");
  require(sequence->type().is_sequence(), place, "drop_seq", "works on sequences");
  NodeMap<Ref> dropped;
  const auto is_made_by_item = [](const Node& node) {
    return node.type().is_sequence() && node.op().is_a<SequenceOp>() && !is_fed(node.op());
  };
  for (const Node* node : topological({&sequence, 1}, is_made_by_item)) {
    if (!node->type().is_sequence()) continue;
    const Ref whole(node);
    Ref& rest = dropped[node];
    if (node->op() == Op::produce) {
      rest = drop_of_produce(count, whole, place);
    } else if (!is_made_by_item(*node)) {
      rest = drop_items(count, whole, place);
    } else if (node->op() == Op::take_seq) {
      rest = take_of_drop(TakeSeq(whole).count(), count, dropped.at(TakeSeq(whole).sequence().get()),
                          node->place());
    } else {
      std::vector<Ref> parts{node->children().begin(), node->children().end()};
      for (Ref& part : parts)
        if (part->type().is_sequence()) part = dropped.at(part.get());
      rest = rebuild(whole, std::move(parts));
    }
  }
  return dropped.at(sequence.get());
}

namespace {

/// What is joined to joined sequences is joined to their parts: a loop may join many, one after the other.
std::vector<Ref> without_nested(std::vector<Ref> sequences) {
  constexpr std::size_t most = 1024;
  std::vector<Ref> parts;
  for (const Ref& sequence : sequences)
    if (sequence->op() == Op::append_seq)
      parts.insert(parts.end(), sequence->children().begin(), sequence->children().end());
    else
      parts.push_back(sequence);
  if (parts.size() <= most) return parts;
  return sequences;
}

}  // namespace

Ref append_seq(std::vector<Ref> sequences, Place place) {
  require_present(sequences, place, "append_seq");
  require(sequences.size() >= 2, place, "append_seq", "takes two sequences or more");
  for (const Ref& sequence : sequences) {
    require(sequence->type().is_sequence(), place, "append_seq", "works on sequences");
    require_type(sequence->type(), sequences[0]->type(), place, "append_seq");
  }
  Type type = sequences[0]->type();
  return collective(Op::append_seq, std::move(type), without_nested(std::move(sequences)), {}, place);
}

Ref flatten_seq(Ref sequence, std::vector<ArrayType> items, Place place) {
  require_present({&sequence, 1}, place, "flat_map_seq");
  std::vector<ArrayType> held;
  for (const ArrayType& item : items) held.push_back({1, item.scalars});
  for (const ArrayType& item : items)
    held.insert(held.end(), static_cast<std::size_t>(item.rank), {1, {ScalarType::int64}});
  require(!items.empty() && sequence->type() == Type::sequence(std::move(held)), place, "flat_map_seq",
          "takes items that hold the elements and extents of others");
  return collective(Op::flatten_seq, Type::sequence(std::move(items)), {std::move(sequence)}, {}, place);
}

Ref flat_map_seq(std::vector<Ref> parameters, const Ref& inner, const Ref& sequence, Place place) {
  require_present({&inner, 1}, place, "flat_map_seq");
  require(inner->type().is_sequence(), place, "flat_map_seq", "its function gives a sequence");
  const std::vector<ArrayType> items = inner->type().arrays;
  std::vector<Ref> arrays;
  for (const ArrayType& item : items) arrays.push_back(parameter(Type::array(item), place));
  std::vector<Ref> marked = arrays;
  for (const Ref& array : arrays)
    for (int d = 0; d < array->type().rank; ++d) marked.push_back(unit(extent(array, d), place, "extent"));
  const Ref all = map_seq(lambda(arrays, marked, place), {inner}, place, "flat_map_seq");
  std::vector<Ref> held;
  for (std::size_t i = 0; i < marked.size(); ++i)
    held.push_back(consume(elements(project_seq(all, static_cast<int>(i), 1, place), place), place));
  return flatten_seq(
      map_seq(lambda(std::move(parameters), std::move(held), place), {sequence}, place, "flat_map_seq"),
      items, place);
}

Ref windows_seq(Ref sequence, Ref hop, std::vector<Ref> shape, Place place) {
  const std::size_t rank = shape.size();
  std::vector<Ref> children{std::move(sequence), std::move(hop)};
  children.insert(children.end(), std::move_iterator(shape.begin()), std::move_iterator(shape.end()));
  require_present(children, place, "windows");
  for (std::size_t i = 1; i < children.size(); ++i)
    require_type(children[i]->type(), Type::element(ScalarType::int64), place, "windows");
  const Type& type = children[0]->type();
  require(type.is_sequence() && type.arrays.size() == 1 && type.arrays[0].rank >= 1, place, "windows",
          "takes a sequence of single arrays of rank 1 or more");
  require(type.arrays[0].rank == static_cast<int>(rank), place, "windows",
          "takes an extent for each dimension of the items");
  return collective(Op::windows_seq, Type(type), std::move(children), {}, place);
}

Ref map_accum_seq(Ref sequence, Ref function, std::vector<Ref> state, Place place, Symbol label) {
  const char* what = label ? label.c_str() : "map_accum_seq";
  require_present(state, place, what);
  require_present(std::vector{sequence, function}, place, what);
  require(sequence->type().is_sequence() && !state.empty(), place, what, "takes a sequence and a state");
  std::vector<ArrayType> taken, given;
  for (const Ref& array : state) {
    require(array->type().is_array(), place, what, "its state are arrays");
    taken.push_back(array->type().array_type());
  }
  taken.insert(taken.end(), sequence->type().arrays.begin(), sequence->type().arrays.end());
  require(function->op() == Op::lambda && function->parameters().size() == taken.size() &&
              function->results().size() > state.size(),
          place, what, "expects a function of the state and an item, which gives both");
  for (std::size_t i = 0; i < taken.size(); ++i)
    require_type(function->parameters()[i]->type(), Type::array(taken[i]), place, what);
  for (const Ref& result : function->results()) {
    require(result->type().is_array(), place, what, "its function gives arrays");
    given.push_back(result->type().array_type());
  }
  const auto states = static_cast<std::ptrdiff_t>(state.size());
  require(std::equal(given.begin(), given.begin() + states, taken.begin()), place, what,
          "the next state is of the types of the state");
  given.erase(given.begin(), given.begin() + states);
  std::vector<Ref> children{std::move(sequence), std::move(function)};
  for (Ref& array : state) children.push_back(std::move(array));
  return collective(Op::map_accum_seq, Type::sequence(std::move(given)), std::move(children), labelled(label),
                    place);
}

namespace {
const ArrayType& only_component(const Ref& sequence, const Place& place, const char* what) {
  require_present({&sequence, 1}, place, what);
  require(sequence->type().is_sequence() && sequence->type().arrays.size() == 1, place, what, [&] {
    return fmt::format("takes a sequence of single arrays, got {}", to_string(sequence->type()));
  });
  return sequence->type().arrays[0];
}

/// A function of two arrays that gives one, all of one type.
void require_operator(const Ref& function, const Type& type, const Place& place, const char* what) {
  require(
      function->op() == Op::lambda && function->parameters().size() == 2 && function->results().size() == 1,
      place, what, "expects a function of two arrays that gives one");
  for (const Ref& each : {function->parameters()[0], function->parameters()[1], function->results()[0]})
    require_type(each->type(), type, place, what);
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

Ref fold_seq(Ref sequence, Ref function, Ref seed, Place place) {
  const Type type = Type::array(only_component(sequence, place, "fold_seq"));
  std::vector<Ref> children{std::move(sequence), std::move(function), std::move(seed)};
  require_present(children, place, "fold_seq");
  require_type(children[2]->type(), type, place, "fold_seq");
  require_operator(children[1], type, place, "fold_seq");
  return collective(Op::fold_seq, Type(type), std::move(children), {}, place);
}

Ref fold_batch(Ref sequence, Ref batch, Ref combine, Ref seed, Place place) {
  const Batch items(only_component(sequence, place, "fold_batch"), place);
  std::vector<Ref> children{std::move(sequence), std::move(batch), std::move(combine), std::move(seed)};
  require_present(children, place, "fold_batch");
  const Type type = children[3]->type();
  require(type.is_array(), place, "fold_batch", "its seed is an array");
  const Ref& function = children[1];
  require(function->op() == Op::lambda && function->parameters().size() == items.parameters().size() &&
              function->results().size() == 1,
          place, "fold_batch", "expects a function of a batch");
  for (std::size_t i = 0; i < items.parameters().size(); ++i)
    require_type(function->parameters()[i]->type(), items.parameters()[i]->type(), place, "fold_batch");
  require_type(function->results()[0]->type(), type, place, "fold_batch");
  require_operator(children[2], type, place, "fold_batch");
  return collective(Op::fold_batch, Type(type), std::move(children), {}, place);
}

Ref write(Ref sequence, std::shared_ptr<SinkBase> sink, Place place) {
  require_present({&sequence, 1}, place, "write");
  require(sink != nullptr, place, "write", "an empty handle was given");
  require(sequence->type().is_sequence(), place, "write", "takes a sequence");
  std::vector<ArrayType> arrays;
  for (const SinkArray& array : sink->info().arrays) arrays.push_back({array.rank, array.scalars});
  const Type takes = Type::sequence(std::move(arrays));
  require(takes == sequence->type(), place, "write", [&] {
    return fmt::format("the sink {} takes {}, got {}", sink->info().name, to_string(takes),
                       to_string(sequence->type()));
  });
  Payload payload;
  payload.sink = std::move(sink);
  return collective(Op::write, Type::array(0, {ScalarType::int64}), {std::move(sequence)}, std::move(payload),
                    place);
}

}  // namespace anabranch::ir
