#include <anabranch/io.h>
#include <anabranch/io/arrow.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agree.h"
#include "io/matrix_files.h"
#include "some_rows.h"
#include "support/files.h"

// Runs that are stopped at any time.
namespace anabranch::testing {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// What can be stopped: gives the same in every run that is not.
struct Stoppable {
  std::string name;
  std::function<Vector<double>(const RunOptions&)> run;
};

template <class F>
Vector<double> pushed(F f, const std::vector<Vector<double>>& rows, const RunOptions& options) {
  auto stream = push_stream<Vector<double>>(f, options);
  constexpr bool at_end = requires { Vector<double>(stream.finish()); };
  if constexpr (at_end) {
    for (const Vector<double>& row : rows) stream.push(row);
    return stream.finish();
  } else {
    std::vector<double> results;
    const auto take = [&](const auto& next) {
      while (const auto item = next()) results.push_back((*item)[Index{}]);
    };
    for (const Vector<double>& row : rows) {
      stream.push(row);
      take([&] { return stream.poll(); });
    }
    stream.finish();
    take([&] { return stream.pop(); });
    return vector_of(std::ssize(results),
                     [&](std::int64_t i) { return results[static_cast<std::size_t>(i)]; });
  }
}

/// What is written to `folder`, which a run that is stopped leaves as it was.
Vector<double> written(const Seq<Vector<double>>& s, const TemporaryDirectory& folder,
                       const RunOptions& options) {
  try {
    run(std::tuple(consume(write(s, io::write_ragged(folder / "rows"))),
                   consume(write(map_seq(total, s), io::write_npy_rows(folder / "sums.npy")))),
        options);
  } catch (const Cancelled&) {
    CHECK(folder.files() == 0);
    throw;
  }
  CHECK(folder.files() == 3);
  const auto sums = io::read_npy<1, double>(folder / "sums.npy");
  const auto values = io::read_npy<1, double>(folder / "rows.values.npy");
  for (const char* name : {"sums.npy", "rows.values.npy", "rows.offsets.npy"})
    std::filesystem::remove(folder / name);
  return run(concat(use(sums), use(values)));
}

/// What is read one item after the other: a value of each.
template <class Items>
Vector<double> of_each(Items&& items) {
  std::vector<double> values;
  for (const auto& item : items) values.push_back(item.size() == 0 ? 0.0 : item.values().back());
  return Vector<double>(Index{std::ssize(values)}, values);
}

/// A socket at which bytes arrive as somebody reads them, until that is no longer.
class Arriving {
 public:
  explicit Arriving(const std::string& bytes) {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) std::abort();
    sender_ = std::jthread([this, &bytes] {
      for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t n = ::send(ends_[1], bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        sent += static_cast<std::size_t>(n);
      }
      ::shutdown(ends_[1], SHUT_WR);
    });
  }
  ~Arriving() {
    ::shutdown(ends_[0], SHUT_RDWR);
    sender_.join();
    for (const int end : ends_) ::close(end);
  }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;
  int out() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
  std::jthread sender_;
};

/// An Arrow stream that goes away with its owner.
struct ArrowStream : ArrowArrayStream {
  ArrowStream() : ArrowArrayStream{} {}
  ~ArrowStream() {
    if (release) release(this);
  }
  ArrowStream(const ArrowStream&) = delete;
  ArrowStream& operator=(const ArrowStream&) = delete;
};

/// Through the Arrow interface, there and back: the stream that is given is stopped, or the run that takes it.
Vector<double> through_arrow(const Seq<Vector<double>>& s, bool giver, const RunOptions& options) {
  RunOptions others = options;
  others.stop = {};
  ArrowStream stream;
  io::to_arrow(s, &stream, {.run = giver ? options : others});
  const auto sums = map_seq(total, stream_in(io::from_arrow<Vector<double>>(&stream)));
  try {
    return run(consume(elements(sums)), giver ? others : options);
  } catch (const IoError& e) {  // what get_next says
    if (!giver || !options.stop.stop_requested()) throw;
    CHECK_THAT(e.what(), Catch::Matchers::Contains("the run was cancelled"));
    throw Cancelled(e.what());
  }
}

/// All ways of the runtime over `count` rows, and those that have sources, sinks and drivers of their own.
class Stoppables {
 public:
  explicit Stoppables(std::int64_t count) {
    for (const Way& way : ways()) compiled(way.name, way.program(some_rows(count)));
    run(consume(write(some_rows(count), io::write_ragged(in_ / "in"))));
    for (const Way& way : ways())
      if (way.name == std::string("sums") || way.name == std::string("windows"))
        compiled(std::string(way.name) + " of a file that is read in pieces",
                 way.program(stream_in(io::open_ragged<double>(in_ / "in"))));
    all_.push_back({"a file into files", [this](const RunOptions& options) {
                      return written(stream_in(io::open_ragged<double>(in_ / "in")), out_, options);
                    }});
    for (const Vector<double>& row : stream_out(some_rows(count))) {
      const auto length = static_cast<std::uint32_t>(row.size());
      records_.append(reinterpret_cast<const char*>(&length), sizeof length);
      records_.append(reinterpret_cast<const char*>(row.values().data()), row.values().size_bytes());
      rows_.push_back(row);
    }
    all_.push_back({"pushed rows, a value at the end", [this](const RunOptions& options) {
                      return pushed([](const auto& s) { return consume(elements(map_seq(total, s))); }, rows_,
                                    options);
                    }});
    all_.push_back({"pushed rows, results one by one", [this](const RunOptions& options) {
                      return pushed([](const auto& s) { return map_seq(total, s); }, rows_, options);
                    }});
    all_.push_back({"rows one by one", [count](const RunOptions& options) {
                      return of_each(stream_out(some_rows(count), options));
                    }});
    all_.push_back({"sums of what arrives, one by one", [this](const RunOptions& options) {
                      const Arriving rows(records_);
                      return of_each(
                          stream_out(map_seq(total, stream_in(io::ragged_of<double>(rows.out()))), options));
                    }});
    all_.push_back({"sums of what arrives", [this](const RunOptions& options) {
                      const Arriving rows(records_);
                      return run(
                          consume(elements(map_seq(total, stream_in(io::ragged_of<double>(rows.out()))))),
                          options);
                    }});
    for (const bool giver : {false, true})
      all_.push_back({giver ? "a stream for another library" : "a stream from another library",
                      [count, giver](const RunOptions& options) {
                        return through_arrow(some_rows(count), giver, options);
                      }});
    io_test::write_file(in_ / "in.npz", io_test::npz(io_test::members(io_test::sample(count)), true));
    const auto deflated = io::open_csr<std::int32_t, double>(in_ / "in.npz");
    compiled("a deflated file",
             consume(elements(map_seq(
                 [](auto row) {
                   auto [columns, values] = unzip(row);
                   return sum(zip_with(times, values, map([](auto c) { return cast<double>(c); }, columns)));
                 },
                 stream_in(deflated)))));
  }
  const std::vector<Stoppable>& all() const { return all_; }

 private:
  void compiled(std::string name, const Acc<Vector<double>>& computation) {
    all_.push_back({std::move(name), [program = compile(computation)](const RunOptions& options) {
                      return program.run(options);
                    }});
  }

  const TemporaryDirectory in_, out_;
  std::vector<Vector<double>> rows_;
  std::string records_;  // of the same rows, each behind its length
  std::vector<Stoppable> all_;
};

void check_cancellations(int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Stoppables stoppables(3000);
  const std::vector<Stoppable>& all = stoppables.all();
  std::vector<Vector<double>> expected;
  std::vector<nanoseconds> durations;
  for (const Stoppable& each : all) {
    expected.push_back(each.run({.threads = 2}));
    const auto begin = steady_clock::now();
    each.run({.threads = 2});
    durations.push_back(steady_clock::now() - begin);
  }
  std::vector<int> stopped(all.size());
  const auto stop_once = [&](std::size_t which, int i) {
    INFO(all[which].name << ", run " << i << " of seed " << seed);
    const nanoseconds delay(
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(durations[which].count() + 1)));
    std::stop_source stop;
    const RunOptions options{.threads = 1 + static_cast<int>(random() % 3),
                             .memory = random() % 2 == 0 ? 0 : 8 << 20,
                             .scheduler = random() % 3 == 0 ? "fixed:17" : "adaptive",
                             .stop = stop.get_token()};
    const std::jthread stopper([&] {
      const auto end = steady_clock::now() + delay;
      while (steady_clock::now() < end) std::this_thread::yield();
      stop.request_stop();
    });
    try {
      require_same(all[which].run(options), expected[which]);
    } catch (const Cancelled&) {
      ++stopped[which];
    }
    if (i % 10 == 0) require_same(all[which].run({.threads = 2}), expected[which]);
  };
  const auto enough = [&] { return std::accumulate(stopped.begin(), stopped.end(), 0) > runs / 10; };
  // On a busy machine who is to stop a short run may come too late for long.
  for (int i = 0; i < runs || (!enough() && i < 50 * runs); ++i) stop_once(random() % all.size(), i);
  CHECK(enough());
  if (runs < 500) return;
  for (std::size_t which = 0; which < all.size(); ++which) {
    for (int i = 1; stopped[which] == 0 && i < 1000; ++i) stop_once(which, i);
    INFO(all[which].name);
    CHECK(stopped[which] > 0);
  }
}

TEST_CASE("a run that is stopped at any time gives its result or Cancelled, and the next run works") {
  check_cancellations(30, 1);
}
TEST_CASE("500 runs that are stopped at any time", "[.long]") { check_cancellations(500, 20'240); }

}  // namespace
}  // namespace anabranch::testing
