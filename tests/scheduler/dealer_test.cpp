#include "scheduler/dealer.h"

#include <algorithm>
#include <deque>

#include "support/catch.h"

using namespace anabranch;
using scheduler::Dealer;

namespace {

/// A device and a host on simulated time.
struct Machine {
  double device_fixed_ns = 0, device_ns = 1, host_fixed_ns = 0, host_ns = 10;

  struct Outcome {
    double device_idle = 0;  ///< of all time, from the tenth chunk on
    double efficiency = 0;   ///< all work by what both could do together in that time
    double host_work = 0;    ///< share
  };

  /// Chunks of `chunk` work, in order; two are in the queue at most.
  Outcome run(int chunks, double chunk) const {
    Dealer dealer;
    double now = 0, idle = 0, begin = 0, by_host = 0, done = 0;
    double device_free = 0;
    struct Queued {
      int slot;
      double end;
    };
    std::deque<Queued> queue;
    const auto look = [&] {
      while (!queue.empty() && queue.front().end <= now) {
        dealer.done(queue.front().slot, static_cast<std::int64_t>(queue.front().end));
        queue.pop_front();
      }
    };
    for (int k = 0; k < chunks; ++k) {
      if (k == 10) begin = now, idle = by_host = done = 0;
      double left = chunk;
      while (left > 0) {
        look();
        if (queue.size() < 2) {
          if (device_free < now) idle += now - device_free;
          device_free = std::max(device_free, now) + device_fixed_ns + device_ns * left;
          queue.push_back({k, device_free});
          dealer.queued(k, left, static_cast<std::int64_t>(now));
          break;
        }
        const double piece =
            std::clamp(dealer.host_piece(chunk, left, static_cast<std::int64_t>(now)), 1.0, left);
        const double ns = host_fixed_ns + host_ns * piece;
        now += ns;
        by_host += piece;
        left -= piece;
        dealer.host_took(piece, ns);
      }
      done += chunk;
    }
    const double time = std::max(now, device_free) - begin;
    const double rate = 1 / (device_ns + device_fixed_ns / chunk) + 1 / host_ns;
    return {idle / time, done / (time * rate), by_host / done};
  }
};

}  // namespace

TEST_CASE("dealer: the device's queue does not run dry, and the host is never idle") {
  for (const double host_ns : {0.3, 1.0, 4.0, 30.0, 200.0})
    for (const double chunk : {1e4, 1e6}) {
      Machine machine;
      machine.host_ns = host_ns;
      machine.host_fixed_ns = 50;
      machine.device_fixed_ns = 0.05 * chunk;
      const Machine::Outcome outcome = machine.run(400, chunk);
      INFO("host " << host_ns << " ns, chunks of " << chunk);
      CHECK(outcome.device_idle < 0.02);
      CHECK(outcome.efficiency > 0.85);
      CHECK(outcome.host_work > 0);
    }
}

TEST_CASE("dealer: before anything is known the host takes little, and all while the device is not there") {
  Dealer dealer;
  CHECK(dealer.host_piece(1600, 1600, 0) == 1600);
  dealer.queued(0, 1600, 0);
  CHECK(dealer.host_piece(1600, 1600, 0) == 100);
  CHECK(dealer.host_piece(1600, 30, 0) == 30);
  CHECK(dealer.rest_ns(10) == 0);
}

TEST_CASE("dealer: the rest of the queue is what is queued, less what is under way") {
  Dealer dealer;
  for (int k = 0; k < 4; ++k) {
    dealer.queued(k, 1000, k * 5000);
    dealer.done(k, k * 5000 + 2000);
  }
  dealer.queued(4, 1000, 20'000);
  dealer.queued(5, 1000, 20'100);
  CHECK(dealer.rest_ns(20'000) == Approx(4000));
  CHECK(dealer.rest_ns(20'500) == Approx(3500));
  CHECK(dealer.rest_ns(90'000) == Approx(2000));  // it is late: only what is behind it is sure
  dealer.host_took(1000, 1000);
  dealer.host_took(1000, 1000);
  CHECK(dealer.host_piece(10'000, 10'000, 20'000) == Approx(3000));
  dealer.done(7, 20'600);  // nothing is known of it
  dealer.done(4, 22'000);
  dealer.done(5, 22'000);
  CHECK(dealer.rest_ns(22'000) == 0);
}
