// The main function of every test program. It takes long to compile, so it is compiled once.
#define CATCH_CONFIG_MAIN
#include "support/catch.h"

#include <cstdlib>

namespace {
/// Tests compile what they run, and leave nothing in the user's cache. Tests of the cache have one of their
/// own.
[[maybe_unused]] const int no_kernels_on_disk = ::setenv("ANABRANCH_CACHE", "off", 1);
}  // namespace
