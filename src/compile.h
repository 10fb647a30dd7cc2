#pragma once

#include <string>
#include <vector>

#include "ir/staged.h"
#include "plan/plan.h"

/// The spine: the passes of the compiler, in order. compile.cpp is the place to start reading.
namespace anabranch {

/// What may be switched off, for tests and to see what a pass does. Results are the same but for `contract`, and for `share`
/// where a product that is written twice is also a summand.
struct CompileOptions {
  bool share = true;       ///< hash-consing and constant folding
  bool contract = true;    ///< x * y + z to fma; off is *not* the same program: it rounds twice ("strict")
  bool components = true;  ///< components of tuples are arrays of their own
  bool shape_analysis = true;  ///< sources' shared descriptors
  bool ranges = true;          ///< range analysis of indices
  bool fusion = true;          ///< array fusion
  bool in_place = true;        ///< arrays written over what is read for the last time
  bool caches = true;          ///< off: all input counts as larger than the caches, and folds prefetch it
};

/// Reads ANABRANCH_OFF=share,contract,components,shapes,ranges,fusion,in_place,caches.
CompileOptions options_from_environment();

struct PassTime {
  std::string pass;
  double seconds = 0;
};

struct Compiled {
  std::vector<ir::Ref> program;  ///< after `contract`: what the interpreter runs
  ir::Staged staged;
  plan::Plan plan;
  std::vector<PassTime> times;
};

/// From array computations (closed but for `parameters`) to a plan. With
/// ANABRANCH_DUMP=share,contract,sequences,lift,fuse,plan each named pass prints its result to stderr; back
/// ends look there for llvm, asm and cuda.
Compiled compile_program(std::vector<ir::Ref> results, std::vector<ir::Ref> parameters,
                         const CompileOptions& options);
/// The same for a sequence whose items are streamed out.
Compiled compile_sequence(const ir::Ref& sequence, const CompileOptions& options);

}  // namespace anabranch
