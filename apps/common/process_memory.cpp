#include "apps/common/process_memory.h"

#include <fstream>
#include <string>

namespace anabranch::apps {

// getrusage would count what the shell held before it became this program, too.
std::int64_t peak_resident_bytes() {
  std::ifstream lines("/proc/self/status");
  std::int64_t kibibytes = 0;
  for (std::string word; lines >> word;)
    if (word == "VmHWM:") return lines >> kibibytes ? kibibytes * 1024 : 0;
  return 0;
}

}  // namespace anabranch::apps
