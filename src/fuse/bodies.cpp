#include "fuse/bodies.h"

#include "ir/own_nodes.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

OpenBody opened(const Ref& function, std::vector<Ref> captured) {
  OpenBody body{std::move(captured), {function->parameters().begin(), function->parameters().end()}, {}};
  Rewriter rewriter([](const Ref&, const Ref& rebuilt) { return rebuilt; });
  for (const Ref& array : body.captured) {
    body.parameters.push_back(parameter(array->type(), array->place()));
    rewriter.set(array, body.parameters.back());
  }
  for (const Ref& result : function->results()) body.results.push_back(rewriter(result));
  return body;
}

}  // namespace

OpenBody body_of_loop(const Ref& function) { return opened(function, captured_by_loop(function)); }

OpenBody side_of_branch(const Ref& function, const NodeSet& computed) {
  return opened(function, captured_by_side(function, computed));
}

}  // namespace anabranch::fuse
