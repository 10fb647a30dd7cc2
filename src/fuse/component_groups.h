#pragma once

#include <span>
#include <vector>

#include "fuse/taken.h"
#include "ir/node.h"

/// Which components of an array's elements are an array of their own together.
namespace anabranch::fuse {

/// Who takes components of an array.
struct Readers {
  bool whole = false;             ///< someone takes all, whatever they are
  std::vector<Mask> masks = {};   ///< what each reader takes
  std::vector<Mask> in_one = {};  ///< what has to be in one array: read at one place, or rearranged

  /// What any of them takes.
  Mask taken(const ir::Type& type) const;
  void add(const Readers& more);
};

/// Groups of the components that are taken. In one are components that have to be, and those that share work which is not cheap. So are those that one reader alone takes, as it reads what they are
/// computed from once, and what is not cheap of those that several readers take, all of them the same.
std::vector<Mask> groups_of(std::span<const ir::Ref> components, const Readers& readers, int cheap);

}  // namespace anabranch::fuse
