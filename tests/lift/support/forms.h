#pragma once

#include <string>

#include "ir/walk.h"
#include "lift/lift.h"
#include "support/pass_programs.h"

/// What lifting found out, as text: `segmented [shape(item), <3>]: extent 0 depends on the item`. <3> is an
/// extent that a source declares to be 3: kernels read it like any other number that is known once the
/// source is open.
namespace anabranch::testing {

inline ir::Staged lifted(const TestProgram& program, lift::Options options = {}) {
  options.sequences = sequences_with();
  ir::Staged staged = lift::lift(program.staged(), options);
  ir::verify(staged, "lift", true, false);
  return staged;
}

/// The leaves of an extent are printed where they stand, however often: shapes, and what a source declares
/// as <...>.
inline void name_leaves(ir::Printer& printer, const ir::Ref& extent) {
  for (const ir::Node* node : ir::topological({&extent, 1})) {
    if (node->op() == ir::Op::shape)
      printer.set_name(*node, fmt::format("shape({})", printer.name(*node->child(0))));
    if (node->op() != ir::Op::index || node->child(0)->op() != ir::Op::use) continue;
    const auto& array = node->child(0)->payload().array;
    if (!array->extents.empty() || captured_names().contains(array.get())) continue;
    printer.set_name(*node, fmt::format("<{}>", *static_cast<const std::int64_t*>(array->buffers[0].get())));
    printer.set_name(*node->child(1), "()");
  }
}

inline std::string extents_text(const ir::Staged& staged, const ir::Ref& array) {
  ir::Printer printer = printer_for(staged);
  std::string text, lets;
  for (const ir::Ref& e : staged.facts_of(array).extents) {
    name_leaves(printer, e);
    text += (text.empty() ? "" : ", ") + printer.scalar(e, lets, "");
  }
  return lets + "[" + text + "]";
}

inline std::string form_text(const ir::Staged& staged, const ir::Ref& array) {
  const ir::Facts& facts = staged.facts_of(array);
  return fmt::format("{} {}: {}", name_of(facts.form), extents_text(staged, array), facts.reason);
}

}  // namespace anabranch::testing
