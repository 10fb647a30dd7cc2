#pragma once

#include "ir/node_map.h"
#include "ir/staged.h"

namespace anabranch::fuse {

/// What must be there before an array's kernel can run. Of two arrays that need as much in all of these neither needs the
/// other, and no set of reductions of one level, or of maps that need as much, waits for another set that waits for it.
struct Need {
  int level = 0;   ///< the longest chain of reductions that need one another, itself included
  int stored = 0;  ///< the longest chain of stored arrays that are computed from one another, itself included
  int parts = 0;   ///< the first so many stages, loops and branches must have run
  void add(const Need& other);
};

/// What each array of a program needs; array fusion has decided what is stored.
class Needs {
 public:
  explicit Needs(const ir::Staged& staged);

  Need of(const ir::Node& node) const;
  /// The stage whose item it depends on; -1: none.
  int stage_of(const ir::Node& node) const;

 private:
  bool enter(const ir::Node& node) const;
  void stage(int number, int parts);
  void control(const ir::Control& control, int parts);
  Need of_all(const std::vector<ir::Ref>& roots, int stage);
  Need compute(const ir::Node& node, int stage);

  const ir::Staged& staged_;
  ir::NodeMap<Need> need_;
  ir::NodeMap<int> stage_;
};

}  // namespace anabranch::fuse
