#include "ir/op_info.h"

#include <fmt/format.h>

#include <anabranch/error.h>

namespace anabranch::ir {

const char* name_of(Op op) { return info(op).name; }

const char* name_of(Stratum stratum) {
  switch (stratum) {
    case Stratum::scalar:
      return "scalar expression";
    case Stratum::function:
      return "function";
    case Stratum::array:
      return "array computation";
    case Stratum::source:
      return "source of a sequence";
    case Stratum::sequence:
      return "sequence computation";
    case Stratum::sink:
      return "sequence terminal";
  }
  return "?";
}

void Op::wrong_stratum(Op op, Stratum expected) {
  throw InternalError(fmt::format("{} is no {}", name_of(op), name_of(expected)));
}

}  // namespace anabranch::ir
