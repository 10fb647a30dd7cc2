#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "kernel/kernel.h"

/// What is known about the operators of a reduction. Throws InternalError where it must be commutative and is
/// not.
namespace anabranch::kernel {

inline const Reduce& reduce_of(const Kernel& kernel) { return std::get<Reduce>(kernel.form); }

/// What all reductions of a kernel apply, together: per component of the elements.
struct Operators {
  explicit Operators(const Kernel& kernel);

  std::vector<ir::Ref> left, right, combine;
  std::vector<bool> seeded;
  std::vector<ir::Ref> seeded_combine, seed;  ///< of the components with a seed

  /// Of values per component with a seed: per component, `rest` where there is none.
  template <class Values>
  Values spread(const Values& of_seeded, const Values& rest) const {
    Values all = rest;
    auto next = of_seeded.begin();
    for (std::size_t c = 0; c < all.size(); ++c)
      if (seeded[c]) all[c] = *next++;
    return all;
  }
};

/// The primitive of the operator that component c of the elements is reduced by.
ir::Primitive operator_of(const Kernel& kernel, std::size_t c);

}  // namespace anabranch::kernel
