#include <filesystem>

#include <anabranch/error.h>

#include "support/catch.h"
#include "system/sibling_library.h"

using namespace anabranch;
using Catch::Contains;
using system::SiblingLibrary;

namespace {

constexpr const char* code_generator = "libanabranch-llvm.so";
constexpr const char* its_version = "anabranch_llvm_version";

}  // namespace

TEST_CASE("a library beside our own object is opened from wherever we are") {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path("/");
  const SiblingLibrary library("cpu", "the code generator", code_generator);
  std::filesystem::current_path(before);
  CHECK(std::filesystem::path(library.path()).is_absolute());
  const auto version = library.function<SiblingLibrary::VersionFunction>(its_version)();
  CHECK_NOTHROW(library.require_version(its_version, version));
}

TEST_CASE("a library of another version, or without a function, is refused with its path") {
  const SiblingLibrary library("cpu", "the code generator", code_generator);
  const auto version = library.function<SiblingLibrary::VersionFunction>(its_version)();
  CHECK_THROWS_WITH(library.require_version(its_version, version + 1),
                    Contains("cpu: ") && Contains(library.path() + " belongs to another version"));
  CHECK_THROWS_AS(library.require_version(its_version, version + 1), BackendUnavailable);
  CHECK_THROWS_WITH(library.function<void (*)()>("no_such_function"),
                    Contains(library.path() + " lacks no_such_function"));
}

TEST_CASE("a library that is not there is looked for beside us and in lib, nowhere else") {
  // It exists, but in the system's folders.
  const auto open = [] { SiblingLibrary("cuda", "the mathematics", "libm.so.6"); };
  CHECK_THROWS_AS(open(), BackendUnavailable);
  CHECK_THROWS_WITH(open(), Contains("cuda: cannot open the mathematics: ") && Contains("/bin/libm.so.6: ") &&
                                Contains("/../lib/libm.so.6: "));
}
