#include "run_log.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "io/base/path_claim.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "page_data.h"

namespace anabranch::detail {

using runtime::RunTrace;

namespace {

std::shared_ptr<RunTrace> begin_trace(const ProgramImpl& program, const RunOptions& options) {
  if (options.trace.empty()) return nullptr;
  const auto ns = [](double seconds) { return std::llround(seconds * 1e9); };
  std::int64_t before = 0;
  for (const PassTime& pass : program.compiled().times) before += ns(pass.seconds);
  auto trace = std::make_shared<RunTrace>(options.trace, before);
  std::int64_t at = trace->begin_ns() - before;
  for (const PassTime& pass : program.compiled().times) {
    trace->span(RunTrace::Row::passes, pass.pass, at, at + ns(pass.seconds));
    at += ns(pass.seconds);
  }
  return trace;
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

template <class E>
bool is_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  const auto place = [](const std::string& file) {
    return std::filesystem::absolute(file).lexically_normal();
  };
  return !a.empty() && place(a) == place(b);
}

/// What is written about a run may not take the place of what the run writes.
void check_files(const Compiled& compiled, const RunOptions& options) {
  if (options.trace.empty() && options.report.empty()) return;
  for (const ir::Node* node : ir::topological(compiled.program)) {
    if (!ir::is_write(*node)) continue;
    const std::string& file = ir::SinkTerm(ir::Consume(*node).sink()).sink()->info().name;
    for (const auto& [about, what] :
         {std::pair(options.trace, "timeline"), std::pair(options.report, "report")})
      if (is_same_file(about, file))
        throw ProgramError(
            fmt::format("RunOptions: {}: the {} would replace what the program writes there ({})", about,
                        what, to_string(node->place())),
            node->place());
  }
}

}  // namespace

RunLog::RunLog(const ProgramImpl& program, const RunOptions& options, RunReport* report)
    : program_(program),
      options_((check_files(program.compiled(), options), options)),  // before anything is made
      begin_ns_(RunTrace::now_ns()),
      report_(report ? report : &own_),
      trace_(begin_trace(program, options)),
      page_(options.report.empty() ? nullptr : std::make_unique<page::Page>(options.report)),
      record_(begin_ns_) {
  *report_ = RunReport{};
  report_->memory_bound = options.memory;
}

void RunLog::stop_clock() { report_->seconds = static_cast<double>(RunTrace::now_ns() - begin_ns_) * 1e-9; }

void RunLog::tell() {
  RunReport& report = *report_;
  report.front_seconds = program_.front_seconds();
  if (report_ == &own_ && !page_) return;
  if (!std::exchange(told_, true)) record_.tell(report);
}

void RunLog::write_page() {
  if (page_) page_->write(page_data(program_.compiled(), options_, *report_));
}

void RunLog::complete() {
  if (complete_) return;
  stop_clock();
  if (trace_ && !options_.only_failures) trace_->complete();
  tell();
  if (!options_.only_failures) write_page();
  complete_ = true;
}

void RunLog::finish() {
  if (finished_) return;
  complete();
  if (options_.only_failures) {
    trace_.reset();
  } else {
    try {
      if (page_) page_->commit();
      if (trace_) trace_->finish();
    } catch (...) {
      if (page_) page_->undo();
      throw;
    }
  }
  page_.reset();  // with what was there before
  finished_ = true;
}

void RunLog::fail(const std::exception_ptr& error) noexcept {
  if (finished_) return;
  stop_clock();
  try {
    const std::string text = text_of(error);
    report_->error = text;
    report_->cancelled = is_of<Cancelled>(error);
    // Nor does the file about a run take the place of what another run, or this one, would have written.
    if (is_of<io::detail::PathTaken>(error)) {
      trace_.reset();
      page_.reset();
    }
    if (trace_) trace_->fail(text);
    tell();
    write_page();
    if (page_) page_->commit();
  } catch (...) {  // NOLINT: the run's own error comes first
  }
  page_.reset();  // with what was there before
  finished_ = true;
}

}  // namespace anabranch::detail
