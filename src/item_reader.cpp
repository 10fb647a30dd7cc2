#include <exception>
#include <functional>
#include <optional>
#include <stop_token>

#include <anabranch/run.h>

#include "compiled_run.h"
#include "front/handle.h"
#include "interpreted_run.h"
#include "run/item_stream.h"
#include "run_options.h"

// Streaming out: items are computed chunk by chunk, ahead of whoever asks for them.
namespace anabranch::detail {

struct ItemReader::Impl {
  RunOptions options;  ///< whose stop token is that of `stop`
  std::unique_ptr<ProgramImpl> program;
  std::unique_ptr<RunLog> log;
  /// Requested when the user asks for it, and when no more items will be read.
  std::stop_source stop;
  std::optional<std::stop_callback<std::function<void()>>> users_stop;
  // On the interpreter.
  std::vector<SourcePass> passes;
  std::unique_ptr<interp::ItemStream> interpreter;
  // On any other back end.
  std::unique_ptr<CompiledRun> run;
  std::unique_ptr<runtime::ItemStream> items;
  std::exception_ptr failed;

  void begin(const std::optional<ReadAhead>& ahead);
  bool next(std::vector<HostArray>& item);
  /// No more items will be read: releases the sources and what the back end holds.
  void end();
  /// The same, where this is why; from then on every call says so.
  void fail(const std::exception_ptr& error);
  ~Impl();
};

ItemReader::ItemReader(const Handle& sequence, const RunOptions& options,
                       const std::optional<ReadAhead>& ahead)
    : impl_(std::make_unique<Impl>()) {
  check(options);
  if (ahead) check(*ahead, options);
  impl_->options = options;
  impl_->options.stop = impl_->stop.get_token();
  const CompileOptions compile_options = options_from_environment();
  impl_->program = std::make_unique<ProgramImpl>(compile_sequence(front::node_of(sequence), compile_options),
                                                 compile_options);
  impl_->program->require(options.require);
  impl_->log = std::make_unique<RunLog>(*impl_->program, impl_->options, nullptr);
  impl_->users_stop.emplace(options.stop, [impl = impl_.get()] { impl->stop.request_stop(); });
  try {
    impl_->begin(ahead);
  } catch (...) {
    impl_->fail(std::current_exception());
    throw;
  }
}
ItemReader::~ItemReader() = default;
ItemReader::ItemReader(ItemReader&&) noexcept = default;
ItemReader& ItemReader::operator=(ItemReader&&) noexcept = default;

void ItemReader::Impl::begin(const std::optional<ReadAhead>& ahead) {
  const auto& roots = program->compiled().program;
  if (options.backend == Backend::interpreter) {
    log->report().backend = "interpreter";
    log->report().threads = 1;
    passes = begin_passes(roots);
    interpreter = std::make_unique<interp::ItemStream>(roots[0], options.stop, callbacks_of(options));
    return;
  }
  with_public_errors([&] {
    run = std::make_unique<CompiledRun>(*program, std::vector<HostArray>{}, options, *log,
                                        std::span<const HostArray>{});
    items = std::make_unique<runtime::ItemStream>(run->context(), run->backend(), ahead);
  });
}

void ItemReader::Impl::end() {
  users_stop.reset();
  stop.request_stop();
  items.reset();
  interpreter.reset();
  passes.clear();
  if (run) run->conclude();
  run.reset();
}

void ItemReader::Impl::fail(const std::exception_ptr& error) {
  failed = error;
  try {
    end();
  } catch (...) {  // NOLINT: what failed first is told
  }
  log->fail(error);
}

/// Of a stream that was not read to its end there are a trace and a report, too.
ItemReader::Impl::~Impl() {
  const bool unfinished = items || interpreter;
  try {
    end();
    if (unfinished) log->finish();
  } catch (...) {  // NOLINT: there is no caller to tell
  }
}

bool ItemReader::Impl::next(std::vector<HostArray>& item) {
  if (interpreter) return interpreter->next(item);
  if (!items) return false;
  bool more = false;
  with_public_errors([&] { more = items->next(item); });
  return more;
}

bool ItemReader::next(std::vector<std::shared_ptr<ArrayData>>& item) {
  if (impl_->failed) std::rethrow_exception(impl_->failed);
  try {
    if (impl_->next(item)) return true;
    impl_->end();
    impl_->log->finish();
    return false;
  } catch (...) {
    impl_->fail(std::current_exception());
    throw;
  }
}

}  // namespace anabranch::detail
