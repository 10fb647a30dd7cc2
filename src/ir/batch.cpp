#include "ir/batch.h"

#include "ir/walk.h"

namespace anabranch::ir {

Batch::Batch(const ArrayType& item, const Place& place) : item_(item), place_(place) {
  const Type numbers = Type::array(1, {ScalarType::int64});
  parameters_ = {parameter(Type::array(0, {ScalarType::int64}), place),
                 parameter(Type::array(1, item.scalars), place), parameter(numbers, place)};
  for (int d = 0; d < item.rank; ++d) parameters_.push_back(parameter(numbers, place));
}

Ref Batch::count() const { return index(parameters_[0], tuple({}), place_, true); }

Ref Batch::item(const Ref& k, bool follow) const {
  const Ref& elements = parameters_[1];
  if (item_.rank == 0) return unit(index(elements, k, place_, true), place_);
  std::vector<Ref> extents;
  for (int d = 0; d < item_.rank; ++d)
    extents.push_back(index(parameters_[static_cast<std::size_t>(3 + d)], k, place_, true));
  return part(tuple(std::move(extents)), elements, index(parameters_[2], k, place_, true), place_, "batch",
              follow);
}

Ref Batch::sequence() const {
  const Ref number = parameter(Type::array(0, {ScalarType::int64}), place_);
  const Ref one = item(index(number, tuple({}), place_, true), true);
  return produce(count(), lambda({number}, {one}, place_), place_, "batch");
}

Ref pairs_of_batch(const Batch& items, const Ref& f, const Place& place) {
  const Ref number = parameter(Type::array(0, {ScalarType::int64}), place);
  const Ref left = primitive(Primitive::multiply, {index(number, tuple({}), place, true), int64(2)}, place);
  const Ref right = primitive(Primitive::add, {left, int64(1)}, place);
  const std::vector<Ref> both{items.item(left, false), items.item(right, false)};
  std::vector<Ref> given = ir::apply(f, both);
  for (int d = 0; d < given[0]->type().rank; ++d) given.push_back(unit(extent(given[0], d), place, "extent"));
  const Ref pairs = primitive(Primitive::divide, {items.count(), int64(2)}, place);
  const Ref joined = produce(pairs, lambda({number}, given, place), place, "fold_seq");
  std::vector<Ref> results;
  for (std::size_t i = 0; i < given.size(); ++i)
    results.push_back(consume(elements(project_seq(joined, static_cast<int>(i), 1, place), place), place));
  return lambda(items.parameters(), std::move(results), place);
}

}  // namespace anabranch::ir
