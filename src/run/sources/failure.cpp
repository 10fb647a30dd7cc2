#include "run/sources/failure.h"

#include "run/sources/pushed_items.h"
#include "scheduler/budget.h"

namespace anabranch::runtime {

std::exception_ptr failure_after_items() {
  try {
    throw;
  } catch (const NothingPushed&) {
    return nullptr;
  } catch (const scheduler::BudgetExceeded&) {
    return nullptr;
  } catch (const ItemTooBig&) {
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace anabranch::runtime
