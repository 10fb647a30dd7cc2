#include <cstring>
#include <exception>

#include <anabranch/run.h>

#include "compiled_run.h"
#include "front/handle.h"
#include "interpreted_run.h"
#include "ir/cancelled.h"
#include "run/chunk_reader.h"
#include "run_options.h"

// Streaming out: items are computed chunk by chunk as they are asked for.
namespace anabranch::detail {

struct ItemReader::Impl {
  RunOptions options;
  std::unique_ptr<ProgramImpl> program;
  std::unique_ptr<RunLog> log;
  // On the interpreter.
  std::vector<SourcePass> passes;
  std::unique_ptr<interp::ItemStream> interpreter;
  // On any other back end.
  std::unique_ptr<CompiledRun> run;
  std::unique_ptr<runtime::ChunkReader> chunks;
  std::vector<std::vector<HostArray>> items;  ///< of the present chunk
  std::size_t at = 0;                         ///< the next of them
  std::exception_ptr failed;

  void begin();
  bool next(std::vector<HostArray>& item);
  /// No more items will be read: releases the sources and what the back end holds.
  void end();
  ~Impl();
};

ItemReader::ItemReader(const Handle& sequence, const RunOptions& options) : impl_(std::make_unique<Impl>()) {
  check(options);
  impl_->options = options;
  const CompileOptions compile_options = options_from_environment();
  impl_->program = std::make_unique<ProgramImpl>(compile_sequence(front::node_of(sequence), compile_options),
                                                 compile_options);
  impl_->program->require(options.require);
  impl_->log = std::make_unique<RunLog>(*impl_->program, impl_->options, nullptr);
  try {
    impl_->begin();
  } catch (...) {
    impl_->log->fail(std::current_exception());
    throw;
  }
}
ItemReader::~ItemReader() = default;
ItemReader::ItemReader(ItemReader&&) noexcept = default;
ItemReader& ItemReader::operator=(ItemReader&&) noexcept = default;

void ItemReader::Impl::begin() {
  if (options.backend == Backend::interpreter) {
    log->report().backend = "interpreter";
    log->report().threads = 1;
    const auto& roots = program->compiled().program;
    passes = begin_passes(roots);
    interpreter = std::make_unique<interp::ItemStream>(roots[0], options.stop, callbacks_of(options));
    return;
  }
  with_public_errors([&] {
    run = std::make_unique<CompiledRun>(*program, options, *log, std::span<const HostArray>{});
    chunks = std::make_unique<runtime::ChunkReader>(run->context(), run->backend(), std::vector<HostArray>{});
  });
}

void ItemReader::Impl::end() {
  items.clear();
  at = 0;
  chunks.reset();
  interpreter.reset();
  passes.clear();
  if (run) run->conclude();
  run.reset();
}

/// Of a stream that was not read to its end there are a trace and a report, too.
ItemReader::Impl::~Impl() {
  const bool unfinished = chunks || interpreter;
  try {
    end();
    if (unfinished) log->finish();
  } catch (...) {  // NOLINT: there is no caller to tell
  }
}

namespace {

/// Copies the elements of an array that has no other owner to memory of its own.
void make_own(ArrayData& array) {
  for (std::size_t c = 0; c < array.buffers.size(); ++c) {
    const std::size_t bytes = static_cast<std::size_t>(array.size()) * size_of(array.scalars[c]);
    std::shared_ptr<void> own = allocate_aligned(bytes);
    if (bytes > 0) std::memcpy(own.get(), array.buffers[c].get(), bytes);
    array.buffers[c] = std::move(own);
  }
}

}  // namespace

bool ItemReader::Impl::next(std::vector<HostArray>& item) {
  if (interpreter) return interpreter->next(item);
  if (!chunks) return false;
  while (at == items.size()) {
    if (options.stop.stop_requested()) ir::raise_cancelled();
    at = 0;
    bool more = false;
    with_public_errors([&] { more = chunks->next(items); });
    if (!more) return false;
  }
  item = std::move(items[at++]);
  // Items own their elements, and none that is kept keeps all of its chunk.
  if (items.size() > 1)
    for (const HostArray& array : item) make_own(*array);
  return true;
}

bool ItemReader::next(std::vector<std::shared_ptr<ArrayData>>& item) {
  if (impl_->failed) std::rethrow_exception(impl_->failed);
  try {
    if (impl_->next(item)) return true;
  } catch (...) {
    impl_->failed = std::current_exception();
    impl_->end();
    impl_->log->fail(impl_->failed);
    throw;
  }
  impl_->end();
  impl_->log->finish();
  return false;
}

}  // namespace anabranch::detail
