#include <anabranch/symbol.h>

#include <mutex>
#include <string>
#include <unordered_set>

namespace anabranch {

Symbol::Symbol(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return;
  // Never destroyed: what static objects hold may name them while the process ends.
  static auto& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  text_ = texts.emplace(text).first->c_str();
}

}  // namespace anabranch
