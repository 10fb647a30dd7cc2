#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "run/record/run_trace.h"
#include "timeline/overlap.h"

/// When the GPU did what: rows of a run's timeline, and how much copies and kernels overlapped.
namespace anabranch::runtime {

/// A piece of work on a stream.
struct DeviceWork {
  enum class Kind : std::uint8_t { upload, kernel, download };
  Kind kind{};
  std::string name;
  std::int64_t bytes = 0;  ///< of a copy
  std::string why = {};    ///< of a kernel: the reason of its schedule
};

/// Of all streams of a run. Thread-safe.
///
/// Times of the GPU come from events: of a reference, it is known when it was reached on the host's clock;
/// for any other one, the driver tells how long after the reference it was reached.
class DeviceTrace {
 public:
  using Event = std::unique_ptr<cuda::DeviceEvent>;

  DeviceTrace(RunTrace& run, const std::shared_ptr<cuda::Device>& device);

  RunTrace& run() { return run_; }
  ChunkPlace place() const { return run_.place(); }
  /// When an event was reached. It has been waited for.
  std::int64_t reached_ns(const cuda::DeviceEvent& event) const;
  /// Counts work of a stream, and draws it where its chunk is drawn.
  void add(int stream, const ChunkPlace& place, const DeviceWork& work, timeline::Interval when);
  /// Exchanges the reference for this event where the reference is long past: the driver's figures have 24 bits.
  void renew_reference(Event& event);
  timeline::OverlapTimes overlap() const;

 private:
  std::int64_t after_reference_ns(const cuda::DeviceEvent& event) const;

  RunTrace& run_;
  mutable std::mutex mutex_;
  Event reference_;
  std::int64_t reference_ns_ = 0;
  timeline::Overlap overlap_;
};

/// A stream of a run. Where the run is traced, there are events around each piece of work, which is drawn
/// when the stream has been waited for; else there are none.
class DeviceStream {
 public:
  /// `trace`: null: not traced. `number`: from 0 on; tells the rows of the run's streams apart.
  DeviceStream(const std::shared_ptr<cuda::Device>& device, DeviceTrace* trace, int number)
      : stream_(device), trace_(trace), number_(number) {}

  void upload(cuda::Address to, const void* from, std::int64_t bytes);
  void download(void* to, cuda::Address from, std::int64_t bytes);
  /// `enqueue` puts the launches of one kernel on the stream it is given.
  template <class F>
  void kernel(const std::string& name, const std::string& why, F&& enqueue) {
    if (!trace_) return enqueue(stream_);
    timed({DeviceWork::Kind::kernel, name, 0, why}, [&] { enqueue(stream_); });
  }
  /// What is enqueued from now on is of the chunk that is computed now, whichever thread enqueues it; so is what is in flight.
  void begin_chunk() {
    if (!trace_) return;
    place_ = trace_->place();
    for (Timed& t : in_flight_) t.place = *place_;
  }
  void record(cuda::Event event) { stream_.record(event); }
  void synchronize();
  bool idle() { return stream_.idle(); }
  /// As cuda::Stream's; work that was in flight is not drawn.
  void drain() noexcept;

 private:
  struct Timed {
    DeviceWork work;
    ChunkPlace place;
    DeviceTrace::Event begin, end;
  };
  template <class F>
  void timed(DeviceWork work, F&& enqueue) {
    DeviceTrace::Event begin = record();
    enqueue();
    in_flight_.push_back({std::move(work), place_ ? *place_ : trace_->place(), std::move(begin), record()});
  }
  DeviceTrace::Event record();
  void draw();

  cuda::Stream stream_;
  DeviceTrace* trace_;
  int number_;
  std::optional<ChunkPlace> place_;  ///< none: of whatever is computed when something is enqueued
  std::vector<Timed> in_flight_;
  std::vector<DeviceTrace::Event> spare_;  ///< making an event takes longer than recording it
  std::int64_t drawn_to_ns_ = INT64_MIN;
};

}  // namespace anabranch::runtime
