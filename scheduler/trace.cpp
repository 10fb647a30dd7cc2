#include "scheduler/trace.h"

#include <algorithm>
#include <vector>

namespace anabranch::scheduler {
namespace {

// The controller does most of its learning here, so these chunks are always kept.
constexpr int64_t first_chunks = 256;

double rate(int64_t amount, int64_t ns) {
  return ns > 0 ? static_cast<double>(amount) * 1e9 / static_cast<double>(ns) : 0;
}

}  // namespace

double Summary::items_per_second() const noexcept { return rate(total.items, wall_ns); }
double Summary::work_per_second() const noexcept { return rate(total.work, wall_ns); }
double Summary::bytes_per_second() const noexcept { return rate(total.bytes, wall_ns); }

Trace::Trace(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 2 * first_chunks)) {}

void Trace::begin(int64_t now_ns, int concurrency) {
  summary_ = Summary{};
  records_.clear();
  sizes_.clear();
  stride_ = 1;
  size_stride_ = 1;
  begin_ns_ = now_ns;
  concurrency_ = std::max(concurrency, 1);
}

bool Trace::is_kept(int64_t chunk) const noexcept { return chunk < first_chunks || chunk % stride_ == 0; }

void Trace::add(const ChunkTimes& record) {
  const int64_t chunk = summary_.chunks;
  const ChunkSize& size = record.size;
  summary_.min_items = chunk == 0 ? size.items : std::min(summary_.min_items, size.items);
  summary_.max_items = std::max(summary_.max_items, size.items);
  summary_.max_chunk_bytes = std::max(summary_.max_chunk_bytes, size.bytes);
  summary_.total.items += size.items;
  summary_.total.work += size.work;
  summary_.total.bytes += size.bytes;
  summary_.phase_ns.read += record.read.length();
  summary_.phase_ns.wait += record.wait_ns;
  summary_.phase_ns.compute += record.compute.length();
  summary_.phase_ns.write += record.write.length();
  ++summary_.chunks;

  if (chunk % size_stride_ == 0) {
    if (sizes_.size() == capacity_) {
      size_stride_ *= 2;
      for (std::size_t i = 0; 2 * i < sizes_.size(); ++i) sizes_[i] = sizes_[2 * i];
      sizes_.resize((sizes_.size() + 1) / 2);
    }
    if (chunk % size_stride_ == 0) sizes_.push_back(size.items);
  }
  if (is_kept(chunk)) {
    if (records_.size() == capacity_) {
      stride_ *= 2;
      std::erase_if(records_, [this](const ChunkTimes& r) { return !is_kept(r.chunk); });
    }
    if (is_kept(chunk)) {
      records_.push_back(record);
      records_.back().chunk = chunk;
    }
  }
  if (callback_) callback_(record);
}

void Trace::end(int64_t now_ns, int64_t busy_ns) {
  summary_.wall_ns = now_ns - begin_ns_;
  const double thread_time = static_cast<double>(summary_.wall_ns) * concurrency_;
  summary_.utilisation =
      thread_time > 0 ? std::clamp(static_cast<double>(busy_ns) / thread_time, 0.0, 1.0) : 0;
}

Summary Trace::summary() const {
  Summary result = summary_;
  if (!sizes_.empty()) {
    std::vector<int64_t> sizes = sizes_;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    result.median_items = *middle;
  }
  return result;
}

}  // namespace anabranch::scheduler
