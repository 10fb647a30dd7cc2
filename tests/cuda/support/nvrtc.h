#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/error.h>

#include "cuda/nvrtc.h"

/// NVRTC, where the machine has it: do texts compile for real, and without spills?
namespace anabranch::test {

/// Null where NVRTC is not installed.
inline cuda::Compiler* nvrtc() {
  static const std::shared_ptr<cuda::Compiler> compiler = []() -> std::shared_ptr<cuda::Compiler> {
    try {
      return cuda::open_nvrtc();
    } catch (const BackendUnavailable&) {
      return nullptr;
    }
  }();
  return compiler.get();
}

/// For every architecture, and every text of the tests that ask: the long tier.
inline bool compiles_all() { return std::getenv("ANABRANCH_TEST_NVRTC") != nullptr; }

/// What is wrong with a text for one of the architectures; empty: nothing, or there is no NVRTC.
inline std::string nvrtc_complaint(const cuda::Unit& unit) {
  if (!nvrtc()) return {};
  std::vector<const char*> architectures{"sm_90"};
  if (compiles_all()) architectures.insert(architectures.begin(), {"sm_75", "sm_80"});
  for (const char* architecture : architectures) {
    try {
      const cuda::Compiler::Result result = nvrtc()->compile(unit, "unit.cu", architecture);
      const bool spills =
          std::any_of(result.spill_bytes.begin(), result.spill_bytes.end(), [](int b) { return b > 0; });
      if (spills || result.log.find("warning") != std::string::npos)
        return architecture + std::string(":\n") + result.log + unit.source;
    } catch (const InternalError& e) {
      return architecture + std::string(":\n") + e.what();
    }
  }
  return {};
}

}  // namespace anabranch::test
