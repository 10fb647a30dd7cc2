#include <anabranch/anabranch.h>
#include <anabranch/io.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/programs.h"

/// The scheduler beside what could be done: `chunks`, what each costs; `laws`, its policies beside the best fixed size of chunk that a search finds, on
/// streams whose items' lengths follow five laws; `overlap`, a slow source and a slow sink beside the slowest phase; `large`, a
/// matrix and a result of many gigabytes, in little memory, beside reading alone; `through`, from files to files, beside a copy.
namespace {

using namespace anabranch;
using namespace anabranch::bench;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

struct Contender {
  std::string name;
  std::function<void()> run;
  std::function<void()> prepare = [] {};  ///< not timed
  std::vector<double> seconds{};
};

/// In turn, so that what disturbs the machine disturbs all; the first round is not counted.
void take_turns(std::vector<Contender>& contenders, int rounds) {
  for (int round = 0; round <= rounds; ++round)
    for (Contender& each : contenders) {
      each.prepare();
      const double seconds = seconds_of(each.run);
      if (round > 0) each.seconds.push_back(seconds);
    }
}

/// A directory that is gone when its owner is.
class Directory {
 public:
  Directory()
      : path_(std::filesystem::temp_directory_path() / fmt::format("anabranch-bench-{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// ---- Laws of length

using Random = std::mt19937_64;

/// Lengths of items until these have so many elements.
std::vector<std::int64_t> lengths_of(std::int64_t elements,
                                     const std::function<std::int64_t(std::int64_t)>& next) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t sum = 0; sum < elements;) {
    lengths.push_back(std::clamp<std::int64_t>(next(sum), 0, elements - sum));
    sum += std::max<std::int64_t>(lengths.back(), 1);
  }
  return lengths;
}

struct Law {
  const char* name;
  std::function<std::int64_t(Random&, double done)> length;
};

const Law laws[] = {
    {"all of 100", [](Random&, double) { return std::int64_t{100}; }},
    {"lognormal, median 40, sigma 1.5",
     [](Random& random, double) {
       return static_cast<std::int64_t>(std::lognormal_distribution<>(3.7, 1.5)(random));
     }},
    {"Pareto, from 10, alpha 1.1",
     [](Random& random, double) {
       const double u = std::uniform_real_distribution<>(1e-7, 1)(random);
       return static_cast<std::int64_t>(10 * std::pow(u, -1 / 1.1));
     }},
    {"of 4, then of 20000", [](Random&, double done) { return std::int64_t{done < 0.5 ? 4 : 20'000}; }},
    {"of 20000, then of 4", [](Random&, double done) { return std::int64_t{done < 0.5 ? 20'000 : 4}; }},
};

auto sums_of_squares(const Source<Vector<double>>& source) {
  const auto sum_of_squares = [](Acc<Vector<double>> v) {
    return fold(plus, 0.0, map([](Exp<double> x) { return x * x; }, v));
  };
  return compile(consume(elements(map_seq(sum_of_squares, stream_in(source)))));
}

/// The best fixed size of chunk: of three sizes to a power of ten, then of the best three of them, once more. A contest with it is
/// held afterwards, since the least of several medians is less than what it is the next time.
std::string best_fixed(double items, int rounds,
                       const std::function<Contender(const std::string&)>& contender) {
  const auto faster = [](const Contender& a, const Contender& b) {
    return median(a.seconds) < median(b.seconds);
  };
  std::vector<Contender> sizes;
  for (double n = 10; n < 2 * items; n *= std::cbrt(10.0))
    sizes.push_back(contender(fmt::format("fixed:{}", std::llround(n))));
  take_turns(sizes, 3);
  std::sort(sizes.begin(), sizes.end(), faster);
  std::vector<Contender> again;
  for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 3); ++i)
    again.push_back(contender(sizes[i].name));
  take_turns(again, rounds);
  return std::min_element(again.begin(), again.end(), faster)->name;
}

void compare_on(const Law& law, std::int64_t megabytes, int threads, int rounds, std::int64_t memory) {
  const Directory directory;
  const std::int64_t size = megabytes * 1'000'000 / 8;
  Random random(1);
  const auto lengths = lengths_of(size, [&](std::int64_t done) {
    return law.length(random, static_cast<double>(done) / static_cast<double>(size));
  });
  std::vector<std::int64_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  {
    std::vector<double> values(static_cast<std::size_t>(offsets.back()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 1000) * 1e-3;
    io::write_npy(directory.file("x.offsets.npy"), Vector<std::int64_t>(offsets));
    io::write_npy(directory.file("x.values.npy"), Vector<double>(values));
  }
  auto program = sums_of_squares(io::open_ragged<double>(directory.file("x")));
  const auto contender = [&](const std::string& scheduler) {
    return Contender{scheduler, [&program, scheduler, threads, memory] {
                       program.run({.threads = threads, .memory = memory, .scheduler = scheduler});
                     }};
  };
  const std::string best = best_fixed(static_cast<double>(lengths.size()), rounds, contender);
  // A program that has learned nothing, with kernels that are there.
  auto fresh = program;
  const Contender first_run{"adaptive, first run", [&] { fresh.run({.threads = threads, .memory = memory}); },
                            [&] { fresh = sums_of_squares(io::open_ragged<double>(directory.file("x"))); }};
  std::vector<Contender> contest{contender("adaptive"), contender("paper"), contender(best), first_run};
  take_turns(contest, rounds);
  const auto peak = [&](const std::string& scheduler) {
    RunReport report;
    program.run({.threads = threads, .memory = memory, .scheduler = scheduler}, &report);
    return static_cast<double>(report.peak_bytes) / 1e6;
  };
  const double least = median(contest[2].seconds);
  fmt::print(
      "| {:<32} | {:>9} | {:>7.1f} | {:>14} | {:>8.2f} | {:>9.2f} | {:>8.2f} | {:>5.0f} | {:>5.0f} | "
      "{:>5.0f} |\n",
      law.name, lengths.size(), least * 1e3, best, median(contest[0].seconds) / least,
      median(contest[3].seconds) / least, median(contest[1].seconds) / least, peak("adaptive"), peak("paper"),
      peak(best));
}

void compare_on_laws(std::int64_t megabytes, int threads, int rounds, std::int64_t memory) {
  fmt::print("| {:<32} | {:>9} | {:>7} | {:>14} | {:>8} | {:>9} | {:>8} | {:>17} |\n", "lengths", "items",
             "best ms", "best fixed", "adaptive", "first run", "paper", "peak MB of each");
  for (const Law& law : laws) compare_on(law, megabytes, threads, rounds, memory);
}

// ---- What a chunk costs

/// Chunks of one item each, beside one chunk of them all.
void measure_chunks(int threads, int rounds) {
  constexpr std::int64_t items = 200'000;
  const std::vector<std::int64_t> lengths(items, 1);
  const auto rows = Ragged<double>::from_lengths(lengths, Vector<double>(std::vector<double>(items, 0.5)));
  const Directory directory;
  io::write_npy(directory.file("x.offsets.npy"), rows.offsets());
  io::write_npy(directory.file("x.values.npy"), rows.values());
  auto in_memory = sums_of_squares(Source<Vector<double>>(rows.source()));
  auto in_file = sums_of_squares(io::open_ragged<double>(directory.file("x")));
  std::vector<Contender> contest;
  for (auto* program : {&in_memory, &in_file})
    for (const int t : {1, threads})
      for (const char* scheduler : {"fixed:1", "fixed:1000000000"})
        contest.push_back({scheduler, [=] { program->run({.threads = t, .scheduler = scheduler}); }});
  take_turns(contest, rounds);
  const char* const names[] = {"in memory", "in a file"};
  for (std::size_t i = 0; i < contest.size(); i += 2)
    fmt::print("| {} | {} threads | {:.2f} us a chunk |\n", names[i / 4], i % 4 == 0 ? 1 : threads,
               (median(contest[i].seconds) - median(contest[i + 1].seconds)) / items * 1e6);
}

// ---- Overlap

constexpr std::int64_t slow_item = 4096;

/// Waits as a device of this rate does, which does one thing at a time.
class Device {
 public:
  explicit Device(double bytes_per_second) : rate_(bytes_per_second) {}
  void pass(std::int64_t bytes) {
    if (rate_ == 0) return;
    Clock::time_point ready;
    {
      const std::lock_guard lock(mutex_);
      ready_ = std::max(ready_, Clock::now()) +
               std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(static_cast<double>(bytes) / rate_));
      ready = ready_;
    }
    std::this_thread::sleep_until(ready);
  }

 private:
  double rate_;
  std::mutex mutex_;
  Clock::time_point ready_{};
};

/// Items of 4096 doubles; in chunks, or in pieces as files are read.
class SlowSource final : public SourceBase {
 public:
  SlowSource(std::int64_t items, double rate, bool in_pieces) : items_(items), device_(rate) {
    info_.name = "a slow device";
    info_.arrays = {{{ScalarType::float64}, {slow_item}}};
    info_.items = items;
    info_.work = items * slow_item;
    info_.rewindable = true;
    info_.live = false;
    info_.splits = in_pieces;
  }
  const SourceInfo& info() const override { return info_; }
  void rewind() override { at_ = 0; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t items = take(limit);
    if (items > 0) read(items, chunk);
    return items > 0;
  }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    const std::int64_t items = take(limit);
    return items > 0 ? std::make_unique<Piece>(*this, items) : nullptr;
  }

 private:
  static constexpr std::int64_t item_bytes = slow_item * 8;

  class Piece final : public SourcePiece {
   public:
    Piece(SlowSource& source, std::int64_t items) : source_(source), items_(items) {}
    std::int64_t items() const override { return items_; }
    std::int64_t work() const override { return items_ * slow_item; }
    std::int64_t bytes() const override { return items_ * item_bytes; }
    void read(SourceChunk& chunk) override { source_.read(items_, chunk); }
    void complete() override {}

   private:
    SlowSource& source_;
    std::int64_t items_;
  };

  std::int64_t take(const Limit& limit) {
    if (at_ == items_) return 0;
    const std::int64_t n = std::clamp<std::int64_t>(
        std::min({limit.items, limit.bytes / item_bytes, limit.work / slow_item}), 1, items_ - at_);
    at_ += n;
    return n;
  }
  void read(std::int64_t items, SourceChunk& chunk) {
    const std::shared_ptr<double[]> memory(new double[static_cast<std::size_t>(items * slow_item)]);
    std::fill_n(memory.get(), items * slow_item, 0.5);
    device_.pass(items * item_bytes);
    chunk = {};
    chunk.items = items;
    chunk.work = items * slow_item;
    chunk.bytes = items * item_bytes;
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(memory, memory.get());
  }

  std::int64_t items_, at_ = 0;
  Device device_;
  SourceInfo info_;
};

class SlowSink final : public SinkBase {
 public:
  explicit SlowSink(double rate) : rate_(rate) {
    info_.name = "a slow device";
    info_.arrays = {{{ScalarType::float64}, 1}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart&) override { return std::make_unique<Pass>(rate_); }

 private:
  class Pass final : public SinkPass {
   public:
    explicit Pass(double rate) : device_(rate) {}
    void write(const SinkChunk& chunk) override { device_.pass(chunk.items * slow_item * 8); }
    void finish() override {}
    void commit() override {}

   private:
    Device device_;
  };
  double rate_;
  SinkInfo info_;
};

/// `rounds` of arithmetic for each number; rates of 0: at once.
double seconds_overlapped(std::int64_t items, double read_rate, int rounds, double write_rate, int threads,
                          bool in_pieces) {
  const Source<Vector<double>> source(std::make_shared<SlowSource>(items, read_rate, in_pieces));
  const Sink<Vector<double>> sink(std::make_shared<SlowSink>(write_rate));
  const auto computed = [=](Acc<Vector<double>> v) {
    return map(
        [=](Exp<double> x) { return iterate(rounds, [](Exp<double> y) { return y * 0.999 + 1e-3; }, x); }, v);
  };
  const auto program = compile(consume(write(map_seq(computed, stream_in(source)), sink)));
  std::vector<Contender> one{{"", [&] { program.run({.threads = threads}); }}};
  take_turns(one, 3);
  return median(one[0].seconds);
}

void measure_overlap(int threads, bool in_pieces) {
  constexpr std::int64_t items = 6000;  // 197 MB
  constexpr double rate = 2e8;          // about a second
  const auto overlapped = [&](double read_rate, int rounds, double write_rate) {
    return seconds_overlapped(items, read_rate, rounds, write_rate, threads, in_pieces);
  };
  int rounds = 100;
  for (int i = 0; i < 3; ++i) rounds = std::max(1, static_cast<int>(rounds / overlapped(0, rounds, 0)));
  fmt::print("in {}\n", in_pieces ? "pieces" : "chunks");
  fmt::print("| {:<24} | {:>6} | {:>8} | {:>6} | {:>8} | {:>14} |\n", "slow", "read s", "compute s",
             "write s", "all s", "all / longest");
  const double read = overlapped(rate, 1, 0), compute = overlapped(0, rounds, 0),
               written = overlapped(0, 1, rate);
  const auto row = [&](const char* what, double read_rate, double write_rate) {
    const double all = overlapped(read_rate, rounds, write_rate);
    const double longest = std::max({read_rate > 0 ? read : 0, compute, write_rate > 0 ? written : 0});
    fmt::print("| {:<24} | {:>6.3f} | {:>9.3f} | {:>7.3f} | {:>8.3f} | {:>14.3f} |\n", what,
               read_rate > 0 ? read : 0, compute, write_rate > 0 ? written : 0, all, all / longest);
  };
  row("the source", rate, 0);
  row("the sink", 0, rate);
  row("both", rate, rate);
}

// ---- More than memory

using Entries = Source<SparseRow>;

/// Reads all of it, in the pieces that its pieces' readers ask for, on so many threads.
void read_all(const Entries& entries, int threads) {
  SourceBase& source = *entries.erased();
  source.rewind();
  std::mutex handing_out;
  const auto work = [&] {
    for (;;) {
      std::unique_ptr<SourcePiece> piece;
      {
        const std::lock_guard lock(handing_out);
        piece = source.split({.work = 1 << 17});
      }
      if (!piece) return;
      SourceChunk chunk;
      piece->read(chunk);
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
}

void measure_large(const std::string& path, int threads, int rounds, std::int64_t memory) {
  const auto entries = io::open_csr<std::int32_t, double>(path);
  std::vector<double> x(static_cast<std::size_t>(io::inspect_matrix(path).cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 100) * 0.01;
  const auto program = compile(smvm(stream_in(entries), use(Vector<double>(x))));
  auto fresh = program;  // one that has learned nothing
  const auto contender = [&](const std::string& scheduler) {
    return Contender{scheduler, [&program, scheduler, threads, memory] {
                       program.run({.threads = threads, .memory = memory, .scheduler = scheduler});
                     }};
  };
  const std::string best = best_fixed(static_cast<double>(io::inspect_matrix(path).rows), rounds, contender);
  const auto in_memory = run(consume(ragged(stream_in(entries))));
  const auto computing = compile(smvm(stream_in(in_memory), use(Vector<double>(x))));
  std::vector<Contender> contest{
      {fmt::format("read, {} threads", threads), [&] { read_all(entries, threads); }},
      {"read, one thread", [&] { read_all(entries, 1); }},
      {fmt::format("compute in memory, {} threads", threads), [&] { computing.run({.threads = threads}); }},
      {"compute in memory, one thread", [&] { computing.run({.threads = 1}); }},
      contender("adaptive"),
      {"adaptive, first run", [&] { fresh.run({.threads = threads, .memory = memory}); },
       [&] { fresh = compile(smvm(stream_in(entries), use(Vector<double>(x)))); }},
      contender("paper"),
      contender(best),
      {"adaptive, one thread", [&] { program.run({.threads = 1, .memory = memory}); }},
  };
  take_turns(contest, rounds);
  for (const Contender& each : contest)
    fmt::print("| {:<29} | {:>8.3f} s | {:>6.2f} GB/s |\n", each.name, median(each.seconds),
               static_cast<double>(std::filesystem::file_size(path)) / median(each.seconds) * 1e-9);
}

/// Doubles that are computed and written, beside the same bytes written by a loop.
void measure_output(const std::string& path, std::int64_t megabytes, int threads, int rounds,
                    std::int64_t memory) {
  constexpr std::int64_t row = 4096;
  const std::int64_t rows = megabytes * 1'000'000 / (row * 8);
  const auto filled = [=](Exp<std::int64_t> i) {
    return generate(Index<1>{{row}}, [=](auto j) { return cast<double>(i + j[0]) * 0.5; });
  };
  const auto program = compile(consume(write(produce(rows, filled), io::write_npy_rows(path))));
  const auto by_loop = [&] {
    const std::vector<double> block(std::size_t{1} << 20, 0.5);
    const int file = ::open((path + ".loop").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (std::int64_t left = rows * row; left > 0;) {
      const auto n = std::min<std::int64_t>(left, std::ssize(block));
      if (::write(file, block.data(), static_cast<std::size_t>(n) * 8) != n * 8)
        throw std::runtime_error("write");
      left -= n;
    }
    if (::fsync(file) != 0) throw std::runtime_error("fsync");
    ::close(file);
    std::filesystem::remove(path + ".loop");
  };
  std::vector<Contender> contest{{"write(2) alone", by_loop}};
  for (const int t : {1, threads})
    contest.push_back({fmt::format("computed and written, {} threads", t), [&, t] {
                         program.run({.threads = t, .memory = memory});
                         std::filesystem::remove(path);
                       }});
  take_turns(contest, rounds);
  for (const Contender& each : contest)
    fmt::print("| {:<32} | {:>8.3f} s | {:>6.2f} GB/s |\n", each.name, median(each.seconds),
               static_cast<double>(rows * row * 8) / median(each.seconds) * 1e-9);
  RunReport report;
  program.run({.threads = threads, .memory = memory}, &report);
  std::filesystem::remove(path);
  fmt::print("peak of the memory bound: {:.0f} MB\n", static_cast<double>(report.peak_bytes) / 1e6);
}

/// Vectors that are read from files, computed and written to files, beside the same bytes copied by a loop.
void measure_through(const std::string& folder, std::int64_t megabytes, int threads, int rounds,
                     std::int64_t memory) {
  const std::string from = folder + "/from", to = folder + "/to";
  Random random(1);
  const auto lengths =
      lengths_of(megabytes * 1'000'000 / 8, [&](std::int64_t) { return laws[1].length(random, 0); });
  const Vector<std::int64_t> given{std::vector<std::int64_t>(lengths)};
  const auto counted = [&](Exp<std::int64_t> i) {
    return generate(use(given)[i], [=](auto j) { return cast<double>(i + j) * 1e-3; });
  };
  run(consume(write(produce(given.size(), counted), io::write_ragged(from))));
  const auto bytes = static_cast<double>(std::filesystem::file_size(from + ".values.npy") +
                                         std::filesystem::file_size(from + ".offsets.npy"));
  const auto by_loop = [&] {
    std::vector<char> block(std::size_t{1} << 20);
    for (const char* part : {".values.npy", ".offsets.npy"}) {
      const int in = ::open((from + part).c_str(), O_RDONLY),
                out = ::open((to + part).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      for (::ssize_t n; (n = ::read(in, block.data(), block.size())) > 0;)
        if (::write(out, block.data(), static_cast<std::size_t>(n)) != n) throw std::runtime_error("write");
      if (::fsync(out) != 0) throw std::runtime_error("fsync");
      ::close(in);
      ::close(out);
    }
  };
  const auto program =
      compile(consume(write(map_seq([](auto v) { return map([](auto e) { return e * 0.5 + 1.0; }, v); },
                                    stream_in(io::open_ragged<double>(from))),
                            io::write_ragged(to))));
  std::vector<Contender> contest{{"read(2) and write(2)", by_loop}};
  for (const int t : {1, threads})
    contest.push_back({fmt::format("read, computed, written, {} threads", t),
                       [&, t] { program.run({.threads = t, .memory = memory}); }});
  for (Contender& each : contest)
    each.prepare = [&] {
      for (const char* part : {".values.npy", ".offsets.npy"}) std::filesystem::remove(to + part);
    };
  take_turns(contest, rounds);
  for (const Contender& each : contest)
    fmt::print("| {:<34} | {:>8.3f} s | {:>6.2f} GB/s |\n", each.name, median(each.seconds),
               bytes / median(each.seconds) * 1e-9);
  RunReport report;
  program.run({.threads = threads, .memory = memory}, &report);
  fmt::print("{:.2f} GB each way; peak of the memory bound: {:.0f} MB\n", bytes * 1e-9,
             static_cast<double>(report.peak_bytes) / 1e6);
  for (const std::string& name : {from, to})
    for (const char* part : {".values.npy", ".offsets.npy"}) std::filesystem::remove(name + part);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The scheduler beside what could be done"};
  app.require_subcommand(1);
  int threads = static_cast<int>(std::thread::hardware_concurrency()), rounds = 7;
  std::int64_t megabytes = 200, memory = std::int64_t{512} << 20;
  std::string path;
  app.add_option("--threads", threads);
  app.add_option("--rounds", rounds);
  app.add_option("--memory", memory, "bytes");
  CLI::App* const by_law = app.add_subcommand("laws", "five laws of length");
  by_law->add_option("--megabytes", megabytes, "of a stream");
  CLI::App* const overlap = app.add_subcommand("overlap", "a slow source, a slow sink");
  CLI::App* const chunks = app.add_subcommand("chunks", "what a chunk costs");
  CLI::App* const large = app.add_subcommand("large", "a matrix in a file");
  large->add_option("file", path, "CSR, .npz")->required();
  CLI::App* const output = app.add_subcommand("output", "a result that is written to a file");
  output->add_option("file", path, "which is overwritten and removed")->required();
  output->add_option("--megabytes", megabytes, "of the result");
  CLI::App* const through = app.add_subcommand("through", "vectors from files to files");
  through->add_option("folder", path, "where they are written and removed")->required();
  through->add_option("--megabytes", megabytes, "of the vectors");
  CLI11_PARSE(app, argc, argv);
  if (*by_law) compare_on_laws(megabytes, threads, rounds, memory);
  if (*chunks) measure_chunks(threads, rounds);
  if (*overlap)
    for (const bool in_pieces : {false, true}) measure_overlap(threads, in_pieces);
  if (*output) measure_output(path, megabytes, threads, rounds, memory);
  if (*through) measure_through(path, megabytes, threads, rounds, memory);
  if (*large) measure_large(path, threads, rounds, memory);
}
