#include "ir/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

namespace {
[[noreturn]] void broken(const std::string& pass, const std::string& what) {
  throw InternalError(fmt::format("after {}: {}", pass, what));
}

/// Does a body take what it is given?
void verify_arguments(const Control& control, const Body& body, const std::string& pass) {
  const std::vector<Ref> given = arguments_of(control, body);
  const std::vector<Ref>& parameters = body.program.parameters;
  const bool takes_more = std::holds_alternative<Applied>(control.what) && parameters.size() >= given.size();
  const auto first =
      parameters.end() - static_cast<std::ptrdiff_t>(takes_more ? given.size() : parameters.size());
  const bool agree = std::equal(given.begin(), given.end(), first, parameters.end(),
                                [](const Ref& a, const Ref& p) { return a->type() == p->type(); });
  if (!agree)
    broken(pass, fmt::format("{}: a body takes other arrays than it is given", control.node->label()));
}

}  // namespace

void verify(std::span<const Ref> roots, std::span<const Ref> allowed, const std::string& pass) {
  for (const Ref& root : roots) {
    if (!root) broken(pass, "a root is empty");
    for (const Node* p : root->free())
      if (!is_among(allowed, p))
        broken(pass, fmt::format("a parameter introduced at {} escapes its function", to_string(p->place())));
  }
}

void verify(const Staged& staged, const std::string& pass, bool lifted, bool fused) {
  verify(staged.results, staged.parameters, pass);
  const NodeSet together = arrays_together(staged);
  for (const Control& control : staged.controls) {
    verify(inputs_of(control), staged.parameters, pass);
    each_body(control, [&](const char*, const Body& body) {
      verify_arguments(control, body, pass);
      verify(body.program, pass, lifted, fused);
    });
  }
  for (const Stage& stage : staged.stages) {
    std::vector<Ref> allowed(staged.parameters);
    allowed.insert(allowed.end(), stage.items.begin(), stage.items.end());
    verify(stage.results, allowed, pass);
    for (const Nested& nested : stage.nested) {
      verify(nested.body.captured, allowed, pass);
      if (lifted) verify(nested.body.program, pass, lifted, fused);
    }
    verify(stage.required, staged.parameters, pass);
    for (const StageSource& source : stage.sources) verify(source.inputs, staged.parameters, pass);
    for (const Stage::Sink& sink : stage.sinks) verify(sink.inputs, staged.parameters, pass);
    for (const ItemBound& bound : stage.bounds) verify({&bound.count, 1}, staged.parameters, pass);
    for (const Stage::Sink& t : stage.sinks)
      if (t.result < 0 || t.result >= static_cast<int>(stage.results.size()))
        broken(pass, "a sink has no result");
    if (!lifted) continue;
    for (const Node* node : topological(stage.results, within_stage)) {
      if (node->op() == Op::shape && !is_given(*ShapeOf(*node).array()))
        broken(pass, "a shape of a computed array is left");
      if (!node->type().is_array()) continue;
      const auto facts = staged.facts.find(node);
      if (facts == staged.facts.end()) broken(pass, fmt::format("{} has no form", node->label()));
      if (static_cast<int>(facts->second.extents.size()) != node->type().rank)
        broken(pass, fmt::format("{} has rank {} but {} extents", node->label(), node->type().rank,
                                 facts->second.extents.size()));
      if (fused && info(maker_of(*node).op()).storage != Storage::delayed && !staged.is_manifest(node) &&
          !together.contains(node))
        broken(pass, fmt::format("{} is delayed", node->label()));
    }
  }
}

}  // namespace anabranch::ir
