#include "support/catch.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "io/base/block_store.h"
#include "io/sparse/entry_sorter.h"

using namespace anabranch::io::detail;

namespace {

using E = Entry<std::int32_t>;

constexpr std::int64_t rows = 5'000, cols = 3'000;

/// Half of them in few columns and few places, and sums of weights depend on their order.
std::vector<E> some_entries() {
  std::mt19937 random(11);
  std::vector<E> out(200'000);
  for (E& e : out) {
    const bool few = random() % 2 == 0;
    e.row = static_cast<std::int32_t>(few ? 700 + random() % 30 : random() % rows);
    e.col = static_cast<std::int32_t>(random() % (few ? 9U : static_cast<unsigned>(cols)));
    e.value = 1.0 / (1 + random() % 1'000);
  }
  return out;
}

struct SortedEntries {
  std::vector<E> entries;
  std::vector<double> sums;  ///< of columns

  explicit SortedEntries(std::span<const E> from, const SortMemory& memory, bool one_by_one) : sums(cols) {
    BlockStore store;
    // As if there were very many more, for many buckets.
    EntrySorter<E> sorter(store, {0, rows, 0, cols}, 30'000'000, memory);
    EntryPart<E> part(sorter);
    constexpr std::size_t size = 7'000;
    for (std::size_t at = 0; at < from.size(); at += size) {
      const auto each = [some = from.subspan(at, std::min(size, from.size() - at))](auto&& f) {
        for (const E& e : some) f(e);
      };
      if (one_by_one) {
        each([&](const E& e) { sorter.add(e); });
      } else {
        part.prepare(each);
        part.add(each);
      }
    }
    sorter.finish([&](std::span<const E> some) { entries.insert(entries.end(), some.begin(), some.end()); },
                  {},
                  [&](std::span<const E> some) {
                    for (const E& e : some) sums[static_cast<std::size_t>(e.col)] += e.value;
                  });
  }
};

SortMemory memory_of(int threads, std::int64_t sorting) {
  SortMemory memory(64 << 20, 1);
  memory.threads = threads;
  memory.sorting = sorting;
  return memory;
}

bool operator==(const SortedEntries& a, const SortedEntries& b) {
  return a.sums == b.sums && std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(),
                                        b.entries.end(), [](const E& x, const E& y) {
                                          return x.row == y.row && x.col == y.col && x.value == y.value;
                                        });
}

}  // namespace

TEST_CASE("entries are sorted, and columns summed, to the same bits by any number of threads") {
  const std::vector<E> from = some_entries();
  const SortedEntries expected(from, memory_of(1, 64 << 20), true);
  for (std::size_t i = 1; i < expected.entries.size(); ++i) {
    const E &a = expected.entries[i - 1], &b = expected.entries[i];
    if (a.row > b.row || (a.row == b.row && a.col >= b.col)) FAIL("entry " << i);
  }
  // Also where there is no memory to sort the fullest buckets at once.
  for (const std::int64_t sorting : {64 << 10, 400 << 10, 64 << 20})
    for (const int threads : {1, 2, 7, 64, 192}) {
      INFO(threads << " threads, " << sorting << " bytes for each");
      CHECK((SortedEntries(from, memory_of(threads, sorting), false) == expected));
      CHECK((SortedEntries(from, memory_of(threads, sorting), true) == expected));
    }
}
