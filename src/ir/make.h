#pragma once

#include <span>
#include <vector>

#include "ir/node.h"

/// The checked constructors: the only way to make nodes. Each checks the types of its children and throws
/// ProgramError (with the place) on a mistake a C++ compiler could not see. An array computation that would
/// depend on a scalar parameter (nested parallelism in scalar code) is refused here, naming both places.
namespace anabranch::ir {

Ref parameter(Type type, Place place = {});
Ref constant(ScalarType type, std::uint64_t bits, Place place = {});
Ref primitive(Primitive primitive, std::vector<Ref> operands, Place place = {});
Ref cast(ScalarType to, Ref value, Place place = {});
Ref tuple(std::vector<Ref> parts, Place place = {});
Ref project(Ref value, int first, int count, Place place = {});
Ref cond(Ref condition, Ref then, Ref otherwise, Place place = {});
Ref while_loop(Ref predicate, Ref body, Ref initial, Place place = {});
/// `in_bounds`: in range by construction (for passes).
/// `label` names the operation of which the read is part ("gather").
Ref index(Ref array, Ref ix, Place place = {}, bool in_bounds = false, Symbol label = {});
Ref linear_index(Ref array, Ref position, Place place = {}, bool in_bounds = false, Symbol label = {});
Ref shape(Ref array, Place place = {});

/// `label` names a well-known function ("plus"); empty else.
Ref lambda(std::vector<Ref> parameters, std::vector<Ref> results, Place place = {}, Symbol label = {});

Ref use(std::shared_ptr<anabranch::detail::ArrayData> array, Place place = {});
Ref unit(Ref element, Place place = {}, Symbol label = {});
Ref generate(Ref shape, Ref function, Place place = {}, Symbol label = {});
Ref map(Ref function, std::vector<Ref> arrays, Place place = {}, Symbol label = {});
Ref fold(Ref function, Ref array, Ref seed /* may be null: fold1 */, Place place = {}, Symbol label = {});
/// What the library knows of a backpermute it built:
/// no source element is read twice; every index is in range.
struct IndexFacts {
  bool injective = false;
  bool in_range = false;
};
Ref backpermute(Ref shape, Ref function, Ref array, IndexFacts permutes, Place place = {}, Symbol label = {});
Ref reshape(Ref shape, Ref array, Place place = {}, Symbol label = {});
Ref consume(Ref terminal, Place place = {});

Ref stream_in(std::shared_ptr<SourceBase> source, Place place = {});
Ref produce(Ref count, Ref function, Place place = {});
Ref rows(Ref array, Place place = {});
Ref map_seq(Ref function, std::vector<Ref> sequences, Place place = {}, Symbol label = {});
Ref project_seq(Ref sequence, int first, int count, Place place = {});
Ref elements(Ref sequence, Place place = {});
Ref tabulate(Ref sequence, Place place = {});

/// The same node over other children (types may not change); returns `node` itself if they are the same.
/// For passes; types are checked again.
Ref rebuild(const Ref& node, std::vector<Ref> children);

// Conveniences that passes share.
template <class T>
Ref literal(T value, Place place = {});  ///< of any scalar type
inline Ref int64(std::int64_t value) {
  return constant(ScalarType::int64, static_cast<std::uint64_t>(value));
}
/// Component c of an element (the element itself when it has one).
Ref component(const Ref& element, int c);
/// Extent d of an array, int64.
Ref extent(const Ref& array, int d);
/// Row-major position of `ix` in an array with these extents.
Ref to_linear(std::span<const Ref> extents, std::span<const Ref> ix);

template <class T>
Ref literal(T value, Place place) {
  return constant(anabranch::detail::scalar_type<T>, anabranch::detail::bits_of(value), place);
}

}  // namespace anabranch::ir
