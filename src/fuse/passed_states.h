#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/node.h"

/// States that pass from item to item, found for all items of a chunk at once, where that gives the same bits.
namespace anabranch::fuse {

/// One step.
struct StateStep {
  std::vector<ir::Ref> state;  ///< parameters: the components of the state, scalars
  std::vector<ir::Ref> item;   ///< parameters: the elements of an item's arrays
  std::vector<ir::Ref> next;   ///< the components of the next state, terms of these parameters
};

struct PassedStates {
  std::vector<ir::Ref> before;  ///< a vector for each component: the states before each item
  std::vector<ir::Ref> after;   ///< those after each, without `before`: if asked for and cheaper
  std::vector<ir::Ref> end;     ///< a term for each component: behind the last item
};

/// A component that does not depend on itself moves by one item (the item before, a delay). One that a step joins, by an
/// operation that is exact in any order, to what does not depend on it, or sets anew under conditions, is a scan (a counter,
/// one that begins again, the last valid value). Each may depend on components that are found before it. None, if there are
/// components of another kind, or some depend on each other in a circle. `items`: vectors for `step.item`; `start`: terms for
/// `step.state`.
std::optional<PassedStates> passed_states(const StateStep& step, std::span<const ir::Ref> items,
                                          std::span<const ir::Ref> start, bool wants_after, Place place);

/// Each term of this kind is a kernel of its own: what items alone decide, several terms take and is not cheap is computed once,
/// and is one more array of the items. What can fail stays where it is. `results`: other terms of the step's parameters.
void store_shared_terms(StateStep& step, std::vector<ir::Ref>& items, std::vector<ir::Ref>& results,
                        Place place);

/// One element of all the components of these: the only one, or a tuple.
ir::Ref as_one(std::vector<ir::Ref> terms);

/// The map of a term of a step's parameters over the items and, where the term takes them, the states before them.
ir::Ref over_items(const StateStep& step, std::span<const ir::Ref> items, std::span<const ir::Ref> before,
                   const ir::Ref& term, Place place);

}  // namespace anabranch::fuse
