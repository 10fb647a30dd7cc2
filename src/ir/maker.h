#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "ir/node.h"

/// Internal to the checked constructors (ir/make.h): what makes nodes, and what they check.
namespace anabranch::ir {

/// The only one that can make a node. It checks nothing.
class Maker {
 public:
  static Ref make(Op op, Type type, std::vector<Ref> children, Payload payload, Place place,
                  FreeParameters free);
  /// A parameter is free in itself.
  static Ref make_parameter(Type type, Place place);
  static void bind(const Node& parameter);
};

namespace making {

/// Union of the children's free parameters; shares a child's set wherever it already is the union.
FreeParameters free_of(std::span<const Ref> children);
/// `free` without these parameters.
FreeParameters without(const FreeParameters& free, std::span<const Ref> parameters);

Ref scalar_node(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place);
/// Array and sequence computations: none of them may depend on a scalar parameter, because one would then run
/// for every element (nested parallelism in scalar code).
Ref collective(Op op, Type type, std::vector<Ref> children, Payload payload, const Place& place);
Payload labelled(Symbol label);

/// Throws ProgramError with the place.
[[noreturn]] void refuse(const Place& place, const char* what, const std::string& detail);

inline void require(bool ok, const Place& place, const char* what, const char* detail) {
  if (!ok) refuse(place, what, detail);
}
/// `detail()` is the sentence: it is made where it is needed only, as nearly all nodes are right.
template <std::invocable Detail>
void require(bool ok, const Place& place, const char* what, const Detail& detail) {
  if (!ok) refuse(place, what, detail());
}

void require_present(std::span<const Ref> children, const Place& place, const char* what);
void require_type(const Type& got, const Type& wanted, const Place& place, const char* what);
void require_lambda(const Ref& function, std::size_t parameters, std::size_t results, const Place& place,
                    const char* what);
/// One int64 for each of `rank` dimensions.
bool is_index_type(const Type& type, int rank);
/// The rank of the arrays of that shape.
int shape_rank(const Ref& shape, const Place& place, const char* what);

}  // namespace making
}  // namespace anabranch::ir
