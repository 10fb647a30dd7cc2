#include "run/memory/memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include "run/memory/storage.h"
#include "support/catch.h"

// Memory of results and intermediate arrays: it grows, comes back, is used again, and stays within its bounds.
namespace anabranch {

using runtime::BlockPool;
using runtime::Memory;
using runtime::MemoryPool;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::uintptr_t at(const Memory& memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); }

/// Minor page faults of this process so far.
std::int64_t page_faults() {
  std::FILE* file = std::fopen("/proc/self/stat", "r");
  REQUIRE(file);
  long long faults = 0;
  const int read = std::fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %lld", &faults);
  std::fclose(file);
  REQUIRE(read == 1);
  return faults;
}

TEST_CASE("memory keeps its contents as it grows and shrinks") {
  for (const std::size_t begin : {std::size_t{0}, std::size_t{64}, std::size_t{100'000}, 5 * mib}) {
    Memory memory(begin);
    std::size_t filled = 0;
    for (const std::size_t bytes :
         {std::size_t{1000}, std::size_t{40'000}, std::size_t{900'000}, 3 * mib, 7 * mib, 20 * mib}) {
      memory.grow(bytes);
      REQUIRE(memory.bytes() >= bytes);
      REQUIRE(at(memory) % 64 == 0);
      if (bytes >= 4 * mib) REQUIRE(at(memory) % (2 * mib) == 0);
      auto* bytes_at = static_cast<unsigned char*>(memory.data());
      for (std::size_t i = 0; i < filled; i += 997)
        if (bytes_at[i] != static_cast<unsigned char>(i)) FAIL("changed at " << i);
      filled = bytes;
      for (std::size_t i = 0; i < filled; ++i) bytes_at[i] = static_cast<unsigned char>(i);
    }
    memory.shrink(mib);
    REQUIRE(memory.bytes() == mib);
    REQUIRE(static_cast<unsigned char*>(memory.data())[mib - 1] == 0xff);
  }
}

TEST_CASE("what is given back is used again") {
  MemoryPool pool;
  Memory memory = pool.take(8 * mib);
  const std::uintptr_t address = at(memory);
  pool.give(std::move(memory));
  REQUIRE(pool.idle_bytes() == 8 * mib);
  REQUIRE(at(pool.take(mib)) != address);  // much too large
  Memory again = pool.take(8 * mib - 200'000);
  REQUIRE(at(again) == address);
  REQUIRE(pool.idle_bytes() == 0);
  pool.give(std::move(again));
  const Memory larger = pool.take(9 * mib);  // grows what lies idle
  REQUIRE(larger.bytes() == 9 * mib);
  REQUIRE(pool.idle_bytes() == 0);
  pool.give(Memory(100));
  REQUIRE(pool.idle_bytes() == 0);
}

TEST_CASE("shared memory comes back with its last owner") {
  MemoryPool pool;
  std::shared_ptr<void> memory = pool.share(pool.take(mib));
  const std::shared_ptr<void> other = memory;
  memory.reset();
  REQUIRE(pool.idle_bytes() == 0);
  const_cast<std::shared_ptr<void>&>(other).reset();
  REQUIRE(pool.idle_bytes() == mib);
}

TEST_CASE("idle memory has a bound, and a lesser one in runs with a memory bound") {
  MemoryPool pool;
  for (int i = 0; i < 200; ++i) {
    std::vector<Memory> taken;
    for (int k = 0; k < 8; ++k)
      taken.push_back(pool.take(static_cast<std::size_t>(k + i) * 700'000 + 40'000));
    for (Memory& memory : taken) pool.give(std::move(memory));
    REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle);
  }
  for (int i = 0; i < 200; ++i) pool.give(Memory(40'000));
  REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle);
  for (int i = 0; i < 10; ++i) pool.give(Memory(20 * mib));
  {
    const MemoryPool::BoundedRun run(pool);
    REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle_in_bounded_runs);
    pool.give(Memory(15 * mib));
    pool.give(Memory(15 * mib));
    REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle_in_bounded_runs);
  }
  pool.give(Memory(100 * mib));
  REQUIRE(pool.idle_bytes() > 100 * mib);
  pool.give(Memory(MemoryPool::most_idle + mib));
  REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle);
}

TEST_CASE("many threads take and give, and nobody has what another one has") {
  MemoryPool pool;
  std::atomic<int> disturbed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, &disturbed, t] {
      for (int i = 0; i < 200; ++i) {
        Memory memory = pool.take(static_cast<std::size_t>(1 + (i + t) % 7) * 100'000);
        const std::span bytes(static_cast<char*>(memory.data()), memory.bytes());
        std::fill(bytes.begin(), bytes.end(), static_cast<char>(t));
        std::this_thread::yield();
        if (std::count(bytes.begin(), bytes.end(), t) != static_cast<std::ptrdiff_t>(bytes.size()))
          ++disturbed;
        pool.give(std::move(memory));
      }
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(disturbed == 0);
  REQUIRE(pool.idle_bytes() > 0);
  REQUIRE(pool.idle_bytes() <= MemoryPool::most_idle);
}

TEST_CASE("blocks are counted, used again, and given up for larger ones") {
  MemoryPool pool;
  scheduler::Budget budget(2'000'000);
  BlockPool blocks(budget, pool);
  void* first = blocks.take(500'000);
  blocks.give(first);
  REQUIRE(blocks.take(400'000) == first);
  blocks.give(first);
  void* second = blocks.take(1'900'000);
  REQUIRE(budget.used() == 1'900'128);
  REQUIRE_THROWS_AS(blocks.take(200'000), scheduler::BudgetExceeded);
  blocks.give(second);
  blocks.trim();
  REQUIRE(budget.used() == 0);
}

TEST_CASE("blocks stay with their threads while there is memory") {
  MemoryPool pool;
  scheduler::Budget budget(2'000'000);
  BlockPool blocks(budget, pool);
  void* const first = blocks.take(500'000, BlockPool::From::own);
  blocks.give(first);
  std::thread([&] {
    void* const second = blocks.take(500'000, BlockPool::From::own);
    CHECK(second != first);
    CHECK(budget.used() == 2 * 500'128);
    blocks.give(second);
    // What one core computes for all takes what is there, its own first.
    void* const third = blocks.take(400'000);
    CHECK(third == second);
    void* const fourth = blocks.take(400'000);
    CHECK(fourth == first);
    CHECK(budget.used() == 2 * 500'128);
    blocks.give(third);
    blocks.give(fourth);
  }).join();
  // The thread that took it last has it now; for what else would be too much all idle ones are given up.
  void* const again = blocks.take(500'000, BlockPool::From::own);
  CHECK(again != first);
  CHECK(budget.used() == 3 * 500'128);
  void* const large = blocks.take(900'000, BlockPool::From::own);
  CHECK(budget.used() == 500'128 + 900'128);
  blocks.give(again);
  blocks.give(large);
}

TEST_CASE("what threads leave behind that do not come back is used by others") {
  MemoryPool pool;
  scheduler::Budget budget;
  BlockPool blocks(budget, pool);
  for (int t = 0; t < 40; ++t)
    std::thread([&] { blocks.give(blocks.take(500'000, BlockPool::From::own)); }).join();
  CHECK(budget.used() < 10 * 500'128);
}

TEST_CASE("many threads take blocks and give back each other's") {
  MemoryPool pool;
  scheduler::Budget budget;
  std::atomic<int> disturbed{0};
  {
    BlockPool blocks(budget, pool);
    std::mutex mutex;
    std::vector<std::pair<void*, unsigned char>> handed_on;  // to whichever thread comes next
    std::vector<std::thread> threads;
    for (int t = 0; t < 70; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 50; ++round) {
          const std::size_t bytes = 1000 + static_cast<std::size_t>(t * 131 + round * 977) % 60'000;
          const auto mark = static_cast<unsigned char>(t + round);
          void* const mine = blocks.take(static_cast<std::int64_t>(bytes),
                                         round % 3 == 0 ? BlockPool::From::all : BlockPool::From::own);
          std::memset(mine, mark, bytes);
          if (static_cast<unsigned char*>(mine)[bytes - 1] != mark) ++disturbed;
          const std::lock_guard lock(mutex);
          handed_on.emplace_back(mine, mark);
          if (handed_on.size() < 5) continue;
          const auto [others, has] = handed_on.front();
          handed_on.erase(handed_on.begin());
          if (*static_cast<unsigned char*>(others) != has) ++disturbed;
          blocks.give(others);
        }
      });
    for (auto& thread : threads) thread.join();
    for (const auto& [block, mark] : handed_on) {
      if (*static_cast<unsigned char*>(block) != mark) ++disturbed;
      blocks.give(block);
    }
    blocks.trim();
    CHECK(budget.used() == 0);
  }
  CHECK(disturbed == 0);
}

/// Runs of a program whose result is large, each thrown away: after the first few there are no new pages.
void settles(const std::function<void()>& run) {
  for (int i = 0; i < 4; ++i) run();
  const std::int64_t before = page_faults();
  for (int i = 0; i < 4; ++i) run();
  // 30 MB are 7,300 pages of 4 KiB or 15 of 2 MiB; four runs in new memory would be 29,200 faults. Some come
  // from chunks, whose sizes follow the clock.
  REQUIRE(page_faults() - before < 7300);
}

const std::int64_t many = 3'750'000;

TEST_CASE("a program that is run again writes into warm memory", "[faults]") {
  const auto x = Vector<double>(Index{many});
  const auto negated = compile(map([](auto e) { return -e; }, use(x)));
  settles([&] { negated.run({.threads = 1}); });
  std::vector<std::int32_t> indptr;
  for (std::int64_t i = 0; i <= many; i += 10) indptr.push_back(static_cast<std::int32_t>(i));
  const std::vector<std::int32_t> columns(static_cast<std::size_t>(many));
  const auto rows_in =
      stream_in(io::csr_view(static_cast<std::int64_t>(indptr.size()) - 1, 1,
                             std::span<const std::int32_t>(indptr), std::span<const std::int32_t>(columns),
                             std::span<const double>(x.data(), static_cast<std::size_t>(many))));
  // The exponentials are stored for a chunk, and the length of the result is known at the end only.
  const auto softmax = compile(consume(elements(map_seq(
      [](auto row) {
        auto [c, v] = unzip(row);
        auto e = map([](auto value) { return exp(value); }, v);
        auto s = sum(e);
        return map([=](auto value) { return value / the(s); }, e);
      },
      rows_in))));
  settles([&] { softmax.run({.threads = 1}); });
}

}  // namespace
}  // namespace anabranch
