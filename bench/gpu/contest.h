#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"

/// Contests on the GPU: contenders do the same work in turn, A B C, B C A ..., on the same data; figures are
/// medians. Whoever is not there, or wrong, has a line that says so.
namespace anabranch::bench {

struct Settings {
  int rounds = 15;
  double scale = 1;      ///< of the sizes: 0.1 for a quick look
  double seconds = 1e9;  ///< no round begins later, but for the first three of a contest
  /// Of what is next to nothing: on a simulated GPU, for whether it works.
  bool is_rehearsal() const { return scale < 0.01; }
  std::string contender;  ///< only this one enters; empty: all
  std::string traces;     ///< the folder where timelines of whole runs stay; empty: nowhere
};

/// Of the program: settings, and the time that is left.
class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {}
  const Settings& settings() const { return settings_; }
  bool has_time() const;
  std::int64_t scaled(double n, double power = 1) const;

 private:
  Settings settings_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Contender {
  std::function<void()> run;
  std::function<bool()> right;  ///< of the latest run, after a wait; empty: nothing to compare
  double bytes = 0;             ///< moved by one run
  /// `run` only enqueues on the bench's stream: timed by the GPU's clock, many runs together, and once more
  /// as a graph. Else `run` is a whole run, timed by the host's clock.
  bool on_stream = true;
  int calls = 1;           ///< of a whole run in one measurement, for what is short
  std::int64_t turns = 1;  ///< of a loop that one run is: times are of one turn
  double prepare_ms = 0;   ///< once, before the first run; 0: what making the contender took
  std::string note = {};
  nlohmann::json facts = nlohmann::json::object();  ///< more for its line of the JSON
};

class Contest {
 public:
  Contest(const Bench& bench, std::string name, std::string note)
      : bench_(bench), name_(std::move(name)), note_(std::move(note)) {}

  /// `make` prepares; what it takes is reported apart. Where it throws, or the first run is wrong, the
  /// contender is left out and the reason reported.
  void enter(const std::string& name, const std::function<Contender()>& make);
  /// Runs the rounds, prints the table, and says the same as JSON.
  nlohmann::json hold();

 private:
  struct Entry {
    std::string name;
    Contender contender;
    bool is_rehearsal = false;
    int calls = 1;               ///< in one measurement, so that it takes some milliseconds
    std::optional<Graph> graph;  ///< of `calls` runs
    std::string failed = {};
    std::vector<double> launched = {}, replayed = {};  ///< seconds of one run
  };
  /// An entry that throws is out.
  static void attempt(Entry& entry, void (*what)(Entry&));
  static void warm_up(Entry& entry);
  static void measure(Entry& entry);
  static nlohmann::json line_of(Entry& entry);
  void play_rounds();
  void print(const nlohmann::json& lines) const;

  const Bench& bench_;
  std::string name_, note_;
  std::vector<Entry> entries_;
};

}  // namespace anabranch::bench
