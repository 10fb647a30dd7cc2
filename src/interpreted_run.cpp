#include "interpreted_run.h"

#include <chrono>
#include <unordered_set>

#include "ir/walk.h"
#include "run/context/global_values.h"
#include "run/context/results.h"
#include "run/record/print_line.h"

namespace anabranch {

std::vector<SourcePass> begin_passes(std::span<const ir::Ref> roots) {
  std::vector<SourcePass> passes;
  std::unordered_set<const SourceBase*> begun;
  ir::NodeSet seen;
  for (const ir::Node* reader : ir::topological(roots)) {
    if (reader->op() != ir::Op::consume) continue;
    const ir::Ref from(reader);
    for (const ir::Node* node :
         ir::topological({&from, 1}, [&](const ir::Node& n) { return !seen.contains(&n); })) {
      seen.insert(node);
      if (node->op() == ir::Op::stream_in && begun.insert(node->payload().source.get()).second)
        passes.emplace_back(node->payload().source, reader->place());
    }
  }
  for (const ir::Node* node : ir::topological(roots))
    if (node->op() == ir::Op::stream_in && begun.insert(node->payload().source.get()).second)
      passes.emplace_back(node->payload().source, node->place());
  for (SourcePass& pass : passes) pass.reads();  // once all of them are open
  return passes;
}

interp::Callbacks callbacks_of(const RunOptions& options) {
  interp::Callbacks callbacks;
  if (options.progress)
    callbacks.on_item = [&report = options.progress, begin = std::chrono::steady_clock::now()](
                            std::int64_t items, std::optional<std::int64_t> total) {
      const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
      report({.items = items, .total_items = total, .chunks = items, .seconds = since.count()});
    };
  callbacks.on_line = [&options, printer = std::make_shared<runtime::LinePrinter>()](std::string_view line) {
    printer->print(options, line);
  };
  return callbacks;
}

namespace {

/// Moves results into the memory that the caller gives, where it gives any.
void place(const plan::Plan& plan, const std::vector<HostArray>& into, std::vector<HostArray>& results) {
  for (std::size_t r = 0; r < into.size(); ++r) {
    const int array = plan.results[r];
    runtime::check_capacity(*into[r], results[r]->size(),
                            *plan.global.arrays[static_cast<std::size_t>(array)].node);
    const HostArray given = runtime::in_memory_of(*into[r], results[r]->extents);
    runtime::copy_elements(nullptr, *results[r], *given);
    results[r] = given;
  }
}

}  // namespace

std::vector<HostArray> run_interpreter(const Compiled& program, const std::vector<HostArray>& arguments,
                                       interp::Callbacks callbacks, const std::stop_token& stop,
                                       const std::vector<HostArray>& into) {
  const plan::Plan& plan = program.plan;
  runtime::check_given_memory(into, runtime::inputs_of(plan, arguments));
  std::vector<ir::Ref> values;
  for (const HostArray& a : arguments) values.push_back(ir::use(a));
  std::vector<ir::Ref> roots;
  ir::Rewriter bind([](const ir::Ref&, const ir::Ref& rebuilt) { return rebuilt; });
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) bind.set(plan.parameters[i], values[i]);
  for (const ir::Ref& root : program.program) roots.push_back(bind(root));
  const std::vector<SourcePass> passes = begin_passes(roots);
  callbacks.on_values = [&](std::vector<HostArray>& results) { place(plan, into, results); };
  return interp::run(roots, stop, std::move(callbacks));
}

}  // namespace anabranch
