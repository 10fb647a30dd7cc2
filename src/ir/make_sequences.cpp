// Constructors of sequences, their sources and sinks.

#include <map>

#include <fmt/format.h>

#include "ir/make.h"
#include "ir/maker.h"

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
const ArrayType& only_component(const Ref& sequence, const Place& place, const char* what) {
  require_present({&sequence, 1}, place, what);
  require(sequence->type().is_sequence() && sequence->type().arrays.size() == 1, place, what, [&] {
    return fmt::format("takes a sequence of single arrays, got {}", to_string(sequence->type()));
  });
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
