#include "system/environment.h"

#include <cstdlib>
#include <string>

namespace anabranch::system {

bool listed(const char* variable, std::string_view word) {
  const char* list = std::getenv(variable);
  return list && ("," + std::string(list) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

}  // namespace anabranch::system
