#include <cstdlib>
#include <filesystem>
#include <string>

#include <anabranch/error.h>

#include "device/table_version.h"
#include "support/calls.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::device;

namespace {

void is_complete(const Table& table) {
  CHECK(table.devices != nullptr);
  CHECK(table.text != nullptr);
  CHECK(table.sort != nullptr);
  CHECK(table.select != nullptr);
  CHECK(table.group != nullptr);
  CHECK(table.last_at != nullptr);
  CHECK(table.accumulate != nullptr);
  CHECK(table.repeat != nullptr);
  CHECK(table.item_offsets != nullptr);
  static_assert(sizeof(Table) == 9 * sizeof(void (*)()), "a new function: look for it above");
}

}  // namespace

TEST_CASE("the host's table is complete") { is_complete(host_table()); }

#if ANABRANCH_DEVICE_LIBRARY

TEST_CASE("the library of device primitives opens anywhere, and its table is complete") {
  const Table& table = open_library();  // throws where the versions differ
  is_complete(table);
  CHECK(std::filesystem::path(library_path()).filename() == library_name);
  CHECK(&open_library() == &table);
  CHECK(std::string(table.text(not_compiled)) == host_table().text(not_compiled));
  CHECK(std::string(table.text(2)) == "out of memory");  // cudaErrorMemoryAllocation
}

TEST_CASE("what is not compiled is refused before any GPU is asked") {
  const Table& table = open_library();
  std::int64_t x = 0;
  Temporary temporary{};
  Column column{{Element::Kind::signed_integer, 3}, &x, &x};
  Sort sort{&column, 1, {1, 1, nullptr, 1, 1}, nullptr};
  CHECK(table.sort(&sort, &temporary, nullptr) == not_compiled);
  column.element.bytes = 8;
  sort.parts.elements = -1;
  CHECK(table.sort(&sort, &temporary, nullptr) == bad_argument);
  ItemOffsets items{};
  items.rank = most_extents + 1;
  CHECK(table.item_offsets(&items, &temporary, nullptr) == not_compiled);
  items.rank = 1;
  items.count = -1;
  CHECK(table.item_offsets(&items, &temporary, nullptr) == bad_argument);
}

TEST_CASE("without a GPU the primitives say so") {
  const Table& table = open_library();
  int count = 0;
  if (table.devices(&count) == done && count > 0) {
    CHECK(&Primitives::open().table() == &table);
    return;
  }
  try {
    Primitives::open();
    FAIL("opened without a GPU");
  } catch (const BackendUnavailable& e) {
    const std::string text = e.what();
    CHECK(text.starts_with("cuda: "));
    CHECK(text.size() > std::string("cuda: no usable GPU: ").size());
    CHECK(text.find("GPU") != std::string::npos);
  }
  // Nor is it a crash to call on regardless.
  std::int64_t x = 0;
  Temporary temporary{};
  const Column column{{Element::Kind::signed_integer, 8}, &x, &x};
  const Sort sort{&column, 1, {1, 1, nullptr, 1, 1}, nullptr};
  CHECK(table.sort(&sort, &temporary, nullptr) > 0);
}

#else

TEST_CASE("a build without device primitives says where it looked for them") {
  CHECK_THROWS_AS(Primitives::open(), BackendUnavailable);
  try {
    Primitives::open();
  } catch (const BackendUnavailable& e) {
    CHECK(std::string(e.what()).find(library_name) != std::string::npos);
  }
}

#endif
