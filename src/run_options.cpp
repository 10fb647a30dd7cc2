#include "run_options.h"

#include <stdexcept>

#include <fmt/format.h>

#include <anabranch/error.h>

#include "scheduler/policy.h"

namespace anabranch {

namespace {

/// What a back end has no use for is refused, never ignored.
void check_for_backend(const RunOptions& options) {
  const bool interpreter = options.backend == Backend::interpreter;
  if (options.gpu_memory > 0 && (interpreter || options.backend == Backend::cpu))
    throw ProgramError(
        fmt::format("RunOptions: gpu_memory bounds what lies on a GPU, and the back end {} uses none",
                    interpreter ? "interpreter" : "cpu"));
  if (!interpreter) return;
  if (options.threads > 1)
    throw ProgramError(
        fmt::format("RunOptions: {} threads, and the interpreter runs on one", options.threads));
  if (options.memory > 0)
    throw ProgramError(
        fmt::format("RunOptions: a memory bound of {} bytes, and the interpreter keeps none; leave it 0",
                    options.memory));
  const scheduler::Policy policy = scheduler::parse_policy(options.scheduler);
  if (policy != scheduler::Policy::adaptive() && policy != scheduler::Policy::fixed(1))
    throw ProgramError(
        fmt::format("RunOptions: the scheduler {} decides how many items make a chunk, and the interpreter "
                    "takes items one by one",
                    options.scheduler));
}

}  // namespace

void check(const RunOptions& options) {
  if (options.memory < 0)
    throw ProgramError(fmt::format("RunOptions: a memory bound of {} bytes", options.memory));
  if (options.gpu_memory < 0)
    throw ProgramError(fmt::format("RunOptions: a bound on GPU memory of {} bytes", options.gpu_memory));
  if (options.threads < 0 || options.threads > 4096)
    throw ProgramError(
        fmt::format("RunOptions: 1 to 4096 threads, or 0 for all there are, not {}", options.threads));
  try {
    scheduler::parse_policy(options.scheduler);
  } catch (const std::invalid_argument& e) {
    throw ProgramError(fmt::format("RunOptions: {}", e.what()));
  }
  check_for_backend(options);
  if (!options.trace.empty() && options.trace == options.report)
    throw ProgramError(
        fmt::format("RunOptions: {}: the timeline and the report cannot go to one file", options.trace));
  if (options.only_failures && options.trace.empty() && options.report.empty())
    throw ProgramError("RunOptions: only_failures, and neither a timeline nor a report is asked for");
}

void check(const ReadAhead& ahead, const RunOptions& options) {
  const auto refuse = [](const auto& bound, const char* what) {
    throw ProgramError(fmt::format("ReadAhead: {} {}", bound, what));
  };
  if (ahead.items < 0) refuse(ahead.items, "items; 0 reads nothing ahead");
  if (ahead.bytes < 0) refuse(ahead.bytes, "bytes; 0 reads nothing ahead");
  if (!(ahead.seconds >= 0)) refuse(ahead.seconds, "seconds; 0 reads nothing ahead");
  const bool nothing = ahead.items == 0 || ahead.bytes == 0 || ahead.seconds == 0;
  const std::int64_t items = nothing ? 0 : ahead.items;
  if (options.backend == Backend::interpreter && items > 0)
    throw ProgramError(
        fmt::format("ReadAhead: {} items, and the interpreter reads nothing ahead; leave it out", items));
  const scheduler::Policy policy = scheduler::parse_policy(options.scheduler);
  if (policy.kind == scheduler::Policy::Kind::fixed && policy.items - 1 > items)
    throw ProgramError(fmt::format(
        "ReadAhead: the scheduler {} reads {} items beyond the first one of a chunk, and {} may be ahead",
        options.scheduler, policy.items - 1, items));
}

void check(const PushOptions& push) {
  const auto refuse = [](const auto& bound, const char* what) {
    throw ProgramError(fmt::format("PushOptions: {} {}", bound, what));
  };
  if (!(push.seconds >= 0)) refuse(push.seconds, "seconds; 0 computes each item at once");
  if (push.items < 1) refuse(push.items, "items that may wait to be taken; at least 1");
  if (push.bytes < 1) refuse(push.bytes, "bytes that may wait to be taken; at least 1");
}

}  // namespace anabranch
