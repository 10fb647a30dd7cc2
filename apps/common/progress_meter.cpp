#include "apps/common/progress_meter.h"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "apps/common/byte_size.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

constexpr double lately_seconds = 2, between_moments = 0.1;
/// Before that nothing is known of rates.
constexpr double least_seconds = 0.2;

double share(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(all, 1));
}

}  // namespace

std::string short_count(double number) {
  constexpr std::array prefixes{"", " k", " M", " G", " T", " P", " E"};
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) number /= 1000;
  const int digits = prefix == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", number, digits, prefixes[prefix]);
}

std::string short_time(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

void ProgressMeter::add(const Progress& progress) {
  if (progress.stage != now_.stage || progress.items < now_.items) lately_.clear();
  now_ = progress;
  if (!lately_.empty() && now_.seconds - lately_.back().seconds < between_moments) return;
  lately_.push_back(now_);
  while (lately_.size() > 2 && now_.seconds - lately_[1].seconds >= lately_seconds) lately_.pop_front();
}

/// Elements tell better than items, whose sizes differ. Below 0: not known.
double ProgressMeter::done() const {
  if (now_.total_work && *now_.total_work > 0) return share(now_.work, *now_.total_work);
  if (now_.total_items && *now_.total_items > 0) return share(now_.items, *now_.total_items);
  return -1;
}

std::string ProgressMeter::rate(const Progress& since) const {
  const double seconds = now_.seconds - since.seconds;
  if (seconds < least_seconds) return {};
  if (now_.bytes > 0) return byte_rate_text(per_second(now_.bytes - since.bytes, seconds));
  return rate_text(per_second(now_.items - since.items, seconds), "item");
}

/// At the rate of the last seconds.
std::string ProgressMeter::left() const {
  const double all = done();
  if (all <= 0 || all >= 1 || now_.seconds < least_seconds || lately_.empty()) return {};
  ProgressMeter before;
  before.now_ = lately_.front();
  const double since = now_.seconds - before.now_.seconds;
  const double lately = since < least_seconds ? 0 : (all - std::max(before.done(), 0.0)) / since;
  const double rate = lately > 0 ? lately : all / now_.seconds;
  return short_time(std::max(1 - all, 0.0) / rate) + " left";
}

std::string ProgressMeter::text(std::size_t columns) const {
  struct Part {
    int rank;  ///< 0 stays the longest
    std::string text;
  };
  std::vector<Part> parts;
  const auto add = [&](int rank, std::string text) {
    if (!text.empty()) parts.push_back({rank, std::move(text)});
  };
  if (const double all = done(); all >= 0) add(0, fmt::format("{:3.0f} %", 100 * std::min(all, 1.0)));
  std::string items = short_count(static_cast<double>(now_.items));
  if (now_.total_items) items += " of " + short_count(static_cast<double>(*now_.total_items));
  add(3, items + " items");
  if (now_.work > 0 && now_.work != now_.items)
    add(5, short_count(static_cast<double>(now_.work)) + " elements");
  if (now_.bytes > 0) add(4, decimal_bytes(now_.bytes));
  if (!lately_.empty())
    if (const std::string now = rate(lately_.front()); !now.empty()) add(2, now + " now");
  if (const std::string mean = rate({}); !mean.empty()) add(6, mean + " on average");
  add(1, left());

  const auto joined = [](const std::vector<Part>& all) {
    std::string text;
    for (const Part& part : all) text += (text.empty() ? "" : ", ") + part.text;
    return text;
  };
  std::string text = joined(parts);
  while (text.size() > columns && parts.size() > 1) {
    parts.erase(std::max_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.rank < b.rank; }));
    text = joined(parts);
  }
  return text.substr(0, columns);
}

}  // namespace anabranch::apps
