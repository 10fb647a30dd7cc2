#pragma once

#include <functional>

namespace anabranch::bench {

/// What `measure` gives in a process of its own: no kernel is known there, and the code generator is not
/// open. To be called before this process has threads.
double in_new_process(const std::function<double()>& measure);

}  // namespace anabranch::bench
