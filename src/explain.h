#pragma once

#include <string>

#include <anabranch/run.h>

#include "compile.h"

namespace anabranch {

/// What the compiler made of a program and why (report/report.h).
std::string explain(const Compiled& compiled, Explain form);

/// Throws ProgramError where the program is not as expected (report/expect.h).
void require(const Compiled& compiled, Expect expected);

}  // namespace anabranch
