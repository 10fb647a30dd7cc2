#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Contests: contenders do the same work in turn, A B C A B C ..., in one process and on the same data, so
/// that what disturbs the machine disturbs all of them. A round is checked after the clock has stopped.
namespace anabranch::bench {

enum class Role : std::uint8_t {
  library,  ///< Anabranch
  peer,     ///< what somebody would use instead
  limit,    ///< what the machine allows: it does less than the work
  part,     ///< a part of the work by itself; parts may overlap, so the slowest of them is the limit
  shown,    ///< neither: a figure of interest
};

struct Contender {
  std::string name;
  Role role = Role::shown;
  int threads = 1;  ///< contenders with equal numbers are compared
  std::function<void()> run{};
  std::function<bool()> right = {};  ///< looks at the result of the latest run; empty: nothing to look at
  int calls = 1;                     ///< of `run` in one measurement, for work that is short
};

struct Contest {
  std::string unit = "GB/s";  ///< of `amount` / second / 1e9
  double amount = 0;          ///< what one run moves or computes; 0: times only
  std::string note{};         ///< of the data: "1.3 M rows, 36 M nonzeros, 463 MB"
  std::vector<Contender> contenders{};
};

/// Registers a contest as one benchmark of Google Benchmark: its time is the library's, and the others' times
/// are its counters. `make` is called when the contest is run, and what it built is freed afterwards.
void add_contest(const std::string& name, std::function<Contest()> make);

/// What a contender took, the median that the table shows.
struct Timing {
  std::string contest, contender;
  Role role = Role::shown;
  int threads = 1;
  double seconds = 0;
};
/// Of all contests that have been held, in their order: for programs that compare contests with one another.
std::vector<Timing> timings();

/// With how many threads contests are held: 1 and 2, or those of --threads. For `make` of add_contest.
const std::vector<int>& thread_counts();

/// Seconds on the clock that was asked for, which with --clock=cpu is this process's time / `threads`.
double now(int threads = 1);

/// A figure that is no contest (a compile time, a cost per chunk). `prepare` is called when the figure is
/// measured; what it gives is called once per round and gives seconds. `target`: seconds; 0 if there is none.
using Measure = std::function<double()>;
void add_figure(const std::string& name, std::string note, double target, std::function<Measure()> prepare);

/// Runs what was registered and prints a table. Understands Google Benchmark's options, and
///   --rounds=N   measured rounds of a contest (20), and up to twice as many where it takes these for seven measurements of
///                each contender that nothing disturbed; two runs of each come first and are left out
///   --threads=L  numbers of threads of thread_counts(), as 1,2,4,8; those for which there are no processors are left out
///   --patience=S seconds to wait for the machine to be quiet before a measurement (1)
///   --clock=cpu  processor time divided by threads instead of time: for a machine that others use, too. It
///                leaves out what others took, but also waiting of one's own
int run_all(int argc, char** argv);

}  // namespace anabranch::bench
