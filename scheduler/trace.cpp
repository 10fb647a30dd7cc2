#include "scheduler/trace.h"

#include <algorithm>

namespace anabranch::scheduler {
namespace {

// The controller does most of its learning here, so these chunks are always kept.
constexpr int64_t first_chunks = 256;

double rate(int64_t amount, int64_t ns) {
  return ns > 0 ? static_cast<double>(amount) * 1e9 / static_cast<double>(ns) : 0;
}

// op on each of the three numbers.
template <class Op>
ChunkSize each(const ChunkSize& a, const ChunkSize& b, Op op) {
  return {op(a.items, b.items), op(a.work, b.work), op(a.bytes, b.bytes)};
}

int64_t least_of(int64_t a, int64_t b) { return std::min(a, b); }
int64_t most_of(int64_t a, int64_t b) { return std::max(a, b); }
int64_t sum_of(int64_t a, int64_t b) { return a + b; }

}  // namespace

double Summary::items_per_second() const noexcept { return rate(total.items, wall_ns); }
double Summary::work_per_second() const noexcept { return rate(total.work, wall_ns); }
double Summary::bytes_per_second() const noexcept { return rate(total.bytes, wall_ns); }

Trace::Trace(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 2 * first_chunks)),
      records_(capacity_, first_chunks),
      sizes_(capacity_) {}

void Trace::begin(int64_t now_ns, int concurrency) {
  begin_ns_ = now_ns;
  concurrency_ = std::max(concurrency, 1);
}

void Trace::add(ChunkTimes record) {
  const ChunkSize& size = record.size;
  Summary& sum = summary_;
  sum.least = sum.chunks == 0 ? size : each(sum.least, size, least_of);
  sum.most = each(sum.most, size, most_of);
  sum.total = each(sum.total, size, sum_of);
  sum.phase_ns.read += record.read_ns();
  sum.phase_ns.wait += record.wait_ns;
  sum.phase_ns.compute += record.compute_ns();
  sum.phase_ns.write += record.write.length();
  ++sum.by_reason[static_cast<std::size_t>(record.decision.reason)];
  in_flight_ += record.in_flight;
  sum.most_in_flight = std::max(sum.most_in_flight, record.in_flight);
  record.chunk = sum.chunks++;
  record.so_far = sum.total;
  sum.mean_in_flight = static_cast<double>(in_flight_) / static_cast<double>(sum.chunks);
  if (measure_) record.memory = measure_(std::max(record.compute.end_ns, record.write.end_ns));
  MemoryUse& most = sum.most_memory;
  most = {std::max(most.held, record.memory.held), std::max(most.device_held, record.memory.device_held),
          std::max(most.resident, record.memory.resident)};
  sizes_.add(size);
  records_.add(record);
  if (callback_) callback_(record);
}

void Trace::end(int64_t now_ns, int64_t busy_ns) {
  const int64_t wall_ns = now_ns - begin_ns_;
  summary_.wall_ns += wall_ns;
  busy_ns_ += static_cast<double>(busy_ns);
  thread_ns_ += static_cast<double>(wall_ns) * concurrency_;
  summary_.utilisation = thread_ns_ > 0 ? std::clamp(busy_ns_ / thread_ns_, 0.0, 1.0) : 0;
}

ChunkSize Trace::median() const {
  const auto of = [this](int64_t ChunkSize::* number) {
    std::vector<int64_t> all;
    for (const ChunkSize& size : sizes_.kept()) all.push_back(size.*number);
    if (all.empty()) return int64_t{0};
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  };
  return {of(&ChunkSize::items), of(&ChunkSize::work), of(&ChunkSize::bytes)};
}

}  // namespace anabranch::scheduler
