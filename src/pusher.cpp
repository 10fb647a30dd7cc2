#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <anabranch/detail/pusher.h>

#include "compiled_run.h"
#include "front/handle.h"
#include "interpreted_run.h"
#include "ir/cancelled.h"
#include "run/pushed_plan.h"
#include "run/sources/pushed_items.h"
#include "run_options.h"
#include "scheduler/clock.h"
#include "scheduler/gather.h"
#include "scheduler/policy.h"

// Programs that are driven by what is pushed into them.
namespace anabranch::detail {

namespace {

scheduler::Gather gather_of(const RunOptions& options, const PushOptions& push) {
  constexpr double longest = 1e9;  // seconds
  const scheduler::Policy policy = scheduler::parse_policy(options.scheduler);
  const std::int64_t ns = push.seconds < longest ? std::llround(push.seconds * 1e9) : scheduler::no_limit;
  return {ns, policy.kind == scheduler::Policy::Kind::fixed ? policy.items : 0};
}

}  // namespace

struct Pusher::Impl {
  RunOptions options;
  PushOptions bounds;
  OnItem on_item;
  std::shared_ptr<runtime::PushedItems> pushed;
  std::unique_ptr<ProgramImpl> program;
  bool gives_items = false;
  std::unique_ptr<RunLog> log;

  // Gathering and computing: one thread at a time.
  std::mutex work;
  std::atomic<std::thread::id> worker{};  ///< whose turn it is
  std::optional<scheduler::Gather> gather;
  std::int64_t most_bytes = std::int64_t{8} << 20;  ///< that are gathered
  std::unique_ptr<CompiledRun> run;
  std::unique_ptr<runtime::PushedPlan> plan;  ///< null: the interpreter computes at the end
  std::string why_ended;                      ///< where it has

  std::atomic<bool> ended = false;  ///< nothing more is taken in

  // What has been computed and not been taken.
  std::mutex results;
  std::condition_variable changed;
  std::deque<std::unique_ptr<runtime::ItemResults>> computed;
  std::deque<ItemData> interpreted;
  std::int64_t waiting = 0, waiting_bytes = 0;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  ~Impl();
  void begin();
  void end(std::string why);
  void fail(const std::exception_ptr& error) noexcept;
  void check_usable() const;
  bool has_room() const;
  void wait_for_room();
  void gather_item(const ItemData& item);
  void compute();
  void give(std::unique_ptr<runtime::ItemResults> chunk);
  bool take_waiting(ItemData& item);
  ItemData finish();
  ItemData interpret();
  void or_fail(scheduler::FunctionRef<void()> f);
};

namespace {

/// While it lives, gathering and computing are this thread's.
template <class Impl>
class Working {
 public:
  explicit Working(Impl& impl) : impl_(impl) {
    if (impl.worker == std::this_thread::get_id())
      throw RunError("push: the function that results are given to cannot use the stream");
    impl.work.lock();
    impl.worker = std::this_thread::get_id();
  }
  ~Working() {
    impl_.worker = std::thread::id();
    impl_.work.unlock();
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Impl& impl_;
};

std::int64_t now() { return scheduler::steady_clock().now_ns(); }

}  // namespace

Pusher::Pusher(const std::vector<std::vector<ScalarType>>& scalars, const std::vector<int>& ranks,
               const Build& build, const RunOptions& options, const PushOptions& push, OnItem on_item,
               Place at)
    : impl_(std::make_unique<Impl>()) {
  check(options);
  check(push);
  Impl& impl = *impl_;
  impl.options = options;
  impl.bounds = push;
  impl.on_item = std::move(on_item);
  impl.gather.emplace(gather_of(options, push));
  impl.pushed = std::make_shared<runtime::PushedItems>(scalars, ranks, at);
  const Handles roots = build(stream_in(impl.pushed, at));
  const CompileOptions compile_options = options_from_environment();
  const ir::Ref first = front::node_of(roots[0]);
  impl.gives_items = first && first->type().is_sequence();
  impl.program = std::make_unique<ProgramImpl>(
      impl.gives_items ? compile_sequence(first, compile_options)
                       : compile_program(front::nodes_of(roots), {}, compile_options),
      compile_options);
  impl.program->require(options.require);
  impl.log = std::make_unique<RunLog>(*impl.program, impl.options, nullptr);
  impl.or_fail([&] { impl.begin(); });
}
Pusher::~Pusher() = default;
Pusher::Pusher(Pusher&&) noexcept = default;
Pusher& Pusher::operator=(Pusher&&) noexcept = default;

void Pusher::Impl::begin() {
  const plan::Plan& compiled = program->compiled().plan;
  if (options.backend == Backend::interpreter) {
    log->report().backend = "interpreter";
    log->report().threads = 1;
    runtime::check_passes_once(compiled, *pushed);
    pushed->keep_all();
    return;
  }
  run = std::make_unique<CompiledRun>(*program, std::vector<HostArray>{}, options, *log,
                                      std::span<const HostArray>{});
  plan = std::make_unique<runtime::PushedPlan>(
      run->context(), run->backend(), *pushed,
      [this](std::unique_ptr<runtime::ItemResults> chunk) { give(std::move(chunk)); });
  if (const scheduler::Budget& budget = run->context().budget; !budget.unlimited()) {
    most_bytes = std::min(most_bytes, budget.available() / 8);
    bounds.bytes = std::min(bounds.bytes, std::max<std::int64_t>(budget.available() / 4, 1));
  }
  on_stop.emplace(options.stop, [this] {
    const std::lock_guard lock(results);
    changed.notify_all();
  });
}

/// Of a stream that was not finished there are a trace and a report, too.
Pusher::Impl::~Impl() {
  on_stop.reset();
  plan.reset();
  try {
    if (run) run->conclude();
    if (log) log->finish();
  } catch (...) {  // NOLINT: there is no caller to tell
  }
}

/// What fails ends the stream, and comes out once.
void Pusher::Impl::or_fail(scheduler::FunctionRef<void()> f) {
  try {
    with_public_errors(f);
  } catch (const std::exception& e) {
    end(fmt::format("the stream has failed: {}", e.what()));
    fail(std::current_exception());
    throw;
  } catch (...) {
    end("the stream has failed");
    fail(std::current_exception());
    throw;
  }
}

/// Results that have been computed are still taken.
void Pusher::Impl::fail(const std::exception_ptr& error) noexcept {
  plan.reset();
  try {
    if (run) run->conclude();
  } catch (...) {  // NOLINT: the run's own error comes first
  }
  log->fail(error);
}

void Pusher::Impl::end(std::string why) {
  why_ended = std::move(why);
  const std::lock_guard lock(results);
  ended = true;
  changed.notify_all();
}

void Pusher::Impl::check_usable() const {
  if (ended) throw RunError("push: " + why_ended);
}

// ---- Taking in

/// Another item is taken in, or refused for another reason. Asked with `results` locked.
bool Pusher::Impl::has_room() const {
  return (waiting < bounds.items && waiting_bytes < bounds.bytes) || ended || options.stop.stop_requested();
}

/// Without the turn, which those who take may need.
void Pusher::Impl::wait_for_room() {
  std::unique_lock lock(results);
  changed.wait(lock, [this] { return has_room(); });
}

bool Pusher::push(const ItemData& item, bool waits) {
  for (const auto& array : item)
    if (!array) throw ProgramError("push: an empty handle was given");
  Impl& impl = *impl_;
  for (;;) {
    {
      const Working working(impl);
      impl.check_usable();
      std::unique_lock lock(impl.results);
      const bool has_room = impl.has_room();
      lock.unlock();
      if (has_room) {
        impl.or_fail([&] { impl.gather_item(item); });
        return true;
      }
    }
    if (!waits) return false;
    impl.wait_for_room();
  }
}

void Pusher::Impl::gather_item(const ItemData& item) {
  if (options.stop.stop_requested()) ir::raise_cancelled();
  if (!plan) return pushed->push(item, INT64_MAX);
  if (plan->over()) return;
  const auto left = [this] { return run->context().budget.available() - pushed->bytes(); };
  if (pushed->items() > 0 && runtime::PushedItems::bytes_of(item) > left()) compute();
  pushed->push(item, left());
  gather->comes(now());
  if (gather->is_due(now()) || pushed->bytes() >= most_bytes) compute();
  gather->returns(now());
}

// ---- Computing

void Pusher::Impl::compute() {
  const std::int64_t items = pushed->items(), begin = now();
  if (items == 0) return;
  plan->advance();
  gather->was_computed(items, now() - begin);
}

void Pusher::Impl::give(std::unique_ptr<runtime::ItemResults> chunk) {
  if (on_item) {
    for (ItemData item; chunk->items() > 0;) {
      chunk->take(item);
      on_item(std::move(item));
    }
    return;
  }
  if (chunk->items() == 0) return;
  const std::lock_guard lock(results);
  waiting += chunk->items();
  waiting_bytes += chunk->bytes();
  computed.push_back(std::move(chunk));
  changed.notify_all();
}

void Pusher::flush() {
  Impl& impl = *impl_;
  const Working working(impl);
  impl.check_usable();
  if (impl.plan) impl.or_fail([&] { impl.compute(); });
}

// ---- Giving out

bool Pusher::Impl::take_waiting(ItemData& item) {
  const std::lock_guard lock(results);
  if (!interpreted.empty()) {
    item = std::move(interpreted.front());
    interpreted.pop_front();
    return true;
  }
  if (computed.empty()) return false;
  computed.front()->take(item);
  --waiting;
  if (computed.front()->items() == 0) {
    waiting_bytes -= computed.front()->bytes();
    computed.pop_front();
  }
  changed.notify_all();
  return true;
}

bool Pusher::take(ItemData& item, bool now_or_never) {
  Impl& impl = *impl_;
  if (impl.take_waiting(item)) return true;
  const Working working(impl);
  if (impl.take_waiting(item)) return true;
  if (impl.ended || !impl.plan) return false;
  if (!now_or_never && !impl.gather->is_due(now())) return false;
  impl.or_fail([&] { impl.compute(); });
  return impl.take_waiting(item);
}

bool Pusher::over() const {
  const Working working(*impl_);
  return impl_->plan && impl_->plan->over();
}

// ---- The end

ItemData Pusher::finish() {
  Impl& impl = *impl_;
  const Working working(impl);
  impl.check_usable();
  ItemData results;
  impl.or_fail([&] { results = impl.finish(); });
  impl.end("the stream is finished");
  return results;
}

ItemData Pusher::Impl::finish() {
  pushed->end();
  if (!plan) return interpret();
  ItemData values = plan->finish();
  plan.reset();
  run->finish();
  return values;
}

ItemData Pusher::Impl::interpret() {
  const Compiled& compiled = program->compiled();
  if (!gives_items) {
    interp::Callbacks callbacks = callbacks_of(options);
    callbacks.on_computed = [this] { log->complete(); };
    callbacks.on_written = [this] { log->finish(); };
    return run_interpreter(compiled, {}, std::move(callbacks), options.stop, {});
  }
  const std::vector<SourcePass> passes = begin_passes(compiled.program);
  interp::ItemStream items(compiled.program[0], options.stop, callbacks_of(options));
  for (ItemData item; items.next(item);)
    if (on_item)
      on_item(std::move(item));
    else
      interpreted.push_back(std::move(item));
  log->finish();
  return {};
}

}  // namespace anabranch::detail
