#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace anabranch::testing {

/// How much more memory this process has at its peak than when this began.
class ResidentPeak {
 public:
  ResidentPeak() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
    before_ = peak();
  }
  std::int64_t growth() const { return peak() - before_; }

 private:
  static std::int64_t peak() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
    return 0;
  }

  std::int64_t before_ = 0;
};

}  // namespace anabranch::testing
