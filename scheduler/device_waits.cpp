#include "scheduler/device_waits.h"

#include <algorithm>
#include <cmath>

namespace anabranch::scheduler {
namespace {

// Threads wait for each other, too, for new memory say, above all at the beginning: a few pieces prove nothing, unless they
// have waited for so long, and one of many that waits does not either.
constexpr int64_t fewest_pieces = 8;
constexpr int64_t long_ns = 20'000'000;
constexpr double often_enough = 0.3;

constexpr double importance = 1.0 / 8;  // of a new piece in the means
constexpr double begins = 0.06;         // waits of this share of the processor time are worth a thread
constexpr double ends = begins / 2;     // and of less than this are not any more
constexpr int fewest_readers = 2;       // a device has the next request before it has answered one
constexpr int most_readers = 16;        // more requests at once make no disk faster

}  // namespace

bool DeviceWaits::Waited::is_worth_a_thread(bool was, double busy) const noexcept {
  return ns > (was ? ends : begins) * busy && often > (was ? often_enough / 2 : often_enough);
}

void DeviceWaits::add(const Piece& piece) noexcept {
  const double part = std::max(importance, 1.0 / static_cast<double>(++added_));
  const auto learn = [&](double& mean, double seen) { mean += part * (seen - mean); };
  const auto busy = static_cast<double>(piece.read_ns - piece.read_waited_ns + piece.write_ns -
                                        piece.write_waited_ns + piece.compute_ns);
  const auto learn_waiting = [&](Waited& mean, int64_t ns) {
    const auto waited = static_cast<double>(ns);
    learn(mean.ns, waited);
    learn(mean.often, waited > ends * busy ? 1 : 0);
    waited_ns_ += ns;
  };
  learn(read_, static_cast<double>(piece.read_ns));
  learn(busy_, busy);
  learn_waiting(reading_, piece.read_waited_ns);
  learn_waiting(writing_, piece.write_waited_ns);
  if (added_ < fewest_pieces && waited_ns_ < long_ns) return;

  writer_ = writing_.is_worth_a_thread(writer_, busy_);
  if (!reading_.is_worth_a_thread(readers_ > 0, busy_)) {
    readers_ = 0;
  } else {
    const double needed = busy_ > 0 ? std::ceil(computing_ * read_ / busy_) : most_readers;
    const double most = std::clamp(computing_, fewest_readers, most_readers);
    readers_ = static_cast<int>(std::clamp<double>(needed, fewest_readers, most));
  }
}

}  // namespace anabranch::scheduler
