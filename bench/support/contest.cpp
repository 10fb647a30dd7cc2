#include "contest.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "quiet.h"

namespace anabranch::bench {

namespace {

constexpr int left_out = 2;
constexpr std::size_t enough = 7;  ///< undisturbed measurements

struct Settings {
  int rounds = 20;
  double patience = 1;
  bool cpu_clock = false;
  std::vector<int> threads{1, 2};
} settings;

struct Samples {
  std::vector<double> clean, all;

  void add(double seconds, bool disturbed) {
    all.push_back(seconds);
    if (!disturbed) clean.push_back(seconds);
  }
  static double quantile(std::vector<double> v, double q) {
    std::sort(v.begin(), v.end());
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1) + 0.5)];
  }
  bool reliable() const { return clean.size() >= enough; }
  /// The median of the undisturbed measurements. Too few: the lower quartile of all, because disturbances
  /// only ever make a run longer.
  double typical() const { return reliable() ? quantile(clean, 0.5) : quantile(all, 0.25); }
  double spread() const {
    const std::vector<double>& v = reliable() ? clean : all;
    return quantile(v, 0.9) / quantile(v, 0.1) - 1;
  }
};

struct Line {
  std::string contender;
  Role role;
  int threads;
  double seconds, rate, spread;
  std::size_t clean, all;
};
struct Outcome {
  std::string name, note, unit;
  std::vector<Line> lines;
  double target = 0;
};
std::vector<Outcome> outcomes;

void measure(const Contender& c, Samples& samples) {
  // Threads of the contender before spin for some milliseconds (libgomp) before they sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  wait_for_quiet(settings.patience);
  // Threads that slept long wake late, and for some milliseconds
  // two on one processor: that is over when the watch starts.
  if (c.threads > 1) c.run();
  const Watch watch;
  const double begin = now(c.threads);
  for (int i = 0; i < c.calls; ++i) c.run();
  const double spent = now(c.threads) - begin;
  samples.add(spent / c.calls, !settings.cpu_clock && watch.disturbed());
  if (c.right && !c.right()) throw std::runtime_error(c.name + ": wrong result");
}

Outcome hold(const std::string& name, const Contest& contest) {
  Outcome out{name, contest.note, contest.unit, {}};
  std::vector<Samples> samples(contest.contenders.size());
  for (const Contender& c : contest.contenders)
    for (int i = 0; i < left_out; ++i) c.run();
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  // Rounds in which another process interfered are repeated, within reason.
  for (int round = 0; round < 2 * settings.rounds; ++round) {
    const bool done =
        std::all_of(samples.begin(), samples.end(), [](const Samples& s) { return s.reliable(); });
    if (round >= settings.rounds && done) break;
    // In another order each time: what one leaves in the caches is not always the same one's luck.
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t c : order) measure(contest.contenders[c], samples[c]);
  }
  for (std::size_t c = 0; c < samples.size(); ++c) {
    const Contender& who = contest.contenders[c];
    const Samples& s = samples[c];
    out.lines.push_back({who.name, who.role, who.threads, s.typical(), contest.amount / s.typical() / 1e9,
                         s.spread(), s.clean.size(), s.all.size()});
  }
  return out;
}

const Line* best(const Outcome& out, Role role, int threads) {
  const Line* found = nullptr;
  for (const Line& l : out.lines)
    if (l.role == role && l.threads == threads && (!found || l.seconds < found->seconds)) found = &l;
  return found;
}
const Line* limit(const Outcome& out, int threads) {
  const Line* found = best(out, Role::limit, threads);
  for (const Line& l : out.lines)
    if (l.role == Role::part && l.threads == threads && (!found || l.seconds > found->seconds)) found = &l;
  return found;
}

std::string ratio(const Line* other, const Line& l) {
  return other && other != &l ? fmt::format("{:.2f}", other->seconds / l.seconds) : "";
}

std::string in_time(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

void print(const Outcome& out) {
  fmt::print("\n### {}{}{}\n\n", out.name, out.note.empty() ? "" : ": ", out.note);
  const bool rates = !out.lines.empty() && out.lines[0].rate > 0;
  fmt::print(
      "| contender | threads | time | {} | speed / best peer | speed / limit | 10-90 % | undisturbed |\n"
      "|---|---|---|---|---|---|---|---|\n",
      rates ? out.unit : "-");
  for (const Line& l : out.lines) {
    const bool whole = l.role != Role::limit && l.role != Role::part;
    fmt::print("| {} | {} | {} | {} | {} | {} | {:.0f} % | {} of {} |\n", l.contender, l.threads,
               in_time(l.seconds), rates ? fmt::format("{:.2f}", l.rate) : "",
               whole ? ratio(best(out, Role::peer, l.threads), l) : "",
               whole ? ratio(limit(out, l.threads), l) : "", l.spread * 100, l.clean, l.all);
  }
  std::fflush(stdout);
}

template <class Body>
void add(const std::string& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), std::move(body))
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

/// Takes "--name=value" out of the arguments: the value, or `otherwise`.
std::string take(int& argc, char** argv, const char* name, const std::string& otherwise) {
  const std::string start = std::string("--") + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], start.c_str(), start.size()) != 0) continue;
    const std::string value = argv[i] + start.size();
    for (int k = i; k + 1 < argc; ++k) argv[k] = argv[k + 1];
    --argc;
    return value;
  }
  return otherwise;
}

/// Of "1,2,4": those for which there are processors.
std::vector<int> threads_of(const std::string& list) {
  std::vector<int> out;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  std::istringstream numbers(list);
  for (std::string number; std::getline(numbers, number, ',');)
    if (const int n = std::stoi(number); n >= 1 && (n <= processors || processors == 0)) out.push_back(n);
  if (out.empty()) throw std::invalid_argument("--threads: there are no processors for " + list);
  return out;
}

}  // namespace

std::vector<Timing> timings() {
  std::vector<Timing> all;
  for (const Outcome& out : outcomes)
    for (const Line& l : out.lines)
      if (l.threads > 0) all.push_back({out.name, l.contender, l.role, l.threads, l.seconds});
  return all;
}

const std::vector<int>& thread_counts() { return settings.threads; }

double now(int threads) {
  if (!settings.cpu_clock)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9) / threads;
}

void add_contest(const std::string& name, std::function<Contest()> make) {
  add(name, [name, make = std::move(make)](benchmark::State& state) {
    for (auto _ : state) {
      try {
        const Contest contest = make();
        outcomes.push_back(hold(name, contest));
      } catch (const std::exception& e) {
        state.SkipWithError(e.what());
        return;
      }
      const Outcome& out = outcomes.back();
      for (const Line& l : out.lines)
        state.counters[fmt::format("{} x{} (ms)", l.contender, l.threads)] = l.seconds * 1e3;
      const auto library = std::find_if(out.lines.begin(), out.lines.end(),
                                        [](const Line& l) { return l.role == Role::library; });
      state.SetIterationTime(library == out.lines.end() ? out.lines[0].seconds : library->seconds);
    }
  });
}

void add_figure(const std::string& name, std::string note, double target, std::function<Measure()> prepare) {
  add(name, [=](benchmark::State& state) {
    for (auto _ : state) {
      Samples samples;
      try {
        const Measure measure = prepare();
        measure();
        for (int round = 0; round < settings.rounds; ++round) {
          wait_for_quiet(settings.patience);
          const Watch watch;
          const double seconds = measure();
          samples.add(seconds, !settings.cpu_clock && watch.disturbed());
        }
      } catch (const std::exception& e) {
        state.SkipWithError(e.what());
        return;
      }
      outcomes.push_back({name,
                          note,
                          "",
                          {{name, Role::shown, 0, samples.typical(), 0, samples.spread(),
                            samples.clean.size(), samples.all.size()}},
                          target});
      state.SetIterationTime(samples.typical());
    }
  });
}

int run_all(int argc, char** argv) {
  settings.rounds = std::max(1, std::stoi(take(argc, argv, "rounds", "20")));
  settings.patience = std::stod(take(argc, argv, "patience", "1"));
  settings.cpu_clock = take(argc, argv, "clock", "wall") == "cpu";
  if (const std::string list = take(argc, argv, "threads", ""); !list.empty())
    settings.threads = threads_of(list);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();

  bool heading = false;
  for (const Outcome& out : outcomes) {
    if (out.lines[0].threads > 0) continue;
    const Line& l = out.lines[0];
    if (!heading)
      fmt::print("\n| figure | of | median | target | 10-90 % | undisturbed |\n|---|---|---|---|---|---|\n");
    heading = true;
    fmt::print("| {} | {} | {} | {} | {:.0f} % | {} of {} |\n", out.name, out.note, in_time(l.seconds),
               out.target > 0 ? in_time(out.target) : "", l.spread * 100, l.clean, l.all);
  }
  for (const Outcome& out : outcomes)
    if (out.lines[0].threads > 0) print(out);
  return 0;
}

}  // namespace anabranch::bench
