#pragma once

#include <llvm/IR/Function.h>

namespace anabranch::cpu {

/// std::fmod(double, double) as a function of the module that `user` belongs to: there is no instruction for
/// it, and an image calls nothing outside.
llvm::Function* remainder_function(const llvm::Function& user);

}  // namespace anabranch::cpu
