#pragma once

#include <future>
#include <system_error>
#include <utility>

#include <anabranch/error.h>

namespace anabranch::system {

/// Calls f on a thread of its own. ResourceError where the system gives none.
template <class F>
std::future<std::invoke_result_t<F>> start_async(F f) {
  try {
    return std::async(std::launch::async, std::move(f));
  } catch (const std::system_error& e) {
    throw ResourceError(std::string("a thread could not be started: ") + e.what());
  }
}

}  // namespace anabranch::system
