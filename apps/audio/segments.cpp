#include "apps/audio/segments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/common/each_line.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

constexpr std::string_view separators = " \t,";

/// The numbers of a line; nothing where there is anything else.
std::optional<std::vector<double>> numbers_of(std::string_view line) {
  std::vector<double> out;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(separators);
    if (begin == std::string_view::npos) return out;
    line.remove_prefix(begin);
    double value = 0;
    const char* const at = line.data();
    const auto [end, error] = std::from_chars(at, at + line.size(), value);
    line.remove_prefix(static_cast<std::size_t>(end - at));
    if (error == std::errc::result_out_of_range)  // infinite, or 0
      value = std::strtod(std::string(at, end).c_str(), nullptr);
    if (error == std::errc::invalid_argument || std::isnan(value) ||
        (!line.empty() && separators.find(line.front()) == std::string_view::npos))
      return {};
    out.push_back(value);
  }
}

}  // namespace

std::vector<Segment> read_segments(const std::string& path, SegmentUnit unit, double rate,
                                   std::int64_t samples, const SegmentLengths& lengths, std::int64_t memory) {
  std::vector<Segment> out;
  each_line(io::open_lines(path, {.longest = 4096}), [&](std::int64_t number, std::string_view line) {
    const std::size_t begin = line.find_first_not_of(separators);
    if (begin == std::string_view::npos || line[begin] == '#') return;
    const auto refuse = [&](const std::string& why) {
      throw DataError(fmt::format("{}: line {}: {}", path, number, why));
    };
    const auto numbers = numbers_of(line);
    if (!numbers || numbers->size() != 2)
      refuse("a segment is two numbers, where it begins and its length, with a comma or white space between");
    const double scale = unit == SegmentUnit::seconds ? rate : 1;
    const double at = (*numbers)[0] * scale, length = (*numbers)[1] * scale;
    if (unit == SegmentUnit::samples && (at != std::floor(at) || length != std::floor(length)))
      refuse("these are no whole numbers of samples (--segment-unit seconds?)");
    if (!(at >= 0 && length >= 0 && std::round(at) + std::round(length) <= static_cast<double>(samples)))
      refuse(fmt::format("not within the {} of the signal", counted(samples, "sample")));
    const Segment segment{std::llround(at), std::llround(length)};
    if (segment.length < lengths.least || segment.length > lengths.most)
      refuse(fmt::format("{}; what is asked for takes {}", counted(segment.length, "sample"), lengths.text));
    if (!out.empty() && segment.begin < out.back().begin)
      refuse("it begins before the segment above does; segments are given in the order in which they begin");
    // While they move to a larger place both are there.
    const std::size_t places = out.capacity();
    if (out.size() == places && static_cast<std::int64_t>(3 * places * sizeof(Segment)) > memory)
      throw ResourceError(
          fmt::format("{}: line {}: the segments up to here are {}, too many for the memory bound of {}",
                      path, number, out.size(), counted(memory, "byte")));
    out.push_back(segment);
  });
  out.shrink_to_fit();
  return out;
}

SegmentSource::SegmentSource(const std::string& path, const io::AudioHeader& header,
                             std::span<const Segment> segments, std::int64_t memory)
    : signal_(0, PadMode::constant, memory), segments_(segments), memory_(memory) {
  signal_.open(path, header);
  info_ = signal_.info();
  info_.items = std::ssize(segments_);
  std::int64_t work = 0;
  for (const Segment& s : segments_) {
    work += s.length;
    longest_ = std::max(longest_, s.length);
  }
  info_.work = work;
  const std::int64_t bytes = resident_bytes() + 4 * longest_;  // and the chunk
  if (bytes > memory_)
    throw ResourceError(
        fmt::format("{}: with a longest segment of {}, reading segments takes {} bytes, more than "
                    "the memory bound of {}",
                    info_.name, counted(longest_, "sample"), bytes, memory_));
}

// Half of what is held when more is read may be behind the segment at hand (hold).
std::int64_t SegmentSource::most_held() const { return 2 * longest_ + SignalSource::block; }

void SegmentSource::rewind() {
  signal_.rewind();
  next_ = 0;
  held_.clear();
  held_begin_ = 0;
}

std::int64_t SegmentSource::resident_bytes() const {
  return signal_.resident_bytes() + static_cast<std::int64_t>(segments_.size_bytes()) +
         4 * (most_held() + SignalSource::block);  // and the block that is read
}

bool SegmentSource::next(const Limit& limit, SourceChunk& chunk) {
  if (next_ == segments_.size()) return false;
  const auto samples = std::make_shared<std::vector<float>>();
  const auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  const std::int64_t memory = std::min(limit.memory, memory_), most = std::min(limit.bytes, memory);
  for (std::int64_t items = 0;
       next_ < segments_.size() && items < limit.items && !(items > 0 && limit.stop.stop_requested());
       ++items) {
    const Segment& segment = segments_[next_];
    const std::int64_t work = std::ssize(*samples) + segment.length;
    if (items > 0 && (work > limit.work || work * 4 + (items + 2) * 8 > most)) break;
    if (!hold(segment, limit, memory)) {
      if (items == 0) throw Cancelled("the run was cancelled");
      break;
    }
    const auto begin = held_.begin() + (segment.begin - held_begin_);
    samples->insert(samples->end(), begin, begin + segment.length);
    offsets->push_back(work);
    ++next_;
  }
  chunk = {};
  chunk.items = std::ssize(*offsets) - 1;
  chunk.work = std::ssize(*samples);
  chunk.bytes = static_cast<std::int64_t>(samples->capacity() * 4 + offsets->capacity() * 8);
  chunk.arrays.resize(1);
  chunk.arrays[0].data.emplace_back(samples, samples->data());
  chunk.arrays[0].offsets = std::shared_ptr<const void>(offsets, offsets->data());
  return true;
}

bool SegmentSource::hold(const Segment& segment, const Limit& limit, std::int64_t memory) {
  const std::int64_t bytes = 4 * segment.length + 16;  // in the chunk
  if (bytes > memory)
    throw ItemTooBig(fmt::format("{}: segment {} of {} takes {} bytes of memory, and {} are left", info_.name,
                                 next_ + 1, counted(segment.length, "sample"), bytes, memory),
                     bytes);
  for (SourceChunk read;;) {
    const std::int64_t unneeded = std::min(segment.begin - held_begin_, std::ssize(held_));
    if (2 * unneeded >= std::ssize(held_)) {
      held_.erase(held_.begin(), held_.begin() + unneeded);
      held_begin_ += unneeded;
    }
    if (held_begin_ + std::ssize(held_) >= segment.begin + segment.length) return true;
    if (limit.stop.stop_requested()) return false;
    if (!signal_.next({.items = 1}, read))
      throw DataError(fmt::format("{}: ends before segment {} does", info_.name, next_ + 1));
    const auto* samples = static_cast<const float*>(read.arrays[0].data[0].get());
    held_.reserve(static_cast<std::size_t>(most_held()));
    held_.insert(held_.end(), samples, samples + read.work);
  }
}

}  // namespace anabranch::apps
