#include "gpu/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <random>
#include <stdexcept>

#include "gpu/libraries.h"

namespace anabranch::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Clocks of a GPU that was idle take tenths of a second to rise.
constexpr double warm_up_seconds = 0.2;
/// Events tell half a microsecond.
constexpr double sample_seconds = 2e-3;
constexpr int most_calls = 200;
constexpr std::size_t least_rounds = 3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Sorts them.
double quantile(std::vector<double>& samples, double q) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<std::size_t>(q * static_cast<double>(samples.size() - 1) + 0.5)];
}

}  // namespace

bool Bench::has_time() const { return seconds_since(start_) < settings_.seconds; }

std::int64_t Bench::scaled(double n, double power) const {
  return std::max<std::int64_t>(16, static_cast<std::int64_t>(n * std::pow(settings_.scale, power)));
}

void Contest::enter(const std::string& name, const std::function<Contender()>& make) {
  if (!bench_.settings().contender.empty() && bench_.settings().contender != name) return;
  Entry entry{.name = name, .contender = {}, .is_rehearsal = bench_.settings().is_rehearsal(), .graph = {}};
  try {
    const auto start = Clock::now();
    entry.contender = make();
    device_wait();
    Contender& c = entry.contender;
    if (c.prepare_ms == 0) c.prepare_ms = seconds_since(start) * 1e3;
    c.run();
    device_wait();
    if (c.right && !c.right()) throw std::runtime_error("wrong result");
  } catch (const std::exception& e) {
    entry.failed = e.what();
  }
  entries_.push_back(std::move(entry));
}

void Contest::warm_up(Entry& entry) {
  Contender& c = entry.contender;
  if (entry.is_rehearsal) return;
  if (!c.on_stream) {
    entry.calls = c.calls;  // making it was a whole run
    return;
  }
  const auto start = Clock::now();
  double one = 0;
  do {
    one = device_seconds([&] {
            for (int k = 0; k < 10; ++k) c.run();
          }) /
          10;
  } while (seconds_since(start) < warm_up_seconds);
  entry.calls = std::clamp(static_cast<int>(std::ceil(sample_seconds / one)), 1, most_calls);
  try {
    entry.graph.emplace([&] {
      for (int k = 0; k < entry.calls; ++k) c.run();
    });
  } catch (const std::exception& e) {
    c.note += fmt::format("{}no graph: {}", c.note.empty() ? "" : "; ", e.what());
  }
}

void Contest::measure(Entry& entry) {
  const Contender& c = entry.contender;
  device_wait();
  if (!c.on_stream) {
    const auto start = Clock::now();
    for (int k = 0; k < entry.calls; ++k) c.run();
    if (entry.calls == 1) device_wait();  // short ones wait by themselves
    entry.launched.push_back(seconds_since(start) / (entry.calls * static_cast<double>(c.turns)));
    return;
  }
  entry.launched.push_back(device_seconds([&] {
                             for (int k = 0; k < entry.calls; ++k) c.run();
                           }) /
                           entry.calls);
  if (entry.graph) entry.replayed.push_back(device_seconds(*entry.graph) / entry.calls);
}

void Contest::attempt(Entry& entry, void (*what)(Entry&)) {
  if (!entry.failed.empty()) return;
  try {
    what(entry);
  } catch (const std::exception& e) {
    entry.failed = e.what();
  }
}

void Contest::play_rounds() {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (std::size_t round = 0; round < static_cast<std::size_t>(bench_.settings().rounds); ++round) {
    if (round >= least_rounds && !bench_.has_time()) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) attempt(entries_[i], measure);
  }
}

nlohmann::json Contest::line_of(Entry& entry) {
  if (!entry.failed.empty()) return {{"contender", entry.name}, {"error", entry.failed}};
  const Contender& c = entry.contender;
  std::vector<double>& samples = entry.graph ? entry.replayed : entry.launched;
  const double median = quantile(samples, 0.5);
  nlohmann::json line{{"contender", entry.name},
                      {"seconds", median},
                      {"launched_seconds", quantile(entry.launched, 0.5)},
                      {"graph", entry.graph.has_value()},
                      {"gb_per_s", c.bytes / median / 1e9},
                      {"spread", quantile(samples, 0.9) / quantile(samples, 0.1) - 1},
                      {"prepare_ms", c.prepare_ms},
                      {"note", c.note},
                      {"rounds", samples.size()},
                      {"runs_a_round", entry.calls}};
  line.update(c.facts);
  return line;
}

void Contest::print(const nlohmann::json& lines) const {
  fmt::print(
      "\n### {}: {}\n\n| contender | time | as launched | GB/s | 10-90 % | prepared in | |\n"
      "|---|---|---|---|---|---|---|\n",
      name_, note_);
  for (const nlohmann::json& line : lines) {
    const auto name = line["contender"].get<std::string>();
    if (line.contains("error")) {
      fmt::print("| {} | - | | | | | {} |\n", name, line["error"].get<std::string>());
      continue;
    }
    const auto number = [&](const char* key) { return line[key].get<double>(); };
    fmt::print("| {} | {:.1f} us | {:.1f} us | {:.1f} | {:.0f} % | {:.2f} ms | {} |\n", name,
               number("seconds") * 1e6, number("launched_seconds") * 1e6, number("gb_per_s"),
               number("spread") * 100, number("prepare_ms"), line["note"].get<std::string>());
  }
  std::fflush(stdout);
}

nlohmann::json Contest::hold() {
  for (Entry& entry : entries_) attempt(entry, warm_up);
  const std::optional<Clocks> before = clocks_mhz();
  play_rounds();
  const std::optional<Clocks> after = clocks_mhz();  // at once: an idle GPU's fall
  nlohmann::json lines = nlohmann::json::array();
  for (Entry& entry : entries_) lines.push_back(line_of(entry));
  print(lines);
  nlohmann::json out{{"name", name_}, {"note", note_}, {"lines", lines}};
  if (before && after) {
    fmt::print("\nclocks before and after the rounds: multiprocessors {} and {} MHz, memory {} and {} MHz\n",
               before->multiprocessors, after->multiprocessors, before->memory, after->memory);
    out["sm_mhz"] = {before->multiprocessors, after->multiprocessors};
    out["memory_mhz"] = {before->memory, after->memory};
  }
  return out;
}

}  // namespace anabranch::bench
