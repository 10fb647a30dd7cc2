#include "front/share.h"

#include "ir/simplify.h"

namespace anabranch::front {

std::vector<ir::Ref> share(std::span<const ir::Ref> roots) {
  ir::Simplifier simplify;
  std::vector<ir::Ref> shared;
  for (const ir::Ref& root : roots) shared.push_back(simplify(root));
  return shared;
}

}  // namespace anabranch::front
