#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <unordered_set>

#include <fmt/format.h>

#include <anabranch/run.h>

#include "compile.h"
#include "explain.h"
#include "front/handle.h"
#include "interp/interpret.h"
#include "ir/walk.h"
#include "run/backends/cpu_chunk.h"
#include "run/backends/device_run.h"
#include "run/execute.h"
#include "run/run_trace.h"
#include "scheduler/concurrency.h"
#include "scheduler/threads.h"
#include "system/start_async.h"

// What <anabranch/run.h> declares: programs, runs, streamed-out sequences.
namespace anabranch::detail {

using namespace runtime;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class F>
void for_each_kernel(const plan::Plan& plan, F&& f) {
  const auto group = [&](const plan::Group& g) {
    for (const plan::Step& step : g.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) f(kernel->kernel);
  };
  group(plan.global);
  for (const plan::StagePlan& stage : plan.stages) group(stage.group);
}

/// Who executes: a GPU, where one is wanted and there. `reason`: why not, where the choice was ours.
struct Choice {
  std::shared_ptr<cuda::Device> device;
  bool cpu = true;
  std::string reason;
};
Choice choose(Backend backend) {
  switch (backend) {
    case Backend::cuda:
      return {cuda::Device::get(), false, {}};
    case Backend::cpu_and_cuda:
      return {cuda::Device::get(), true, {}};
    case Backend::automatic:
      try {
        Choice out{cuda::Device::get(), false, {}};
        out.reason = "there is a GPU: " + out.device->facts().name;
        return out;
      } catch (const BackendUnavailable& e) {
        return {nullptr, true, std::string("there is no GPU: ") + e.what()};
      }
    case Backend::cpu:
    case Backend::interpreter:
      break;
  }
  return {};
}

/// Threads of a run on a GPU: reading, enqueueing and waiting overlap even where one thread was asked for.
constexpr int device_threads = 3;
int threads_beside_a_device(int asked) {
  static const int available = scheduler::available_concurrency();
  return std::max(asked > 0 ? asked : available, device_threads);
}

std::unique_ptr<scheduler::Executor> make_executor(int threads) {
#if defined(__SANITIZE_THREAD__)
  return scheduler::make_plain_executor(threads);  // in oneTBB, which is not built with it, it sees races
#else
  return scheduler::make_tbb_executor(threads);
#endif
}

/// What the scheduler and the device throw in the words of the public interface.
template <class F>
auto with_public_errors(F&& f) {
  try {
    return f();
  } catch (const scheduler::BudgetExceeded& e) {
    throw ResourceError(e.what());
  } catch (const scheduler::ChunkTooBig& e) {
    throw ResourceError(e.what());
  } catch (const cuda::DeviceMemoryFull& e) {
    throw ResourceError(e.what());
  } catch (const scheduler::NoThreads& e) {
    throw ResourceError(e.what());
  }
}

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

/// Throws where these options make no sense.
void check(const RunOptions& options) {
  if (options.memory < 0)
    throw ResourceError(fmt::format("RunOptions: a memory bound of {} bytes", options.memory));
  if (options.gpu_memory < 0)
    throw ResourceError(fmt::format("RunOptions: a bound on GPU memory of {} bytes", options.gpu_memory));
  if (options.threads < 0 || options.threads > 4096)
    throw ProgramError(
        fmt::format("RunOptions: 1 to 4096 threads, or 0 for all there are, not {}", options.threads));
  try {
    scheduler::parse_policy(options.scheduler);
  } catch (const std::invalid_argument& e) {
    throw ProgramError(fmt::format("RunOptions: {}", e.what()));
  }
  check_for_backend(options);
}

/// Of the interpreter, for which an item is a chunk.
interp::OnItem progress_of(const RunOptions& options) {
  if (!options.progress) return {};
  return [&report = options.progress](std::int64_t items, std::optional<std::int64_t> total) {
    report({items, total, items});
  };
}

}  // namespace

/// Threads are kept from run to run: an arena for each number of threads that was asked for.
class ProgramImpl {
 public:
  ProgramImpl(Compiled compiled, const CompileOptions& options)
      : compiled_(std::move(compiled)), cache_bytes_(options.caches ? bytes_in_caches() : 0) {
    for (const PassTime& t : compiled_.times) front_seconds_ += t.seconds;
  }

  const Compiled& compiled() const { return compiled_; }
  double front_seconds() const { return front_seconds_; }
  ResultSizes& result_sizes() { return result_sizes_; }
  std::int64_t cache_bytes() const { return cache_bytes_; }

  const Kernels& kernels(RunReport* report, RunTrace* trace) {
    std::call_once(once_, [&] {
      const auto begin = std::chrono::steady_clock::now();
      const cpu::CacheStatistics before = cpu::cache_statistics();
      for_each_kernel(compiled_.plan, [&](const kernel::Kernel& kernel) {
        timed(trace, RunTrace::Row::compiling, kernel.name,
              [&] { kernels_[&kernel] = cpu::compile(kernel); });
      });
      const cpu::CacheStatistics after = cpu::cache_statistics();
      if (report) {
        report->compile_seconds = seconds_since(begin);
        report->kernels_compiled = static_cast<int>(after.compiled - before.compiled);
        report->kernels_from_disk = static_cast<int>(after.from_disk - before.from_disk);
        report->kernels_cached = static_cast<int>(after.hits - before.hits);
      }
    });
    return kernels_;
  }

  /// It is not forever that memory was short.
  static bool failed(const std::shared_future<DeviceKernels>& kernels) {
    if (kernels.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    try {
      kernels.get();
      return false;
    } catch (const std::exception&) {
      return true;
    }
  }

  /// The kernels on the GPU. With `beside`, another thread compiles all that a chunk may need, perhaps beyond
  /// the end of the run; else what every chunk needs is compiled now, and the rest when a chunk asks for it.
  std::shared_future<DeviceKernels> device_kernels(const std::shared_ptr<cuda::Device>& device, bool beside,
                                                   const std::shared_ptr<RunTrace>& trace) {
    const std::lock_guard lock(device_mutex_);
    auto& kernels = device_kernels_[device.get()];
    if (!kernels.valid() || failed(kernels)) {
      DeviceKernels codes;
      for_each_kernel(compiled_.plan, [&](const kernel::Kernel& kernel) {
        codes[&kernel] = std::make_shared<cuda::KernelCode>(device, kernel);
      });
      const auto prepared = [codes, beside, trace] {
        for (const auto& [kernel, code] : codes)
          prepare(trace.get(), *kernel, *code,
                  beside ? cuda::all_entries(*kernel) : cuda::certain_entries(*kernel));
        return codes;
      };
      kernels =
          (beside ? system::start_async(prepared) : std::async(std::launch::deferred, prepared)).share();
    }
    return kernels;
  }

  scheduler::Executor& executor(int threads) {
    const std::lock_guard lock(mutex_);
    auto& executor = executors_[threads];
    if (!executor) executor = with_public_errors([&] { return make_executor(threads); });
    return *executor;
  }

 private:
  Compiled compiled_;
  std::int64_t cache_bytes_;
  double front_seconds_ = 0;
  std::once_flag once_;
  Kernels kernels_;
  std::mutex device_mutex_;
  std::map<const cuda::Device*, std::shared_future<DeviceKernels>> device_kernels_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<scheduler::Executor>> executors_;
  ResultSizes result_sizes_;
};

std::shared_ptr<ProgramImpl> compile(const Handles& results, const Handles& parameters) {
  const CompileOptions options = options_from_environment();
  return std::make_shared<ProgramImpl>(
      compile_program(front::nodes_of(results), front::nodes_of(parameters), options), options);
}

std::string explain(const ProgramImpl& program) { return anabranch::explain(program.compiled()); }

namespace {

/// The interpreter keeps its own books on the passes of one run; what other runs read it cannot know.
std::vector<SourcePass> begin_passes(std::span<const ir::Ref> roots) {
  std::vector<SourcePass> passes;
  std::unordered_set<const SourceBase*> begun;
  for (const ir::Node* reader : ir::topological(roots)) {
    if (reader->op() != ir::Op::consume) continue;
    const ir::Ref from(reader);
    for (const ir::Node* node : ir::topological({&from, 1}))
      if (node->op() == ir::Op::stream_in && begun.insert(node->payload().source.get()).second)
        passes.emplace_back(node->payload().source, reader->place());
  }
  for (const ir::Node* node : ir::topological(roots))
    if (node->op() == ir::Op::stream_in && begun.insert(node->payload().source.get()).second)
      passes.emplace_back(node->payload().source, node->place());
  return passes;
}

/// Moves results into the memory that the caller gives, where it gives any.
std::vector<HostArray> placed(const plan::Plan& plan, std::vector<HostArray> results,
                              const std::vector<HostArray>& into) {
  for (std::size_t r = 0; r < into.size(); ++r) {
    const int array = plan.results[r];
    check_capacity(*into[r], results[r]->size(), *plan.global.arrays[static_cast<std::size_t>(array)].node);
    const HostArray there = in_memory_of(*into[r], results[r]->extents);
    copy_elements(nullptr, *results[r], *there);
    results[r] = there;
  }
  return results;
}

std::vector<HostArray> run_interpreter(ProgramImpl& program, const std::vector<HostArray>& arguments,
                                       const RunOptions& options, const std::vector<HostArray>& into) {
  const plan::Plan& plan = program.compiled().plan;
  check_given_memory(into, inputs_of(plan, arguments));
  std::vector<ir::Ref> values;
  for (const HostArray& a : arguments) values.push_back(ir::use(a));
  std::vector<ir::Ref> roots;
  ir::Rewriter bind([](const ir::Ref&, const ir::Ref& rebuilt) { return rebuilt; });
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) bind.set(plan.parameters[i], values[i]);
  for (const ir::Ref& root : program.compiled().program) roots.push_back(bind(root));
  const std::vector<SourcePass> passes = begin_passes(roots);
  return placed(plan, interp::run(roots, options.stop, progress_of(options)), into);
}

}  // namespace

namespace {

/// Null where no timeline is asked for. It begins with the passes,
/// drawn as though the run had followed at once.
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

/// What a traced run on a GPU knows at its end.
void conclude(DeviceRun& device, RunTrace& trace, RunReport* report) {
  const timeline::OverlapTimes times = device.trace()->overlap();
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  trace.facts()
      .add("copy_seconds", seconds(times.copy_ns))
      .add("kernel_seconds", seconds(times.kernel_ns))
      .add("both_seconds", seconds(times.both_ns))
      .add("overlap", times.share());
  const OffsetCounts& offsets = device.offset_counts();
  if (offsets.by_gpu > 0) trace.facts().add("offsets_by_gpu", offsets.by_gpu);
  if (offsets.by_host > 0)
    trace.facts().add("offsets_by_host", offsets.by_host).add("offsets_by_host_because", offsets.why_host);
  if (!report) return;
  report->gpu_copy_seconds = seconds(times.copy_ns);
  report->gpu_kernel_seconds = seconds(times.kernel_ns);
  report->gpu_both_seconds = seconds(times.both_ns);
  report->gpu_overlap = times.share();
}

std::vector<HostArray> run_compiled(ProgramImpl& program, const std::vector<HostArray>& arguments,
                                    const RunOptions& options, const std::shared_ptr<RunTrace>& trace,
                                    RunReport* report, const std::vector<HostArray>& into) {
  const Choice choice = choose(options.backend);
  const cuda::KeepContext keep(choice.device ? choice.device->shared_api() : nullptr);
  static const Kernels none;
  const Kernels& kernels = choice.cpu ? program.kernels(report, trace.get()) : none;
  scheduler::Executor& executor =
      program.executor(choice.device ? threads_beside_a_device(options.threads) : options.threads);
  scheduler::Budget budget(options.memory > 0 ? options.memory : scheduler::Budget::no_limit);
  auto results = with_public_errors([&] {
    MemoryPool& memory = MemoryPool::of_process();
    std::optional<MemoryPool::BoundedRun> bounded;
    if (!budget.unlimited()) bounded.emplace(memory);
    BlockPool blocks(budget, memory);
    RunContext context{program.compiled().plan, kernels, options, memory, executor, budget, blocks, report};
    context.into = into;
    context.sizes = &program.result_sizes();
    context.cache_bytes = program.cache_bytes();
    context.trace = trace.get();
    if (!choice.device) return execute(context, arguments);
    const cuda::LoadStatistics before = choice.device->load_statistics();
    const auto device_kernels = program.device_kernels(choice.device, choice.cpu, trace);
    if (!choice.cpu) device_kernels.wait();
    DeviceRun device(choice.device, device_kernels, options.gpu_memory, executor, trace.get(), options.stop);
    context.device = &device;
    context.cpu_too = choice.cpu;
    auto out = execute(context, arguments);
    if (report) {
      const cuda::LoadStatistics after = choice.device->load_statistics();
      report->kernels_compiled += after.compiled - before.compiled;
      report->kernels_from_disk += after.from_disk - before.from_disk;
      report->kernels_cached += after.found - before.found;
      report->compile_seconds += (after.milliseconds - before.milliseconds) * 1e-3;
      report->gpu_peak_bytes = device.peak();
      const OffsetCounts& offsets = device.offset_counts();
      report->gpu_offsets = offsets.by_gpu;
      report->gpu_offsets_by_host = offsets.by_host;
      report->gpu_offsets_reason = offsets.why_host;
    }
    if (trace) conclude(device, *trace, report);
    return out;
  });
  if (report) {
    report->backend = !choice.device ? "cpu" : choice.cpu ? "cpu+cuda" : "cuda";
    report->backend_reason = choice.reason;
    report->threads = executor.concurrency();
    report->peak_bytes = budget.peak();
  }
  return results;
}

}  // namespace

std::vector<std::shared_ptr<ArrayData>> run(ProgramImpl& program,
                                            const std::vector<std::shared_ptr<ArrayData>>& arguments,
                                            const RunOptions& options, RunReport* report,
                                            const std::vector<std::shared_ptr<ArrayData>>& into) {
  const auto begin = std::chrono::steady_clock::now();
  check(options);
  if (report) *report = RunReport{};
  const std::shared_ptr<RunTrace> trace = begin_trace(program, options);
  std::vector<std::shared_ptr<ArrayData>> results;
  try {
    if (options.backend == Backend::interpreter) {
      results = run_interpreter(program, arguments, options, into);
      if (report) {
        report->backend = "interpreter";
        report->threads = 1;
      }
    } else {
      results = run_compiled(program, arguments, options, trace, report, into);
    }
    if (trace) trace->finish();
  } catch (...) {
    if (trace) trace->fail(std::current_exception());
    throw;
  }
  if (report) {
    report->front_seconds = program.front_seconds();
    report->seconds = seconds_since(begin);
  }
  return results;
}

// ---- Streaming out

struct ItemReader::Impl {
  std::vector<SourcePass> passes;  ///< of the interpreter
  std::unique_ptr<interp::ItemStream> interpreter;
  std::unique_ptr<ProgramImpl> program;
  RunOptions options;
  std::shared_ptr<const cuda::DriverApi> driver;  ///< null: no GPU
  std::shared_ptr<RunTrace> trace;
  std::unique_ptr<scheduler::Budget> budget;
  std::optional<MemoryPool::BoundedRun> bounded;
  std::unique_ptr<BlockPool> blocks;
  std::unique_ptr<DeviceRun> device;
  std::unique_ptr<RunContext> context;
  std::unique_ptr<ChunkReader> chunks;
  std::vector<std::vector<HostArray>> items;
  std::size_t at = 0;
  std::exception_ptr failed;

  bool next(std::vector<HostArray>& item);
  /// Nothing more will be asked for: the sources are free for others, and so is the GPU.
  void end() {
    const cuda::KeepContext keep(driver);
    items.clear();
    at = 0;
    chunks.reset();
    interpreter.reset();
    passes.clear();
    if (trace && device) conclude(*device, *trace, nullptr);
    device.reset();
  }
  void begin();
  ~Impl();
};

ItemReader::ItemReader(const Handle& sequence, const RunOptions& options) : impl_(std::make_unique<Impl>()) {
  check(options);
  impl_->options = options;
  const CompileOptions compile_options = options_from_environment();
  impl_->program = std::make_unique<ProgramImpl>(compile_sequence(front::node_of(sequence), compile_options),
                                                 compile_options);
  impl_->trace = begin_trace(*impl_->program, options);
  try {
    impl_->begin();
  } catch (...) {
    if (impl_->trace) impl_->trace->fail(std::current_exception());
    throw;
  }
}
ItemReader::~ItemReader() = default;
ItemReader::ItemReader(ItemReader&&) noexcept = default;
ItemReader& ItemReader::operator=(ItemReader&&) noexcept = default;

/// Of a stream that was not read to its end there is a trace, too.
ItemReader::Impl::~Impl() {
  const bool unfinished = chunks || interpreter;
  try {
    end();
    if (trace && unfinished) trace->finish();
  } catch (...) {  // NOLINT: nobody is there to be told
  }
}

void ItemReader::Impl::begin() {
  if (options.backend == Backend::interpreter) {
    const auto& roots = program->compiled().program;
    passes = begin_passes(roots);
    interpreter = std::make_unique<interp::ItemStream>(roots[0], options.stop, progress_of(options));
    return;
  }
  const Choice choice = choose(options.backend);
  if (choice.device) driver = choice.device->shared_api();
  const cuda::KeepContext keep(driver);
  static const Kernels none;
  const Kernels& kernels = choice.cpu ? program->kernels(nullptr, trace.get()) : none;
  budget =
      std::make_unique<scheduler::Budget>(options.memory > 0 ? options.memory : scheduler::Budget::no_limit);
  with_public_errors([&] {
    MemoryPool& memory = MemoryPool::of_process();
    if (!budget->unlimited()) bounded.emplace(memory);
    blocks = std::make_unique<BlockPool>(*budget, memory);
    context.reset(new RunContext{program->compiled().plan, kernels, options, memory,
                                 program->executor(options.threads), *budget, *blocks, nullptr});
    context->cache_bytes = program->cache_bytes();
    context->trace = trace.get();
    if (choice.device) {
      device = std::make_unique<DeviceRun>(choice.device,
                                           program->device_kernels(choice.device, choice.cpu, trace),
                                           options.gpu_memory, context->executor, trace.get(), options.stop);
      context->device = device.get();
      context->cpu_too = choice.cpu;
    }
    chunks = std::make_unique<ChunkReader>(*context, std::vector<HostArray>{});
  });
}

/// Copies the elements of an array that nobody else holds to memory of its own.
void make_own(ArrayData& array) {
  for (std::size_t c = 0; c < array.buffers.size(); ++c) {
    const std::size_t bytes = static_cast<std::size_t>(array.size()) * size_of(array.scalars[c]);
    std::shared_ptr<void> own = allocate_aligned(bytes);
    if (bytes > 0) std::memcpy(own.get(), array.buffers[c].get(), bytes);
    array.buffers[c] = std::move(own);
  }
}

bool ItemReader::Impl::next(std::vector<HostArray>& item) {
  if (interpreter) return interpreter->next(item);
  if (!chunks) return false;
  const cuda::KeepContext keep(driver);
  while (at == items.size()) {
    if (options.stop.stop_requested()) throw Cancelled("the run was cancelled");
    at = 0;
    if (!with_public_errors([&] { return chunks->next(items); })) return false;
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
    if (impl_->trace) impl_->trace->fail(impl_->failed);
    throw;
  }
  impl_->end();
  if (impl_->trace) impl_->trace->finish();
  return false;
}

}  // namespace anabranch::detail
