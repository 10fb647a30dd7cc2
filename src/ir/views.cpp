#include "ir/views.h"

#include <fmt/format.h>

namespace anabranch::ir {

void wrong_view(const Node& node, std::initializer_list<Op> expected) {
  std::string names;
  for (const Op op : expected) names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(op));
  throw InternalError(fmt::format("expected {}, not {}", names, name_of(node.op())));
}

}  // namespace anabranch::ir
