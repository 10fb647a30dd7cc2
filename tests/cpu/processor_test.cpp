#include "cpu/processor.h"

#include "support/catch.h"

using namespace anabranch;

TEST_CASE("a thread counts on no more of a cache than its core has, and on some", "[processor]") {
  const cpu::Caches& caches = cpu::caches();
  CHECK(caches.of_thread > 0);
  CHECK(caches.of_thread <= caches.of_core);
  CHECK(caches.of_core <= caches.shared);
}
