#include "ir/views.h"

#include <fmt/format.h>

namespace anabranch::ir {

void wrong_view(const Node& node, std::initializer_list<Op> expected) {
  std::string names;
  for (const Op op : expected) names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(op));
  throw InternalError(fmt::format("expected {}, not {}", names, name_of(node.op())));
}

std::optional<ExtentOf> as_extent(const Node& term) {
  if (term.op() == Op::shape && term.type().components() == 1) return ExtentOf{ShapeOf(term).array(), 0};
  if (term.op() != Op::project) return std::nullopt;
  const Project part(term);
  if (part.value()->op() != Op::shape || part.count() != 1) return std::nullopt;
  return ExtentOf{ShapeOf(part.value()).array(), part.first()};
}

}  // namespace anabranch::ir
