#include "compile.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "front/contract.h"
#include "front/share.h"
#include "fuse/arrays.h"
#include "fuse/sequences.h"
#include "ir/make.h"
#include "ir/print.h"
#include "ir/standard_arithmetic.h"
#include "ir/verify.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "kernel/regions.h"
#include "lift/lift.h"
#include "plan/build.h"
#include "plan/in_place.h"
#include "system/environment.h"
#include "system/standard_error.h"

namespace anabranch {

namespace {

using system::listed;
using system::write_to_standard_error;

/// Reports unknown names in these lists, once, on standard error.
void check_lists() {
  static const bool once = [] {
    const auto check = [](const char* variable, std::initializer_list<std::string_view> known) {
      const char* list = std::getenv(variable);
      if (!list) return;
      std::istringstream names(list);
      for (std::string name; std::getline(names, name, ',');)
        if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
          write_to_standard_error(
              fmt::format("anabranch: {} names '{}'; it knows {}\n", variable, name, fmt::join(known, ", ")));
    };
    check("ANABRANCH_DUMP",
          {"share", "contract", "sequences", "lift", "fuse", "plan", "llvm", "asm", "cuda"});
    check("ANABRANCH_OFF",
          {"share", "contract", "components", "shapes", "ranges", "fusion", "in_place", "caches", "avx512"});
    return true;
  }();
  (void)once;
}

/// Runs one pass: times it, and prints its result when ANABRANCH_DUMP asks for it.
class Passes {
 public:
  explicit Passes(std::vector<PassTime>& times) : times_(times) {}

  template <class Run, class Print>
  auto operator()(const char* name, Run&& run, Print&& print) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = run();
    times_.push_back({name, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    if (listed("ANABRANCH_DUMP", name))
      write_to_standard_error(fmt::format("---- after {} ----\n{}\n", name, print(result)));
    return result;
  }

 private:
  std::vector<PassTime>& times_;
};

std::string staged_text(const ir::Staged& staged);

/// A loop or a branch: what its bodies take, and each of them as a program.
std::string control_text(const ir::Control& control, ir::Printer& printer) {
  std::vector<ir::Ref> state;
  ir::each_own_input(control, [&](const ir::Ref& input) {
    if (input->type().is_array()) state.push_back(input);
  });
  std::string out = printer.program(state);
  out += fmt::format("{} : {} ({})\n", printer.name(*control.node), control.node->label(),
                     to_string(control.node->place()));
  ir::each_body(control, [&](const char* name, const ir::Body& body) {
    out += fmt::format("  {}:\n", name);
    const std::vector<ir::Ref> arguments = ir::arguments_of(control, body);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      out += fmt::format("    argument {}: {}\n", i, printer.name(*arguments[i]));
    out += ir::indented(staged_text(body.program), "    ");
  });
  return out;
}

std::string staged_text(const ir::Staged& staged) {
  std::string out;
  ir::Printer printer;
  for (std::size_t i = 0; i < staged.parameters.size(); ++i)
    out += fmt::format("argument {}: {}\n", i, printer.name(*staged.parameters[i]));
  for (std::size_t k = 0; k < staged.stages.size(); ++k) {
    const ir::Stage& stage = staged.stages[k];
    out += fmt::format("stage {}:\n", k);
    for (const ir::StageSource& source : stage.sources) {
      out += fmt::format("  items from {} ({})", source.node->label(), to_string(source.node->place()));
      for (const int feed : source.feeds) out += fmt::format(", of stage {}", feed);
      out += ":";
      for (int i = 0; i < source.count; ++i)
        out += " " + printer.name(*stage.items[static_cast<std::size_t>(source.first + i)]);
      out += "\n";
    }
    for (const ir::ItemBound& bound : stage.bounds) {
      std::string lets;
      const std::string count = printer.scalar(bound.count, lets, "  ");
      out += fmt::format("{}  at most {} items: {} ({})\n", lets, count, bound.take->label(),
                         to_string(bound.take->place()));
    }
    for (std::size_t n = 0; n < stage.nested.size(); ++n) {
      const ir::Nested& nested = stage.nested[n];
      out += fmt::format("  inner program {}:\n", n);
      out += printer.program(nested.body.captured);
      for (std::size_t i = 0; i < nested.body.captured.size(); ++i)
        out += fmt::format("    argument {}: {}\n", i + 1, printer.name(*nested.body.captured[i]));
      out += ir::indented(staged_text(nested.body.program), "    ");
    }
    out += printer.program(stage.required);
    out += printer.program(stage.results);
    for (const auto& t : stage.sinks)
      out += fmt::format("  {} {}\n", ir::name_of(t.kind),
                         printer.name(*stage.results[static_cast<std::size_t>(t.result)]));
  }
  for (const ir::Control& control : staged.controls) out += control_text(control, printer);
  out += printer.program(staged.results);
  std::vector<const ir::Node*> nodes;
  for (const auto& [node, facts] : staged.facts) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end(),
            [](const ir::Node* a, const ir::Node* b) { return a->id() < b->id(); });
  for (const ir::Node* node : nodes) {
    const ir::Facts& facts = staged.facts.at(node);
    std::vector<std::string> extents;
    std::string lets;
    for (const ir::Ref& e : facts.extents) extents.push_back(printer.scalar(e, lets, "    "));
    out += lets;
    const auto stored = staged.manifest.find(node);
    out += fmt::format("  {} [{}]: {}, {}{}\n", printer.name(*node), fmt::join(extents, ", "),
                       name_of(facts.form), facts.reason,
                       staged.manifest.empty()           ? std::string()
                       : stored == staged.manifest.end() ? std::string("; delayed")
                                                         : "; stored: " + ir::why_stored(staged, *node));
  }
  return out;
}

void check_kernel(const kernel::Kernel& kernel) {
  kernel::verify(kernel);
  kernel::check_branches(kernel.body);
  for (const std::vector<ir::Ref>* body : kernel::other_bodies(kernel)) kernel::check_branches(*body);
}

void check_step(const plan::KernelStep& step) {
  check_kernel(step.kernel);
  if (step.equal_items) check_kernel(step.equal_items->kernel);
}

fuse::Options fusion_options(const CompileOptions& options) {
  fuse::Options out;
  out.components = options.components;
  out.fusion = options.fusion;
  return out;
}

/// From stages to the plan: the passes that programs and streamed-out sequences share.
void back_half(Compiled& out, Passes& pass, ir::Staged staged, const CompileOptions& options) {
  const fuse::Options fusion = fusion_options(options);
  const auto sequences = [&](std::span<const ir::Ref> results, std::span<const ir::Ref> parameters) {
    return fuse::sequences(results, parameters, fusion);
  };
  staged = pass(
      "lift",
      [&] { return lift::lift(std::move(staged), {options.shape_analysis, options.ranges, sequences}); },
      staged_text);
  ir::verify(staged, "lift", true, false);
  staged = pass("fuse", [&] { return fuse::arrays(std::move(staged), fusion); }, staged_text);
  ir::verify(staged, "fuse", true, true);
  out.staged = std::move(staged);
  out.plan = pass(
      "plan", [&] { return plan::build(out.staged, {options.in_place}); },
      [](const plan::Plan& p) { return plan::to_string(p); });
  plan::verify_in_place(out.plan);
  plan::each_group(out.plan, [](const plan::Group& group) {
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) check_step(*kernel);
  });
}

std::vector<ir::Ref> front_half(Passes& pass, std::vector<ir::Ref> roots, const CompileOptions& options) {
  const auto print = [](const std::vector<ir::Ref>& r) { return ir::to_string(r); };
  if (options.share) roots = pass("share", [&] { return front::share(roots); }, print);
  if (options.contract) roots = pass("contract", [&] { return front::contract(roots); }, print);
  return roots;
}

void check_present(const ir::Ref& node, const std::string& what) {
  if (!node) throw ProgramError(what + " is an empty handle");
}

void check_kind(bool is, const ir::Ref& node, const std::string& what, const char* expected) {
  if (!is)
    throw ProgramError(fmt::format("{} is {}, of type {} ({}); expected {}", what, node->label(),
                                   ir::to_string(node->type()), to_string(node->place()), expected),
                       node->place());
}

/// Throws ProgramError where something is no program: what a front end without types may hand over.
void check_program(std::span<const ir::Ref> results, std::span<const ir::Ref> parameters) {
  if (results.empty()) throw ProgramError("compile: a program needs a result");
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::string result = fmt::format("compile: result {}", r);
    check_present(results[r], result);
    check_kind(results[r]->type().is_array() && !results[r]->op().is_a<ir::SinkOp>(), results[r], result,
               "an array (of a sequence, what consume gives)");
  }
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::string parameter = fmt::format("compile: parameter {}", p);
    check_present(parameters[p], parameter);
    check_kind(parameters[p]->op() == ir::Op::parameter && parameters[p]->type().is_array(), parameters[p],
               parameter, "a parameter of an array");
  }
}

/// Throws ProgramError where a root depends on the parameter of a function that it is not part of.
void check_closed(std::span<const ir::Ref> roots, std::span<const ir::Ref> parameters) {
  for (const ir::Ref& root : roots)
    for (const ir::Node* p : root->free()) {
      if (ir::is_among(parameters, p)) continue;
      const std::string what = fmt::format("{} ({})", root->label(), to_string(root->place()));
      const std::string parameter = to_string(p->place());
      if (p->bound())
        throw ProgramError(
            fmt::format(
                "{}: an Acc is used outside the function whose parameter it depends on (introduced at "
                "{}); it stands for one item, inside that function only. Let the function return it, "
                "and take what the sequence gives: consume(elements(s)), consume(tabulate(s))",
                what, parameter),
            root->place());
      throw ProgramError(
          fmt::format("{}: this is run inside the function whose parameter it depends on (introduced at {}), "
                      "while the program is being built and items have no elements yet. Let the function "
                      "return the computation, and run the whole",
                      what, parameter),
          root->place());
    }
}

}  // namespace

CompileOptions options_from_environment() {
  check_lists();
  CompileOptions options;
  options.share = !listed("ANABRANCH_OFF", "share");
  options.contract = !listed("ANABRANCH_OFF", "contract");
  options.components = !listed("ANABRANCH_OFF", "components");
  options.shape_analysis = !listed("ANABRANCH_OFF", "shapes");
  options.ranges = !listed("ANABRANCH_OFF", "ranges");
  options.fusion = !listed("ANABRANCH_OFF", "fusion");
  options.in_place = !listed("ANABRANCH_OFF", "in_place");
  options.caches = !listed("ANABRANCH_OFF", "caches");
  return options;
}

Compiled compile_program(std::vector<ir::Ref> results, std::vector<ir::Ref> parameters,
                         const CompileOptions& options) {
  const ir::StandardArithmetic standard;
  check_program(results, parameters);
  check_closed(results, parameters);
  // Makes the program a function that binds the parameters: a later use of them is outside of it.
  if (!parameters.empty()) (void)ir::lambda(parameters, results, results[0]->place());
  Compiled out;
  Passes pass(out.times);
  out.program = front_half(pass, std::move(results), options);
  ir::Staged staged = pass(
      "sequences", [&] { return fuse::sequences(out.program, parameters, fusion_options(options)); },
      staged_text);
  ir::verify(staged, "sequences", false, false);
  back_half(out, pass, std::move(staged), options);
  return out;
}

Compiled compile_sequence(const ir::Ref& sequence, const CompileOptions& options) {
  const ir::StandardArithmetic standard;
  check_present(sequence, "stream_out: the sequence");
  check_kind(sequence->type().is_sequence(), sequence, "stream_out: what is given", "a sequence");
  check_closed({&sequence, 1}, {});
  Compiled out;
  Passes pass(out.times);
  out.program = front_half(pass, {sequence}, options);
  ir::Staged staged = pass(
      "sequences", [&] { return fuse::sequences_out(out.program[0], fusion_options(options)); }, staged_text);
  ir::verify(staged, "sequences", false, false);
  back_half(out, pass, std::move(staged), options);
  return out;
}

}  // namespace anabranch
