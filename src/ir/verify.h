#pragma once

#include <span>
#include <string>

#include "ir/staged.h"

/// The verifier: always run, after `sequences`, `lift` and `fuse`. Throws InternalError that names the pass
/// and the first broken rule. Types need no check (constructors check them); what passes can break is scoping
/// and the analysis tables.
namespace anabranch::ir {

/// Every free parameter of the roots is one of `allowed`.
void verify(std::span<const Ref> roots, std::span<const Ref> allowed, const std::string& pass);
/// A staged program; which facts must be there depends on how far it has come.
void verify(const Staged& staged, const std::string& pass, bool lifted, bool fused);

}  // namespace anabranch::ir
