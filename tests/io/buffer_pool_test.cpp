#include "support/catch.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "io/base/buffer_pool.h"

using anabranch::io::detail::BufferPool;

namespace {

/// Memory for a pool that says how many buffers of it are there, and how many bytes these have.
struct CountedMemory {
  std::int64_t buffers = 0, held = 0;

  anabranch::ChunkMemory function() {
    return [this](std::int64_t bytes) -> std::shared_ptr<void> {
      ++buffers;
      held += bytes;
      return {std::malloc(static_cast<std::size_t>(bytes)), [this, bytes](void* p) {
                --buffers;
                held -= bytes;
                std::free(p);
              }};
    };
  }
};

}  // namespace

TEST_CASE("buffer pool: a buffer that was released is used again") {
  const auto pool = std::make_shared<BufferPool>();
  const void* const first = pool->take(1000).memory.get();
  const auto second = pool->take(990);
  CHECK(second.memory.get() == first);
  CHECK(second.capacity >= 1000);
  CHECK(pool->take(1000).memory.get() != first);
}

TEST_CASE(
    "buffer pool: a fresh buffer takes the place of as many bytes, those first that were released first") {
  CountedMemory memory;
  const auto pool = std::make_shared<BufferPool>();
  pool->use_memory(memory.function());
  std::vector<BufferPool::Buffer> buffers;
  std::vector<const void*> at;
  for (int i = 0; i < 4; ++i) at.push_back(buffers.emplace_back(pool->take(64 << 10)).memory.get());
  for (BufferPool::Buffer& buffer : buffers) buffer = {};
  CHECK(memory.buffers == 4);
  const BufferPool::Buffer larger = pool->take(100 << 10);
  CHECK(memory.buffers == 3);  // of the four that were idle two are gone
  CHECK(pool->take(64 << 10).memory.get() == at[2]);
  const BufferPool::Buffer largest = pool->take(1 << 20);
  CHECK(memory.buffers == 2);
}

TEST_CASE("buffer pool: it never holds more than its users have held at one time") {
  CountedMemory memory;
  const auto pool = std::make_shared<BufferPool>();
  pool->use_memory(memory.function());
  std::vector<BufferPool::Buffer> held(50);
  std::int64_t in_use = 0, most_in_use = 0;
  std::uint32_t random = 1;
  const auto below = [&](std::uint32_t bound) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % bound;
  };
  for (int i = 0; i < 20'000; ++i) {
    // Now few are held and now many.
    const std::uint32_t used = i / 1000 % 2 == 0 ? 50 : 5;
    BufferPool::Buffer& buffer = held[below(50)];
    in_use -= buffer.capacity;
    buffer = {};
    if (below(50) < used) {
      buffer = pool->take(std::int64_t{1} << (6 + below(10)));
      in_use += buffer.capacity;
    }
    most_in_use = std::max(most_in_use, in_use);
    REQUIRE(memory.held <= most_in_use);
  }
  held.clear();
  CHECK(memory.held > 0);
  pool->use_memory({});
  CHECK(memory.held == 0);
}

TEST_CASE("buffer pool: of many that are released some are kept") {
  CountedMemory memory;
  const auto pool = std::make_shared<BufferPool>();
  pool->use_memory(memory.function());
  std::vector<BufferPool::Buffer> buffers;
  for (int i = 0; i < 1000; ++i) buffers.push_back(pool->take(100));
  CHECK(memory.buffers == 1000);
  buffers.clear();
  CHECK(memory.buffers > 0);
  CHECK(memory.buffers <= 64);
  pool->use_memory({});
  CHECK(memory.buffers == 0);
}
