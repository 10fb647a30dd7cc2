#include "cache/settings.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "support/catch.h"

using namespace anabranch::cache;

namespace {

/// The variables that matter have these values while it lives; the others are not set.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (auto& [name, before] : before_) {
      if (const char* value = std::getenv(name.c_str())) before = value;
      set(name, values.contains(name) ? std::optional(values.at(name)) : std::nullopt);
    }
  }
  ~Environment() {
    for (const auto& [name, before] : before_) set(name, before);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_{{"ANABRANCH_CACHE", {}},
                                                            {"ANABRANCH_CACHE_DIR", {}},
                                                            {"ANABRANCH_CACHE_SIZE", {}},
                                                            {"XDG_CACHE_HOME", {}},
                                                            {"HOME", {}}};
};

Settings with(const std::map<std::string, std::string>& values) {
  const Environment environment(values);
  return settings_from_environment();
}

}  // namespace

TEST_CASE("the cache is switched off by several spellings, and by what nobody understands") {
  for (const char* word : {"off", "OFF", "0", "no", "false", "False"}) {
    const Settings off = with({{"HOME", "/home/me"}, {"ANABRANCH_CACHE", word}});
    CHECK(off.why_not == "switched off by ANABRANCH_CACHE");
  }
  for (const char* word : {"", "on", "1", "Yes", "true"})
    CHECK(with({{"HOME", "/home/me"}, {"ANABRANCH_CACHE", word}}).why_not.empty());
  CHECK(with({{"HOME", "/home/me"}, {"ANABRANCH_CACHE", "of"}}).why_not ==
        "ANABRANCH_CACHE is neither on nor off: of");
}

TEST_CASE("where the cache is") {
  CHECK(with({{"HOME", "/home/me"}}).folder == "/home/me/.cache/anabranch");
  CHECK(with({{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "/fast"}}).folder == "/fast/anabranch");
  CHECK(with({{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "not/absolute"}}).folder ==
        "/home/me/.cache/anabranch");
  CHECK(with({{"XDG_CACHE_HOME", "/fast"}, {"ANABRANCH_CACHE_DIR", "/mine//"}}).folder == "/mine");
  CHECK(with({{"HOME", "/home/me"}, {"ANABRANCH_CACHE_DIR", "mine"}}).why_not ==
        "not an absolute path: mine");
  CHECK(with({{"HOME", "."}}).why_not == "not an absolute path: ./.cache/anabranch");
  CHECK(with({}).why_not == "neither ANABRANCH_CACHE_DIR nor HOME is set");
}

TEST_CASE("the cache's bound") {
  const auto bound = [](const std::string& text) {
    return with({{"HOME", "/home/me"}, {"ANABRANCH_CACHE_SIZE", text}});
  };
  CHECK(bound("").bound == 256 << 20);
  CHECK(bound("123456").bound == 123456);
  CHECK(bound("64K").bound == 64 << 10);
  CHECK(bound("3m").bound == 3 << 20);
  CHECK(bound("2G").bound == std::int64_t{2} << 30);
  CHECK(bound("1T").bound == std::int64_t{1} << 40);
  for (const char* none : {"0", "-1", "1.5G", "12X", "K", "1KB", "9999999T", "99999999999999999999"}) {
    INFO(none);
    CHECK(bound(none).why_not == std::string("ANABRANCH_CACHE_SIZE is no size (like 64M): ") + none);
  }
}
