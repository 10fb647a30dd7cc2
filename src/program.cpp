#include "program.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "compiled_run.h"
#include "explain.h"
#include "front/handle.h"
#include "interpreted_run.h"
#include "ir/walk.h"
#include "run/execute.h"
#include "run_log.h"
#include "run_options.h"

namespace anabranch::detail {

namespace {

std::unique_ptr<scheduler::Executor> make_executor(int threads) {
#if defined(__SANITIZE_THREAD__)
  return scheduler::make_plain_executor(threads);  // in oneTBB, which is not built with it, it sees races
#else
  return scheduler::make_tbb_executor(threads);
#endif
}

}  // namespace

ProgramImpl::ProgramImpl(Compiled compiled, const CompileOptions& options)
    : compiled_(std::move(compiled)),
      options_(options),
      kernels_(runtime::make_program_kernels(compiled_.plan)) {
  for (const PassTime& t : compiled_.times) front_seconds_ += t.seconds;
}

void ProgramImpl::require(Expect expected) const {
  if ((met_.load(std::memory_order_relaxed) & expected) == expected) return;
  anabranch::require(compiled_, expected);
  // Several threads may find out at once: one that forgets what another found does no harm.
  met_.store(met_.load(std::memory_order_relaxed) | expected, std::memory_order_relaxed);
}

bool ProgramImpl::prints() const {
  const auto nodes = ir::topological(compiled_.program);
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const ir::Node* node) { return node->op() == ir::Op::trace; });
}

scheduler::Executor& ProgramImpl::executor(int threads) {
  const std::lock_guard lock(mutex_);
  auto& executor = executors_[threads];
  if (!executor) executor = make_executor(threads);
  return *executor;
}

// ---- What <anabranch/run.h> declares

std::shared_ptr<ProgramImpl> compile(const Handles& results, const Handles& parameters) {
  const CompileOptions options = options_from_environment();
  return std::make_shared<ProgramImpl>(
      compile_program(front::nodes_of(results), front::nodes_of(parameters), options), options);
}

std::string explain(const ProgramImpl& program, Explain form) {
  return anabranch::explain(program.compiled(), form);
}

void require(const ProgramImpl& program, Expect expected) { program.require(expected); }

namespace {

using Arrays = std::vector<std::shared_ptr<ArrayData>>;

/// What a run is given, or gives, must be of this node's type.
void check_type(const std::shared_ptr<ArrayData>& array, const ir::Node& node, const std::string& what) {
  const auto refuse = [&](const std::string& given) {
    throw ProgramError(fmt::format("run: {} is {}, and should be a {} ({})", what, given,
                                   ir::to_string(node.type()), to_string(node.place())),
                       node.place());
  };
  if (!array) refuse("an empty handle");
  const ir::Type given = ir::Type::array(static_cast<int>(array->extents.size()), array->scalars);
  if (given != node.type()) refuse("a " + ir::to_string(given));
}

/// Throws ProgramError where a run is given other arguments than the program has parameters.
void check_arguments(const plan::Plan& plan, const Arrays& arguments) {
  if (arguments.size() != plan.parameters.size())
    throw ProgramError(fmt::format("run: the program takes {} arguments, it is given {}",
                                   plan.parameters.size(), arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    check_type(arguments[i], *plan.parameters[i], fmt::format("argument {}", i));
}

/// And where the memory that it is given is not that of its results.
void check_memory(const plan::Plan& plan, const Arrays& into) {
  if (into.empty()) return;
  if (into.size() != plan.results.size())
    throw ProgramError(fmt::format("run: the program gives {} results, there is memory for {}",
                                   plan.results.size(), into.size()));
  for (std::size_t r = 0; r < into.size(); ++r)
    check_type(into[r], *plan.global.arrays[static_cast<std::size_t>(plan.results[r])].node,
               fmt::format("the memory for result {}", r));
}

Arrays run_interpreted(ProgramImpl& program, const Arrays& arguments, const RunOptions& options, RunLog& log,
                       const Arrays& into) {
  log.report().backend = "interpreter";
  log.report().threads = 1;
  for (const auto& argument : arguments) bring_home(*argument);
  interp::Callbacks callbacks = callbacks_of(options);
  callbacks.on_computed = [&log] { log.complete(); };
  callbacks.on_written = [&log] { log.finish(); };
  return run_interpreter(program.compiled(), arguments, std::move(callbacks), options.stop, into);
}

Arrays run_compiled(ProgramImpl& program, const Arrays& arguments, const RunOptions& options, RunLog& log,
                    const Arrays& into, ResultsIn results_in) {
  Arrays results;
  with_public_errors([&] {
    CompiledRun run(program, arguments, options, log, into, results_in);
    results = runtime::execute(run.context(), run.backend(), arguments);
    run.finish();
  });
  return results;
}

}  // namespace

void prepare(ProgramImpl& program, const RunOptions& options) {
  check(options);
  program.require(options.require);
  if (options.backend == Backend::interpreter) return;
  RunOptions quiet;  // nothing is told of it
  quiet.backend = options.backend == Backend::automatic ? Backend::cpu : options.backend;
  quiet.threads = options.threads;
  quiet.stop = options.stop;
  RunLog log(program, quiet, nullptr);
  with_public_errors([&] { const CompiledRun run(program, {}, quiet, log, {}); });
}

Arrays run(ProgramImpl& program, const Arrays& arguments, const RunOptions& options, RunReport* report,
           const Arrays& into, ResultsIn results_in) {
  check(options);
  program.require(options.require);
  check_arguments(program.compiled().plan, arguments);
  check_memory(program.compiled().plan, into);
  RunLog log(program, options, report);
  Arrays results;
  try {
    results = options.backend == Backend::interpreter
                  ? run_interpreted(program, arguments, options, log, into)
                  : run_compiled(program, arguments, options, log, into, results_in);
    log.finish();
  } catch (...) {
    log.fail(std::current_exception());
    throw;
  }
  return results;
}

}  // namespace anabranch::detail
