#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include <anabranch/run.h>

#include "page/page.h"
#include "program.h"
#include "run/record/run_record.h"
#include "run/record/run_trace.h"

/// What is kept of a run while it goes on, and told when it ends, however it ends.
namespace anabranch::detail {

class RunLog {
 public:
  /// Creates the files that the options ask for, or throws IoError. `report`: where the caller wants to be told; or null.
  /// Program and options live as long as the log.
  RunLog(const ProgramImpl& program, const RunOptions& options, RunReport* report);

  /// Null where none is asked for. It begins with the passes, drawn as though the run had followed at once.
  const std::shared_ptr<runtime::RunTrace>& trace() const { return trace_; }
  runtime::RunRecord& record() { return record_; }
  /// Of the run as a whole.
  RunReport& report() { return *report_; }

  /// All is well: tells the caller. The files are whole, but not yet in place; unless there will be none.
  void complete();
  /// Puts them in place, both or, where one throws, none, and completes them before unless that has been done.
  void finish();
  /// The same for a run that failed. Does not throw: the run's own error is the one to be seen.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  /// What is written about the run afterwards is no time of it.
  void stop_clock();
  void tell();
  void write_page();

  const ProgramImpl& program_;
  const RunOptions& options_;
  const std::int64_t begin_ns_;
  RunReport own_;
  RunReport* const report_;
  std::shared_ptr<runtime::RunTrace> trace_;
  std::unique_ptr<page::Page> page_;  ///< null: none is asked for
  runtime::RunRecord record_;
  bool told_ = false, complete_ = false, finished_ = false;
};

}  // namespace anabranch::detail
