#include <algorithm>
#include <chrono>
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
#include "run/chunk_run.h"
#include "run/device_run.h"
#include "run/execute.h"
#include "scheduler/concurrency.h"

// What <anabranch/run.h> declares: programs, runs, streamed-out sequences.
namespace anabranch::detail {

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

/// A budget refusal in the words of the public interface.
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
  }
}

/// Throws where these options make no sense, on every back end alike.
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
}

std::vector<HostArray> as_arrays(const std::vector<std::shared_ptr<ArrayData>>& arguments) {
  return arguments;
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
  PagePool& pages() { return *pages_; }
  std::int64_t cache_bytes() const { return cache_bytes_; }

  const Kernels& kernels(RunReport* report) {
    std::call_once(once_, [&] {
      const auto begin = std::chrono::steady_clock::now();
      const cpu::CacheStatistics before = cpu::cache_statistics();
      for_each_kernel(compiled_.plan,
                      [&](const plan::Kernel& kernel) { kernels_[&kernel] = cpu::compile(kernel); });
      const cpu::CacheStatistics after = cpu::cache_statistics();
      if (report) {
        report->compile_seconds = seconds_since(begin);
        report->kernels_compiled = static_cast<int>(after.compiled - before.compiled);
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

  /// The kernels on the GPU, compiled when first asked for; with `beside`, on another thread.
  std::shared_future<DeviceKernels> device_kernels(const std::shared_ptr<cuda::Device>& device, bool beside) {
    const std::lock_guard lock(device_mutex_);
    auto& kernels = device_kernels_[device.get()];
    if (!kernels.valid() || failed(kernels)) {
      kernels = std::async(beside ? std::launch::async : std::launch::deferred, [this, device] {
                  DeviceKernels loaded;
                  for_each_kernel(compiled_.plan, [&](const plan::Kernel& kernel) {
                    loaded[&kernel] = device->load(cuda::generate(kernel), kernel.name);
                  });
                  return loaded;
                }).share();
    }
    return kernels;
  }

  scheduler::Executor& executor(int threads) {
    const std::lock_guard lock(mutex_);
    auto& executor = executors_[threads];
    if (!executor) executor = make_executor(threads);
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
  std::shared_ptr<PagePool> pages_ = std::make_shared<PagePool>();
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

std::vector<HostArray> run_interpreter(ProgramImpl& program, const std::vector<HostArray>& arguments,
                                       const RunOptions& options) {
  std::vector<ir::Ref> values;
  for (const HostArray& a : arguments) values.push_back(ir::use(a));
  std::vector<ir::Ref> roots;
  ir::Rewriter bind([](const ir::Ref&, const ir::Ref& rebuilt) { return rebuilt; });
  const auto& parameters = program.compiled().plan.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) bind.set(parameters[i], values[i]);
  for (const ir::Ref& root : program.compiled().program) roots.push_back(bind(root));
  const std::vector<SourcePass> passes = begin_passes(roots);
  return interp::run(roots, options.stop);
}

}  // namespace

std::vector<std::shared_ptr<ArrayData>> run(ProgramImpl& program,
                                            const std::vector<std::shared_ptr<ArrayData>>& arguments,
                                            const RunOptions& options, RunReport* report) {
  const auto begin = std::chrono::steady_clock::now();
  check(options);
  if (report) *report = RunReport{};
  std::vector<std::shared_ptr<ArrayData>> results;
  if (options.backend == Backend::interpreter) {
    results = run_interpreter(program, as_arrays(arguments), options);
    if (report) {
      report->backend = "interpreter";
      report->threads = 1;
    }
  } else {
    const Choice choice = choose(options.backend);
    static const Kernels none;
    const Kernels& kernels = choice.cpu ? program.kernels(report) : none;
    scheduler::Executor& executor =
        program.executor(choice.device ? threads_beside_a_device(options.threads) : options.threads);
    scheduler::Budget budget(options.memory > 0 ? options.memory : scheduler::Budget::kUnlimited);
    results = with_public_errors([&] {
      BlockPool blocks(budget);
      RunContext context{
          program.compiled().plan, kernels, options, program.pages(), executor, budget, blocks, report};
      context.cache_bytes = program.cache_bytes();
      if (!choice.device) return execute(context, as_arrays(arguments));
      const auto compiling = std::chrono::steady_clock::now();
      const cuda::LoadStatistics before = choice.device->load_statistics();
      const auto device_kernels = program.device_kernels(choice.device, choice.cpu);
      if (!choice.cpu) {
        device_kernels.wait();
        if (report) report->compile_seconds += seconds_since(compiling);
      }
      DeviceRun device(choice.device, device_kernels, options.gpu_memory);
      context.device = &device;
      context.cpu_too = choice.cpu;
      auto out = execute(context, as_arrays(arguments));
      if (report) {
        const cuda::LoadStatistics after = choice.device->load_statistics();
        report->kernels_compiled += after.compiled - before.compiled;
        report->kernels_cached += after.found - before.found;
        report->gpu_peak_bytes = device.peak();
      }
      return out;
    });
    if (report) {
      report->backend = !choice.device ? "cpu" : choice.cpu ? "cpu+cuda" : "cuda";
      report->backend_reason = choice.reason;
      report->threads = executor.concurrency();
      report->peak_bytes = budget.peak();
    }
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
  std::unique_ptr<scheduler::Budget> budget;
  std::unique_ptr<BlockPool> blocks;
  std::unique_ptr<DeviceRun> device;
  std::unique_ptr<RunContext> context;
  std::unique_ptr<ChunkReader> chunks;
  std::vector<std::vector<HostArray>> items;
  std::size_t at = 0;
  std::exception_ptr failed;

  bool next(std::vector<HostArray>& item);
  /// The sources are free for others.
  void end() {
    items.clear();
    at = 0;
    chunks.reset();
    interpreter.reset();
    passes.clear();
  }
};

ItemReader::ItemReader(const Handle& sequence, const RunOptions& options) : impl_(std::make_unique<Impl>()) {
  check(options);
  impl_->options = options;
  const CompileOptions compile_options = options_from_environment();
  impl_->program = std::make_unique<ProgramImpl>(compile_sequence(front::node_of(sequence), compile_options),
                                                 compile_options);
  if (options.backend == Backend::interpreter) {
    const auto& roots = impl_->program->compiled().program;
    impl_->passes = begin_passes(roots);
    impl_->interpreter = std::make_unique<interp::ItemStream>(roots[0], options.stop);
    return;
  }
  ProgramImpl& program = *impl_->program;
  const Choice choice = choose(options.backend);
  static const Kernels none;
  const Kernels& kernels = choice.device ? none : program.kernels(nullptr);
  impl_->budget = std::make_unique<scheduler::Budget>(options.memory > 0 ? options.memory
                                                                         : scheduler::Budget::kUnlimited);
  with_public_errors([&] {
    impl_->blocks = std::make_unique<BlockPool>(*impl_->budget);
    impl_->context.reset(new RunContext{program.compiled().plan, kernels, impl_->options, program.pages(),
                                        program.executor(options.threads), *impl_->budget, *impl_->blocks,
                                        nullptr});
    impl_->context->cache_bytes = program.cache_bytes();
    if (choice.device) {
      impl_->device = std::make_unique<DeviceRun>(choice.device, program.device_kernels(choice.device, false),
                                                  options.gpu_memory);
      impl_->context->device = impl_->device.get();
      impl_->context->cpu_too = false;
    }
    impl_->chunks = std::make_unique<ChunkReader>(*impl_->context, std::vector<HostArray>{});
  });
}
ItemReader::~ItemReader() = default;
ItemReader::ItemReader(ItemReader&&) noexcept = default;
ItemReader& ItemReader::operator=(ItemReader&&) noexcept = default;

bool ItemReader::Impl::next(std::vector<HostArray>& item) {
  if (interpreter) return interpreter->next(item);
  if (!chunks) return false;
  while (at == items.size()) {
    if (options.stop.stop_requested()) throw Cancelled("the run was cancelled");
    at = 0;
    if (!with_public_errors([&] { return chunks->next(items); })) return false;
  }
  item = std::move(items[at++]);
  return true;
}

bool ItemReader::next(std::vector<std::shared_ptr<ArrayData>>& item) {
  if (impl_->failed) std::rethrow_exception(impl_->failed);
  try {
    if (impl_->next(item)) return true;
  } catch (...) {
    impl_->failed = std::current_exception();
    impl_->end();
    throw;
  }
  impl_->end();
  return false;
}

}  // namespace anabranch::detail
