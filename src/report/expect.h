#pragma once

#include <string>
#include <vector>

#include <anabranch/explain.h>

#include "report/report.h"

namespace anabranch::report {

/// What is not as expected: each a sentence with the operation and its place.
std::vector<std::string> offences(const Report& report, Expect expected);

/// Throws ProgramError with the first of them, and how many more there are.
void require(const Report& report, Expect expected);

}  // namespace anabranch::report
