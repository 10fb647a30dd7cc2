#include "kernel/check_error.h"

#include "ir/run_error.h"

namespace anabranch::kernel {
namespace {

std::string wrong(Check::Kind kind, std::int64_t value, std::int64_t bound) {
  switch (kind) {
    case Check::Kind::index:
      return ir::out_of_range(value, bound);
    case Check::Kind::division:
      if (bound == division_by_zero_of_uint64) return ir::divided_by_zero(static_cast<std::uint64_t>(value));
      return bound == division_by_zero ? ir::divided_by_zero(value) : ir::division_overflows(value);
    case Check::Kind::empty_fold:
      return ir::empty_fold();
  }
  throw InternalError("kernel: a check of no kind failed");
}

}  // namespace

void raise(const Check& check, std::int64_t value, std::int64_t bound, std::int64_t item) {
  ir::raise(check.what, wrong(check.kind, value, bound), check.place, item);
}

}  // namespace anabranch::kernel
