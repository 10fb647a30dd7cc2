#include "explain.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/print.h"
#include "ir/walk.h"

namespace anabranch {

using namespace ir;

namespace {

using Shown = std::unordered_set<const Node*>;

void operation(const Staged& staged, const Node& node, const char* label, const Place& place,
               Printer& printer, std::string& out) {
  const Facts& facts = staged.facts.at(&node);
  const auto stored = staged.manifest.find(&node);
  out += fmt::format("  {:<4} {:<12} {:<24} {:<10} {:<44} {}{}\n", printer.name(node), label,
                     to_string(node.type()), name_of(facts.form), facts.reason,
                     stored == staged.manifest.end() ? "fused into its reader" : "stored: " + stored->second,
                     place.known() ? "  -- " + to_string(place) : std::string());
}

/// `shown`: each operation is printed once, where it is met first.
void operations(const Staged& staged, std::span<const Ref> roots, Printer& printer, Shown& shown,
                std::string& out) {
  for (const Node* node : topological(roots, reads_elements))
    if (node->type().is_array() && shown.insert(node).second)
      operation(staged, *node, maker_of(*node).label(), node->place(), printer, out);
}

std::string step_text(const plan::Group& group, const plan::KernelStep& step) {
  const auto size = [&](int array) {
    return plan::size_text(group, group.arrays[static_cast<std::size_t>(array)]);
  };
  const auto written = [&](int array) {
    return std::find(step.outputs.begin(), step.outputs.end(), array) != step.outputs.end();
  };
  std::vector<std::string> reads, writes;
  for (const plan::BufferRef& b : step.buffers)
    if (b.kind == plan::BufferRef::Kind::array && !b.global && b.component == 0 && !written(b.index))
      reads.push_back(size(b.index));
  const kernel::KernelOutput& first = step.kernel.outputs[0];
  for (const int array : step.outputs)
    writes.push_back(size(array) + (first.of > 1
                                        ? fmt::format(" x {}/{}", step.kernel.outputs.size(), first.of)
                                        : std::string()));
  return to_string(step.kernel) +
         fmt::format("  bytes: reads {}; writes {}; {} operations an element\n",
                     reads.empty() ? "nothing of the chunk" : fmt::format("{}", fmt::join(reads, " + ")),
                     fmt::join(writes, " + "), step.kernel.operations) +
         (step.equal_items
              ? "  where all items of a chunk turn out to be of one shape: a kernel for regular arrays\n"
              : "");
}

std::string step_text(const plan::Group&, const plan::OffsetsStep& step) {
  return fmt::format("offsets d{}: from the items' sizes\n", step.descriptor);
}

std::string step_text(const plan::Group&, const plan::RequireStep& step) {
  return fmt::format("check of {}{}\n", step.what,
                     step.place.known() ? fmt::format(" ({})", to_string(step.place)) : "");
}

std::string step_text(const plan::Group& group, const plan::RearrangeStep& step) {
  std::vector<std::string> writes;
  for (const int array : step.outputs)
    if (array >= 0) writes.push_back(plan::size_text(group, group.arrays[static_cast<std::size_t>(array)]));
  return fmt::format("{}: by a routine of the library\n  bytes: writes {}\n", ir::title(*step.node),
                     fmt::join(writes, " + "));
}

std::string step_text(const plan::Group&, const plan::NestedStep& step) {
  return fmt::format("inner program {}, once for all items of the chunk\n", step.number);
}

void kernels(const plan::Group& group, std::string& out) {
  for (const plan::Step& step : group.steps)
    out += std::visit([&](const auto& s) { return step_text(group, s); }, step);
}

/// A program, and those inside of it: what is computed, in what form.
class Explanation {
 public:
  explicit Explanation(const Staged& staged) : staged_(staged) {}

  std::string text() {
    std::vector<Ref> once = staged_.results;
    for (const Control& control : staged_.controls) {
      const std::vector<Ref> inputs = inputs_of(control);
      once.insert(once.end(), inputs.begin(), inputs.end());
    }
    if (!once.empty()) {
      out_ += "once per run\n";
      operations(staged_, once, printer_, shown_, out_);
    }
    for (std::size_t k = 0; k < staged_.stages.size(); ++k) stage(k);
    for (const Control& control : staged_.controls) bodies(control);
    return std::move(out_);
  }

 private:
  void stage(std::size_t number) {
    const Stage& stage = staged_.stages[number];
    out_ += fmt::format("\nstream {}: for every chunk of items\n", number);
    for (const StageSource& source : stage.sources)
      for (int i = 0; i < source.count; ++i) {
        const Ref& item = stage.items[static_cast<std::size_t>(source.first + i)];
        if (shown_.insert(item.get()).second)
          operation(staged_, *item, source.node->label(), source.node->place(), printer_, out_);
      }
    for (const ItemBound& bound : stage.bounds) {
      std::string lets;
      const std::string count = printer_.scalar(bound.count, lets, "  ");
      out_ +=
          fmt::format("{}  reads at most {} items: {}{}\n", lets, count, bound.take->label(),
                      bound.take->place().known() ? "  -- " + to_string(bound.take->place()) : std::string());
    }
    for (const Nested& nested : stage.nested)
      operations(staged_, nested.body.captured, printer_, shown_, out_);
    operations(staged_, stage.results, printer_, shown_, out_);
    for (const auto& t : stage.sinks)
      out_ += fmt::format("  {} of {}\n", name_of(t.kind),
                          printer_.name(*stage.results[static_cast<std::size_t>(t.result)]));
    for (const Nested& nested : stage.nested) {
      for (const Nested::Result& result : nested.results)
        out_ += fmt::format("\n  {} of each item, all of a chunk together: {}  -- {}\n",
                            nested.control ? nested.control->label() : "inner sequence",
                            printer_.name(*result.array), to_string(result.array->place()));
      out_ += indented(Explanation(nested.body.program).text(), "    ");
    }
  }

  void bodies(const Control& control) {
    each_body(control, [&](const char* name, const Body& body) {
      out_ +=
          fmt::format("\n{} of {}  -- {}\n", name, control.node->label(), to_string(control.node->place()));
      out_ += indented(Explanation(body.program).text(), "    ");
    });
  }

  const Staged& staged_;
  Printer printer_;
  Shown shown_;
  std::string out_;
};

}  // namespace

std::string explain(const Compiled& compiled) {
  std::string out = Explanation(compiled.staged).text();
  out += "\nkernels\n";
  plan::each_group(compiled.plan, [&](const plan::Group& group) { kernels(group, out); });
  out += "\npasses\n";
  for (const PassTime& t : compiled.times)
    out += fmt::format("  {:<10} {:8.3f} ms\n", t.pass, t.seconds * 1e3);
  return out;
}

}  // namespace anabranch
