#include "cache/once_per_key.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace anabranch::cache {
namespace {

using Numbers = OncePerKey<std::shared_ptr<const int>>;

std::shared_ptr<const int> number(int n) { return std::make_shared<const int>(n); }

TEST_CASE("a value is made once per key, by one of those who ask") {
  Numbers numbers(10);
  std::atomic<int> made = 0, known = 0, right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 8; ++k) {
        const auto found = numbers.find_or_make(std::to_string(k), [&] {
          ++made;
          std::this_thread::yield();
          return number(k);
        });
        right += *found.value == k;
        known += found.known;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 8);
  CHECK(known == 24);
  CHECK(right == 32);
}

TEST_CASE("a value that could not be made is made by the next who asks") {
  Numbers numbers(10);
  CHECK_THROWS_AS(
      numbers.find_or_make("a", []() -> std::shared_ptr<const int> { throw std::runtime_error("not yet"); }),
      std::runtime_error);
  const auto found = numbers.find_or_make("a", [] { return number(1); });
  CHECK(*found.value == 1);
  CHECK(!found.known);
}

TEST_CASE("beyond the bound the oldest value is dropped, but none that is being made") {
  Numbers numbers(2);
  const auto is_known = [&](const char* key) {
    return numbers.find_or_make(key, [] { return number(0); }).known;
  };
  CHECK(!is_known("a"));
  CHECK(!is_known("b"));
  CHECK(is_known("a"));
  CHECK(!is_known("c"));  // drops a
  CHECK(is_known("b"));
  CHECK(!is_known("a"));  // drops b
  CHECK(is_known("c"));
  numbers.clear();
  const auto outer = numbers.find_or_make("outer", [&] {
    CHECK(!is_known("d"));
    CHECK(!is_known("e"));  // drops d
    CHECK(!is_known("f"));  // drops e
    CHECK(is_known("f"));
    return number(5);
  });
  CHECK(*outer.value == 5);
  CHECK(is_known("outer"));
}

}  // namespace
}  // namespace anabranch::cache
