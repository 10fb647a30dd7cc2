#include "scheduler/shared_controller.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.h"

using namespace anabranch::scheduler;

namespace {

/// Counts calls, and sees whether two come at once.
class OneAtATime final : public Controller {
 public:
  struct Seen {
    std::int64_t calls = 0;  // plain, so that ThreadSanitizer sees whether they are kept apart
    std::atomic<bool> is_called = false, at_once = false;
  };
  explicit OneAtATime(Seen& seen) : seen_(seen) {}

  Decision next(const ChunkSize& so_far) override {
    call();
    return {.target = {.items = so_far.items + 1}};
  }
  void observe(const Observation&) override { call(); }
  void too_big(const ChunkSize&) override { call(); }
  std::shared_ptr<const Learned> learned() const override {
    call();
    return nullptr;
  }

 private:
  void call() const {
    if (seen_.is_called.exchange(true)) seen_.at_once = true;
    ++seen_.calls;
    std::this_thread::yield();
    seen_.is_called = false;
  }

  Seen& seen_;
};

}  // namespace

TEST_CASE("a shared controller is called by one thread at a time") {
  constexpr int threads = 4, rounds = 500;
  OneAtATime::Seen seen;
  SharedController shared(std::make_unique<OneAtATime>(seen));
  std::atomic<bool> is_right = true;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < threads; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          if (shared.next({.items = i}).target.items != i + 1) is_right = false;
          shared.observe({});
          shared.too_big({});
          if (shared.learned()) is_right = false;
        }
      });
  }
  CHECK(is_right);
  CHECK(!seen.at_once);
  CHECK(seen.calls == std::int64_t{4} * threads * rounds);
}
