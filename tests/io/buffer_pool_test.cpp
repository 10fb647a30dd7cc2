#include "support/catch.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "io/base/buffer_pool.h"

using anabranch::io::detail::BufferPool;

namespace {

/// Memory for a pool that says how many buffers of it are there.
struct CountedMemory {
  std::int64_t buffers = 0;

  anabranch::ChunkMemory function() {
    return [this](std::int64_t bytes) -> std::shared_ptr<void> {
      ++buffers;
      return {std::malloc(static_cast<std::size_t>(bytes)), [this](void* p) {
                --buffers;
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
