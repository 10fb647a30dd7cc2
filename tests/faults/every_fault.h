#pragma once

#include <functional>
#include <string>
#include <vector>

#include "injector/injector.h"

/// Goes through the faults that can happen to a program, one run after another.
namespace fault_test {

using faults::Fault;
using faults::Kind;
using faults::Site;

/// All kinds, and what they are called in messages.
const std::vector<Kind>& all_kinds();
const char* name_of(Kind kind);

/// Does something, and gives what came of it as text, the same every time.
using Program = std::function<std::string()>;

struct Scope {
  /// The k-th call for k = 0, step, 2 step ... until a run makes fewer; 0: one call for each site.
  long step = 0;
  /// Everything after the fault fails too.
  bool lasting = false;
  int depth = 2;
  /// Sites that other programs have shown, and this one's after it: they are not visited again. Null: none.
  std::vector<Site>* shown = nullptr;
};

/// Runs the program with one fault of this kind after another, until a run meets none. Each time it has to
/// give what it gives without faults, or an exception that says whose turn it is; after that all blocks,
/// descriptors and threads are back, and a run without a fault gives what it should. The number of faults.
int check_every_fault(Kind kind, const Program& program, const Scope& scope = {});

/// The same over processes of the command, whose exit status says what happened. `@` in an argument is a
/// folder of the run's own, in which only whole output files may be left.
int check_every_fault(Kind kind, const std::vector<std::string>& arguments, const Scope& scope = {});

}  // namespace fault_test
