#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/run_options.h>

#include "ir/node.h"
#include "support/catch.h"
#include "support/random_program.h"

/// Programs under many configurations, beside the reference interpreter.
namespace anabranch::testing {

class Dice;

/// One way to run a program.
struct Configuration {
  Backend backend = Backend::cpu;
  std::string scheduler = "adaptive";
  int threads = 2;
  std::string off = {};     ///< what is switched off
  bool contract = false;    ///< products and sums are contracted; the interpreter is given what that leaves
  std::int64_t memory = 0;  ///< a bound that may turn out to be too tight: then it is doubled
  bool pieces = false;      ///< sources are read in pieces (SourceBase::split)
  /// Instead of its results, the items of sequences that these are made of are asked for, one after the other (stream_out).
  bool item_by_item = false;
  bool once = false;  ///< sources can be read only once
  bool live = false;  ///< sources may have to wait for their next item
};
std::string to_string(const Configuration& configuration);
/// The braces that make it.
std::string code_of(const Configuration& configuration);

/// One of the matrix: chunk sizes, threads, passes off, contraction, vectors of 32 bytes, tight memory, pieces, items
/// one by one.
Configuration drawn_configuration(Dice& dice, Backend backend);

/// What is wrong with a program under a configuration: "" where it gives the interpreter's bits. One that has not ended
/// by then does not end.
std::string wrong_with(const std::vector<ir::Ref>& program, const Configuration& configuration,
                       std::chrono::milliseconds by_then = std::chrono::minutes(1));

/// Runs that fail in the interpreter, and how many of those fail elsewhere, too. (They need not: what no result needs may
/// fail in one and not in the other.)
struct Failures {
  int expected = 0, met = 0;
  int once = 0,
      refused = 0;  ///< runs of sources that can be read only once, and those of them that need another pass
};
Failures failures();

/// Checks a random program under some configurations. One that fails is made small and written as a C++ file, whose
/// place the message names; it belongs into tests/regress.
void check(const RandomProgram& program, const std::vector<Configuration>& configurations);

/// The programs of tests/regress: the CPU and the simulated GPU, several chunk sizes, passes off, both widths of vectors,
/// and as they failed once.
void check_everywhere(const std::vector<ir::Ref>& program, const Configuration& as_it_failed = {});

}  // namespace anabranch::testing
