#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <anabranch/run.h>

#include "apps/common/interrupt.h"
#include "apps/common/progress_line.h"

/// The options of a run on the command line: the same for every subcommand that runs a program.
namespace CLI {
class App;
}

namespace anabranch::apps {

struct RunChoice {
  Backend backend = Backend::cpu;
  int threads = 0;              ///< 0: all this process may use
  std::int64_t memory = 0;      ///< 0: half of the memory that this process may use
  std::int64_t gpu_memory = 0;  ///< 0: nine tenths of what is free there
  std::string scheduler;
  std::string trace;   ///< of the last run; empty: none is written
  std::string report;  ///< likewise
  int repeat = 1;
  ShowProgress progress = ShowProgress::on_terminals;
  bool stats = false;
  bool json = false;

  bool chunks() const {
    return backend != Backend::interpreter;
  }  ///< else there is neither scheduler nor bound
  std::int64_t memory_bound() const;
  /// For the library, without what is written of the last run.
  RunOptions options(const Interrupt& interrupt) const;
};

/// Adds them to a subcommand.
class RunChoiceOptions {
 public:
  /// `memory`: what the bound on memory is for. `items`: what the stream's items are. `explain`: whether the program is to be
  /// explained, and nothing run.
  RunChoiceOptions(CLI::App& sub, const std::string& memory, const std::string& items, bool& explain);
  /// To be called when the command line has been read. UsageError where options contradict each other, or have no effect beside
  /// the others. `results`: the subcommand's options for what becomes of a run's result, of which there is none with --explain.
  RunChoice chosen(std::initializer_list<const char*> results = {}) const;

 private:
  struct Given;
  std::shared_ptr<Given> given_;
};

}  // namespace anabranch::apps
