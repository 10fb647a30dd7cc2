#include "explain.h"

#include "report/expect.h"

namespace anabranch {

namespace {

report::Report report_of(const Compiled& compiled) {
  report::Report out = report::make(compiled.program, compiled.staged, compiled.plan);
  for (const PassTime& t : compiled.times) out.passes.push_back({t.pass, t.seconds});
  return out;
}

}  // namespace

std::string explain(const Compiled& compiled, Explain form) {
  const report::Report report = report_of(compiled);
  switch (form) {
    case Explain::text:
      return report::to_text(report);
    case Explain::json:
      return report::to_json(report);
    case Explain::dot:
      return report::to_dot(report);
  }
  throw ProgramError("explain: there is no such form");
}

void require(const Compiled& compiled, Expect expected) { report::require(report_of(compiled), expected); }

}  // namespace anabranch
