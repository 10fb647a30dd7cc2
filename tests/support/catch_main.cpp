// The main function of every test program. It takes long to compile, so it is compiled once.
#define CATCH_CONFIG_MAIN
// Catch's handler of signals allocates memory: a crash inside malloc would never end.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include "support/catch.h"

#include <cstdlib>
#include <filesystem>

#include "support/kept_folder.h"

namespace {
/// Tests compile what they run, and leave nothing in the user's cache; tests of the cache have one of their
/// own. ANABRANCH_TEST_CACHE=on keeps kernels for later runs and other checkouts, in a folder of the tests':
/// 150 MB of a build and as many of one with sanitizers.
[[maybe_unused]] const int kernels_on_disk = [] {
  const char* const wanted = std::getenv("ANABRANCH_TEST_CACHE");
  const auto folder =
      wanted == nullptr ? std::filesystem::path() : anabranch::testing::kept_folder("kernels");
  if (folder.empty()) return ::setenv("ANABRANCH_CACHE", "off", 1);
  return ::setenv("ANABRANCH_CACHE", "on", 1) + ::setenv("ANABRANCH_CACHE_DIR", folder.c_str(), 1) +
         ::setenv("ANABRANCH_CACHE_SIZE", "1G", 1);
}();
}  // namespace

// Some tests ask for more memory than there can be: sanitizers shall answer as malloc does, with null.
// LeakSanitizer of GCC 12 takes thread-local variables of libraries that were opened at run time to be where
// they are not and dies: it shall not look for them.
extern "C" {
__attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:intercept_tls_get_addr=0";
}
__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}
