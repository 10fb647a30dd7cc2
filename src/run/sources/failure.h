#pragma once

#include <exception>

namespace anabranch::runtime {

/// Of the exception that is being handled, behind items that have been read: what is to be thrown when these have been given.
/// Null where the next attempt may succeed: memory is short, or nothing has been pushed yet.
std::exception_ptr failure_after_items();

}  // namespace anabranch::runtime
