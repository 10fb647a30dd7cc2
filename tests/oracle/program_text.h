#pragma once

#include <string>
#include <vector>

#include "ir/node.h"

namespace anabranch::testing {

/// A program as a C++ file for tests/regress: a test case that runs it everywhere, and under one configuration, which is
/// given in C++. Its data has to be in memory (MemorySource).
std::string text_of(const std::vector<ir::Ref>& program, const std::string& configuration,
                    const std::string& name, const std::string& comment);

}  // namespace anabranch::testing
