#include <anabranch/anabranch.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// Streams that are taken item by item. From an item's arrival to its result, on a live source: how long, at several rates. A
/// thread sends numbered items of 16 doubles through a pipe; arrived is what has been written. And what overlaps: a source that
/// waits, kernels that compute and a loop that waits, each about as long.
namespace {

using namespace anabranch;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t item_size = 16;
using Record = std::array<double, item_size>;

double now_us() { return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(); }

/// A pipe, and a thread that writes into it, `rate` items a second.
class Sender {
 public:
  Sender(std::int64_t items, double rate) : sent_us_(static_cast<std::size_t>(items)) {
    if (::pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
    thread_ = std::jthread([this, rate] { send(rate); });
  }
  ~Sender() {
    thread_.join();
    ::close(ends_[0]);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// As many whole items as are there, at least one; 0: there will be no more.
  std::size_t receive(std::vector<Record>& records) const {
    const auto bytes = ::read(ends_[0], records.data(), records.size() * sizeof(Record));
    if (bytes < 0 || bytes % static_cast<ssize_t>(sizeof(Record)) != 0)
      throw std::runtime_error("a broken pipe");
    return static_cast<std::size_t>(bytes) / sizeof(Record);
  }
  double sent_us(double number) const { return sent_us_[static_cast<std::size_t>(number)]; }

 private:
  void send(double rate) {
    ::prctl(PR_SET_TIMERSLACK, 1);
    const auto begin = Clock::now() + std::chrono::milliseconds(20);
    Record record{};
    for (std::size_t i = 0; i < sent_us_.size(); ++i) {
      std::this_thread::sleep_until(
          begin + std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate)));
      record[0] = static_cast<double>(i);
      sent_us_[i] = now_us();
      if (::write(ends_[1], record.data(), sizeof record) != sizeof record) std::abort();
    }
    ::close(ends_[1]);
  }

  std::array<int, 2> ends_{};
  std::vector<double> sent_us_;
  std::jthread thread_;
};

/// What a sender sends, as a range.
class Received {
 public:
  explicit Received(const Sender& sender) : sender_(&sender) {}
  class Iterator {
   public:
    using value_type = Vector<double>;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const Sender* sender) : sender_(sender), records_(1) { ++*this; }
    Vector<double> operator*() const { return Vector<double>(records_[0]); }
    Iterator& operator++() {
      at_end_ = sender_->receive(records_) == 0;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end_; }

   private:
    const Sender* sender_ = nullptr;
    std::vector<Record> records_;
    bool at_end_ = false;
  };
  Iterator begin() const { return Iterator(sender_); }
  static std::default_sentinel_t end() { return {}; }

 private:
  const Sender* sender_;
};

struct Latencies {
  std::vector<double> us;
  std::int64_t chunks = 0;

  void note(const Sender& sender, double number) { us.push_back(now_us() - sender.sent_us(number)); }
  double quantile(double q) {
    const auto at = us.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(us.size() - 1));
    std::nth_element(us.begin(), at, us.end());
    return *at;
  }
};

/// The items' numbers stay as they are.
const auto programmed = [](auto row) {
  const auto mean_ = mean(row);
  return imap([=](auto i, auto x) { return cond(i[0] == 0, x, (x - the(mean_)) * 0.5); }, row);
};

using Way = std::function<void(const Sender&, Latencies&)>;

/// What the system takes: the item's way through the pipe.
void receive_only(const Sender& sender, Latencies& latencies) {
  std::vector<Record> records(256);
  while (const std::size_t n = sender.receive(records))
    for (std::size_t i = 0; i < n; ++i) latencies.note(sender, records[i][0]);
}

Way stream_out_of(bool independent, int threads) {
  return [=](const Sender& sender, Latencies& latencies) {
    const RunOptions options{.threads = threads,
                             .progress = [&](const Progress& p) { latencies.chunks = p.chunks; }};
    const auto items = map_seq(programmed, stream_in(Received(sender), {.independent = independent}));
    for (const Vector<double>& item : stream_out(items, options)) latencies.note(sender, item[0]);
  };
}

/// A loop of the caller's own that receives what is there and pushes it. `flushes`: it says when that is all for now.
Way push_from_a_loop(bool flushes) {
  return [=](const Sender& sender, Latencies& latencies) {
    const RunOptions options{.progress = [&](const Progress& p) { latencies.chunks = p.chunks; }};
    auto stream = push_stream<Vector<double>>(
        [](const auto& s) { return map_seq(programmed, s); },
        [&](const Vector<double>& item) { latencies.note(sender, item[0]); }, options);
    std::vector<Record> records(256);
    while (const std::size_t n = sender.receive(records)) {
      for (std::size_t i = 0; i < n; ++i) stream.push(Vector<double>(records[i]));
      if (flushes) stream.flush();
    }
    stream.finish();
  };
}

void measure(const std::string& name, const Way& way, double rate, std::int64_t items) {
  Latencies latencies;
  {
    const Sender sender(items, rate);
    way(sender, latencies);
  }
  if (static_cast<std::int64_t>(latencies.us.size()) != items)
    throw std::runtime_error(name + ": items are missing");
  const std::string chunk =
      latencies.chunks == 0
          ? "-"
          : fmt::format("{:.1f}", static_cast<double>(items) / static_cast<double>(latencies.chunks));
  fmt::print("| {:<44} | {:>8.0f} | {:>9.1f} | {:>9.1f} | {:>9.1f} | {:>7} |\n", name, rate,
             latencies.quantile(0.5), latencies.quantile(0.99), latencies.quantile(1), chunk);
}

/// The first item of a stream, 20 ms before the next one: streams that are begun anew, with kernels that are there.
void measure_first(const std::string& name, const Way& way) {
  Latencies first;
  for (int stream = -5; stream < 100; ++stream) {
    Latencies one;
    const Sender sender(2, 50);
    way(sender, one);
    if (stream >= 0) first.us.push_back(one.us.at(0));
  }
  fmt::print("| {:<44} | {:>8} | {:>9.1f} | {:>9.1f} | {:>9.1f} | {:>7} |\n", name, "first",
             first.quantile(0.5), first.quantile(0.99), first.quantile(1), "-");
}

// ---- Overlap

constexpr int chunks = 100, items_of_chunk = 16;

/// Items of 4096 numbers; the first of each chunk is waited for.
auto slow_items(double ms) {
  return std::views::iota(0, chunks * items_of_chunk) | std::views::transform([ms](int i) {
           if (i % items_of_chunk == 0)
             std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
           return Vector<double>(4096);
         });
}

/// Milliseconds a chunk, with a source and a loop that wait so long for each, and so many rounds of a kernel.
double time_of(double read_ms, int rounds, double take_ms, int threads) {
  const auto computed = [=](auto row) {
    return map([=](auto x) { return iterate(rounds, [](auto y) { return y * 0.999 + 1e-3; }, x); }, row);
  };
  const RunOptions options{.threads = threads, .scheduler = fmt::format("fixed:{}", items_of_chunk)};
  auto items = stream_out(map_seq(computed, stream_in(slow_items(read_ms), {.live = false})), options);
  const auto begin = Clock::now();
  int taken = 0;
  for (const Vector<double>& item : items) {
    if (item.size() != 4096) throw std::runtime_error("an item of another size");
    if (++taken % items_of_chunk == 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(take_ms));
  }
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / chunks;
}

void measure_overlap() {
  constexpr double wait = 4;
  // As many rounds as take about as long, with one thread.
  int rounds = 100;
  for (int i = 0; i < 3; ++i)
    rounds = static_cast<int>(rounds * wait / std::max(time_of(0, rounds, 0, 1), 0.01));
  fmt::print("\n| threads | reads | computes | takes | all three |  sum | longest |   all / longest |\n");
  for (const int threads : {1, 2, 3}) {
    const double read = time_of(wait, 1, 0, threads), compute = time_of(0, rounds, 0, threads),
                 take = time_of(0, 1, wait, threads), all = time_of(wait, rounds, wait, threads);
    const double longest = std::max({read, compute, take});
    fmt::print("| {:>7} | {:>5.2f} | {:>8.2f} | {:>5.2f} | {:>9.2f} | {:>4.1f} | {:>7.2f} | {:>15.2f} |\n",
               threads, read, compute, take, all, read + compute + take, longest, all / longest);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  fmt::print("| {:<44} | {:>8} | {:>9} | {:>9} | {:>9} | {:>7} |\n", "way", "items/s", "median us", "99 % us",
             "worst us", "a chunk");
  const std::pair<const char*, Way> ways[] = {
      {"the pipe alone", receive_only},
      {"stream_out, independent, 2 threads", stream_out_of(true, 2)},
      {"stream_out, independent, 3 threads", stream_out_of(true, 3)},
      {"stream_out, one by one", stream_out_of(false, 2)},
      {"push, results to a function", push_from_a_loop(false)},
      {"push and flush", push_from_a_loop(true)},
  };
  for (const auto& [name, way] : ways) measure_first(name, way);
  for (const double rate : {1e1, 1e3, 1e5})
    for (const auto& [name, way] : ways)
      measure(name, way, rate, static_cast<std::int64_t>(std::max(50.0, rate * seconds)));
  measure_overlap();
}
