#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "fuse/arrays.h"
#include "lift/lift.h"
#include "support/pass_programs.h"

/// What array fusion decided, and what sequence fusion made, as texts.
namespace anabranch::testing {

inline ir::Staged fused(const TestProgram& program, const fuse::Options& options = {}) {
  ir::Staged staged = fuse::arrays(
      lift::lift(program.staged(true, options), {.sequences = sequences_with(options)}), options);
  ir::verify(staged, "fuse", true, true);
  return staged;
}

/// Every array the program computes, in order of dependence: "map: delayed", or why it is stored, "sum: a
/// reduction", without the places that a reason names.
inline std::vector<std::string> decisions(const ir::Staged& staged) {
  std::vector<const ir::Node*> arrays;
  for (const auto& [node, facts] : staged.facts)
    if (!ir::is_given(*node)) arrays.push_back(node);
  std::sort(arrays.begin(), arrays.end(), [](const auto* a, const auto* b) { return a->id() < b->id(); });
  std::vector<std::string> texts;
  for (const ir::Node* node : arrays) {
    const auto stored = staged.manifest.find(node);
    const std::string why = stored == staged.manifest.end() ? "delayed" : ir::why_stored(staged, *node);
    texts.push_back(std::string(node->label()) + ": " +
                    std::regex_replace(why, std::regex("@[a-z_]+\\.(cpp|h):[0-9]+"), ""));
  }
  return texts;
}

/// "stream_in, produce, 2 bounds -> sum, map | elements 0, tabulate 1": where items come from and how often their
/// number is bounded, what is computed of each, which terminal takes which of these.
inline std::string stage_text(const ir::Stage& stage) {
  const auto list = [](const auto& range, const auto& text) {
    std::string all;
    for (const auto& x : range) all += (all.empty() ? "" : ", ") + text(x);
    return all;
  };
  const std::string bounds =
      stage.bounds.empty() ? "" : ", " + std::to_string(stage.bounds.size()) + " bounds";
  return list(stage.sources, [](const ir::StageSource& b) { return std::string(b.node->label()); }) + bounds +
         " -> " +
         list(stage.results,
              [](const ir::Ref& r) {
                return std::string(r->op() == ir::Op::parameter ? "item" : r->label());
              }) +
         " | " + list(stage.sinks, [](const ir::Stage::Sink& t) {
           return std::string(name_of(t.kind)) + " " + std::to_string(t.result);
         });
}
inline std::vector<std::string> stage_texts(const ir::Staged& staged) {
  std::vector<std::string> texts;
  for (const ir::Stage& stage : staged.stages) texts.push_back(stage_text(stage));
  return texts;
}

}  // namespace anabranch::testing
