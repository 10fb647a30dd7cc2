#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gpu/contest.h"
#include "gpu/cub_peers.h"
#include "gpu/resident_programs.h"
#include "support/matrices.h"

/// Who enters several contests: our kernel, and what the GPU's memory allows.
namespace anabranch::bench {

/// How many of its threads a multiprocessor can have at a time: of what is launched first, which does the most, and of all.
inline nlohmann::json occupancy_of(const ResidentKernel& kernel) {
  nlohmann::json out = nlohmann::json::object();
  try {
    for (const ResidentKernel::Started& launch : kernel.launches()) {
      const double share = occupancy(launch.function, launch.block);
      if (!out.contains("occupancy")) out["occupancy"] = share;
      out["launches"].push_back({{"grid", launch.grid}, {"block", launch.block}, {"occupancy", share}});
    }
  } catch (const std::exception& e) {
    out["why_no_occupancy"] = e.what();
  }
  return out;
}

/// `right`: is the result what it should be?
inline Contender contender_of(std::shared_ptr<ResidentKernel> kernel, const std::function<bool()>& right,
                              double bytes) {
  return Contender{.run = [kernel] { (*kernel)(bench_stream()); },
                   .right = [kernel, right] { return kernel->check(), right(); },
                   .bytes = bytes,
                   .prepare_ms = kernel->compile_ms(),
                   .note = kernel->schedule() + "; prepared: compiled",
                   .facts = occupancy_of(*kernel)};
}

/// A whole run that takes microseconds, and waits by itself.
inline Contender short_run(std::function<void()> run, std::function<bool()> right, std::string note) {
  return Contender{.run = std::move(run),
                   .right = std::move(right),
                   .on_stream = false,
                   .calls = 100,
                   .note = std::move(note)};
}

/// What a launch that is waited for takes: the driver's way to the GPU and back.
inline void enter_launch(Contest& contest) {
  contest.enter("one launch", [] {
    const DeviceBuffer in(256), out(256);
    const auto run = [kernel = resident_squares<double>(4, in.address(), out.address()), in, out] {
      (*kernel)(bench_stream());
      device_wait();
    };
    return short_run(run, {}, "of a kernel that is there, waited for");
  });
}

/// Memory full of numbers that do not repeat nearby: zeros may be faster than what a program reads.
inline DeviceBuffer noise(std::size_t bytes) {
  const Buffer<double> numbers = random_vector(1 << 20, 7);
  const DeviceBuffer out(bytes);
  for (std::size_t at = 0; at < bytes; at += numbers.span().size_bytes())
    out.upload(numbers.data(), std::min(numbers.span().size_bytes(), bytes - at), at);
  return out;
}

/// Reads as much as the contest moves, and writes nothing.
inline void enter_read(Contest& contest, double bytes) {
  contest.enter("device read", [bytes] {
    const auto n = static_cast<std::int64_t>(bytes / sizeof(double));
    const DeviceBuffer in = noise(static_cast<std::size_t>(n) * sizeof(double)), out(sizeof(double));
    auto sum = std::make_shared<CubSum<double>>(n, in.data<double>(), nullptr, out.data<double>());
    return Contender{.run = [sum, in, out] { (*sum)(); },
                     .right = {},
                     .bytes = static_cast<double>(n) * sizeof(double),
                     .note = "CUB's sum of as many bytes"};
  });
}

/// Moves as much, half of it read and half written.
inline void enter_copy(Contest& contest, double bytes) {
  contest.enter("device copy", [bytes] {
    const auto half = static_cast<std::size_t>(bytes / 2);
    const DeviceBuffer from = noise(half), to(half);
    return Contender{.run = [=] { copy_on_device(to.data(), from.data(), half); },
                     .right = {},
                     .bytes = 2.0 * static_cast<double>(half),
                     .note = "as many bytes read and written together"};
  });
}

}  // namespace anabranch::bench
