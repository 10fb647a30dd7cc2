#pragma once

namespace anabranch::fuse {

struct Options {
  bool components = true;   ///< false: tuples stay whole (fuse/components.h)
  bool fusion = true;       ///< false: everything is manifest (for tests, and to see what fusion does)
  int cheap = 3;            ///< additions-equivalents up to which recomputing beats storing
  int kernel_cap = 2000;    ///< operations of a kernel at most; longer chains are cut
  int epilogue_cap = 64;    ///< operations of what is made of a row's result where that is stored
  int most_components = 8;  ///< of elements that one kernel reduces at most: all its totals are in registers
};

}  // namespace anabranch::fuse
