#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "gpu/contests.h"
#include "gpu/entrants.h"
#include "run/backends/device_staging.h"
#include "scheduler/executor.h"

namespace anabranch::bench {
namespace {

constexpr const char* by_the_clock_of_the_gpu = "page-locked; by the GPU's clock";

/// Memory whose pages are there.
PinnedBuffer filled(std::size_t bytes) {
  PinnedBuffer out(bytes);
  std::memset(out.data<void>(), 1, bytes);
  return out;
}

}  // namespace

nlohmann::json hold_device(const Bench& bench, const std::string& name, double bytes) {
  Contest contest(bench, name, fmt::format("{:.3g} MB, moved by the GPU in its memory", bytes / 1e6));
  enter_copy(contest, bytes);
  enter_read(contest, bytes);
  return contest.hold();
}

nlohmann::json hold_link(const Bench& bench, const std::string& name, double bytes) {
  Contest contest(bench, name, fmt::format("{:.3g} MB each way; GB/s of both together", bytes / 1e6));
  const auto size = static_cast<std::size_t>(bytes);
  const PinnedBuffer from = filled(size), to = filled(size);
  const DeviceBuffer above = noise(size), below = noise(size);
  contest.enter("up", [&] {
    return Contender{.run = [&] { copy_to_device(above.data(), from.data<void>(), size); },
                     .right = {},
                     .bytes = bytes,
                     .note = by_the_clock_of_the_gpu};
  });
  contest.enter("down", [&] {
    return Contender{.run = [&] { copy_from_device(to.data<void>(), below.data(), size); },
                     .right = {},
                     .bytes = bytes,
                     .note = by_the_clock_of_the_gpu};
  });
  contest.enter("up and down", [&] {
    return Contender{
        .run = [&] { copy_both_ways(above.data(), from.data<void>(), to.data<void>(), below.data(), size); },
        .right = {},
        .bytes = 2 * bytes,
        .note = by_the_clock_of_the_gpu};
  });
  return contest.hold();
}

nlohmann::json hold_staging(const Bench& bench, const std::string& name, double bytes) {
  Contest contest(bench, name,
                  fmt::format("{:.3g} MB from pageable to page-locked memory, by the processor; GB/s of what "
                              "is copied",
                              bytes / 1e6));
  const auto size = static_cast<std::int64_t>(bytes);
  const Buffer<double> from = random_vector(size / 8 + 1, 7);
  const PinnedBuffer to = filled(static_cast<std::size_t>(size));
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  for (const int threads : {1, 2, 4, 8, 16}) {
    if (threads > processors) break;
    contest.enter(fmt::format("{} threads", threads), [&] {
      std::shared_ptr<scheduler::Executor> executor = scheduler::make_tbb_executor(threads);
      return Contender{
          .run = [=, &from, &to] { runtime::fill_staging(*executor, to.data<void>(), from.data(), size); },
          .right =
              [=, &from, &to] {
                return std::memcmp(to.data<void>(), from.data(), static_cast<std::size_t>(size)) == 0;
              },
          .bytes = bytes,
          .on_stream = false};
    });
  }
  nlohmann::json out = contest.hold();
  out["why_fewer"] = fmt::format("the machine has {} processors", processors);
  return out;
}

}  // namespace anabranch::bench
