// The main function of every test program. It takes long to compile, so it is compiled once.
#define CATCH_CONFIG_MAIN
#include "support/catch.h"

// Some tests ask for more memory than there can be. Sanitizers shall answer as malloc does, with null.
extern "C" {
__attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}
