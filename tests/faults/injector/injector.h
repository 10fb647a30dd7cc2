#pragma once

#include <cstdint>

/// A shared library that stands before the C library and makes its calls fail: loaded before a process of the
/// command (LD_PRELOAD), or linked into a test program. One call fails in a run, then all is well again; or
/// all from one on.
///
/// Which calls count: those that a call chain of ours makes, by the objects on the stack. What oneTBB, LLVM
/// and the dynamic linker ask for themselves is passed on: they have no answer to a failure (oneTBB spins or
/// terminates, LLVM ends with its own error).
namespace faults {

enum class Kind : int { none, allocation, thread, open, read, write, sync, rename, map };

/// A place in the program: the innermost calls of ours on the stack, the same in every process.
using Site = std::uint64_t;

/// Which call fails.
struct Fault {
  Kind kind = Kind::none;
  /// From 0 on; below 0: the first from a site that is not known.
  long call = -1;
  /// All calls of the kind after it fail too.
  bool lasting = false;
  /// Calls on the stack that tell two sites apart.
  int depth = 2;
};

extern "C" {

/// From now on calls fail.
void anabranch_faults_arm(const Fault& fault, const Site* known, int count);
/// Lets all calls pass. The site of the first call that failed; 0: none did.
Site anabranch_faults_disarm();

/// Calls of this thread pass, or not.
void anabranch_faults_pass(bool pass);

/// Blocks of memory that are allocated now.
long anabranch_faults_live_blocks();
}

/// The variable by which a process is started armed: "kind,call,lasting,depth,descriptor". The file behind
/// the descriptor holds the known sites; the one that fails is added to it.
constexpr const char* variable = "ANABRANCH_FAULTS";

}  // namespace faults
