// What arrives at pipes and sockets, byte by byte if it must be.

#include "support/catch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <anabranch/io.h>

#include "io/base/system.h"
#include "io/descriptor/framing.h"
#include "items.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// Both ends of a pipe, or of a pair of sockets.
class Ends {
 public:
  explicit Ends(bool sockets = false) {
    if ((sockets ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds_) : ::pipe(fds_)) != 0) std::abort();
  }
  ~Ends() {
    close_in();
    ::close(fds_[0]);
  }
  Ends(const Ends&) = delete;
  int out() const { return fds_[0]; }
  int in() const { return fds_[1]; }
  /// By any thread, which may not use Catch2.
  void send(const std::string& bytes) const {
    if (::write(fds_[1], bytes.data(), bytes.size()) != std::ssize(bytes)) std::abort();
  }
  void close_in() {
    if (fds_[1] >= 0) ::close(std::exchange(fds_[1], -1));
  }

 private:
  int fds_[2];
};

/// Sends all of it, so many bytes at a time, and closes.
std::jthread sender(Ends& ends, std::string bytes, std::size_t step) {
  return std::jthread([&ends, bytes = std::move(bytes), step] {
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      const std::string part = bytes.substr(at, step);
      if (::write(ends.in(), part.data(), part.size()) != std::ssize(part)) std::abort();
    }
    ends.close_in();
  });
}

template <class T>
std::string prefixed(const std::vector<std::vector<T>>& rows, bool wide = false) {
  std::string bytes;
  for (const auto& row : rows) {
    const std::uint64_t n = row.size();
    bytes.append(reinterpret_cast<const char*>(&n), wide ? 8 : 4);
    bytes += bytes_of(row);
  }
  return bytes;
}

/// Reads the source that `make` makes of a descriptor at which these bytes arrive, however they are cut.
template <class Make>
void check_arrivals(const std::string& bytes, const ReadItems& expected, Make make) {
  for (const bool sockets : {false, true})
    for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{10'000}})
      for (const Limit& limit : some_limits()) {
        Ends ends(sockets);
        const auto source = make(ends.out());
        const auto thread = sender(ends, bytes, step);
        CHECK(items_of(*source.erased(), limit) == expected);
      }
  Ends ends;
  ends.send(bytes);
  ends.close_in();
  CHECK(items_in_given_memory(*make(ends.out()).erased()) == expected);
}

ReadItems lines(const std::vector<std::string>& strings) {
  ReadItems items;
  for (const std::string& s : strings) items.push_back({{{static_cast<std::int64_t>(s.size())}, {s}}});
  return items;
}

/// What becomes of reading all of it: the message of the DataError.
template <class Make>
std::string fault(const std::string& bytes, Make make, const Limit& limit = {}) {
  Ends ends;
  ends.send(bytes);
  ends.close_in();
  try {
    items_of(*make(ends.out()).erased(), limit);
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

const auto doubles = [](int fd) {
  return io::ragged_of<double>(fd, io::LengthPrefix::uint32, {.longest = 1000});
};

}  // namespace

TEST_CASE("descriptors: lines and words, however they arrive") {
  check_arrivals("one\ntwo\r\n\nthree", lines({"one", "two", "", "three"}),
                 [](int fd) { return io::lines_of(fd); });
  check_arrivals("one\n", lines({"one"}), [](int fd) { return io::lines_of(fd); });
  check_arrivals("", {}, [](int fd) { return io::lines_of(fd); });
  check_arrivals("  one two\n\nthree ", lines({"one", "two", "three"}),
                 [](int fd) { return io::words_of(fd); });
  check_arrivals(" \n ", {}, [](int fd) { return io::words_of(fd); });
}

TEST_CASE("descriptors: a line that waits for a later chunk than the last one that had an end") {
  for (std::int64_t bytes = 1; bytes <= 40; ++bytes)
    for (const std::string text : {"a\r\nb", "a\r\nb\r", "\r\n\r\nbcd"}) {
      Ends ends;
      ends.send(text);
      ends.close_in();
      Limit limit;
      limit.bytes = bytes;
      INFO(bytes);
      CHECK(items_of(*io::lines_of(ends.out()).erased(), limit) ==
            (text[0] == 'a' ? lines({"a", text.substr(3)}) : lines({"", "", "bcd"})));
    }
}

TEST_CASE("descriptors: what has arrived and the chunk that is made of it are in memory together") {
  for (const std::int64_t memory : {10'500, 15'000, 21'000, 30'000}) {
    Ends ends;
    ends.send(std::string(10'000, 'x') + "\n");
    ends.close_in();
    Limit limit;
    limit.memory = memory;
    SourceChunk chunk;
    const auto source = io::lines_of(ends.out());
    if (memory < 20'000)
      CHECK_THROWS_AS(source.erased()->next(limit, chunk), ItemTooBig);
    else
      CHECK(source.erased()->next(limit, chunk));
  }
}

TEST_CASE("descriptors: records of one shape, and behind their lengths") {
  const auto item = [](std::vector<std::int32_t> values) -> ReadItem {
    return {{{3, 1}, {bytes_of(values)}}};
  };
  check_arrivals(bytes_of(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}), {item({1, 2, 3}), item({4, 5, 6})},
                 [](int fd) { return io::records_of<std::int32_t>(fd, Index{3, 1}); });
  check_arrivals("ab", {{{{}, {"a"}}}, {{{}, {"b"}}}},
                 [](int fd) { return io::records_of<std::uint8_t>(fd, Index<0>{}); });
  using Rows = std::vector<std::vector<double>>;
  const Rows rows{{1, 2, 3}, {}, {4}, {}, {5, 6}};
  ReadItems expected;
  for (const auto& row : rows) expected.push_back(vector_item(row));
  check_arrivals(prefixed(rows), expected, [](int fd) { return io::ragged_of<double>(fd); });
  check_arrivals(prefixed(rows, true), expected,
                 [](int fd) { return io::ragged_of<double>(fd, io::LengthPrefix::uint64); });
  check_arrivals(prefixed(std::vector<std::vector<float>>{{1, 2, 3, 4}}, false).replace(0, 1, "\2"),
                 {{{{2}, {bytes_of(std::vector<float>{1, 3}), bytes_of(std::vector<float>{2, 4})}}}},
                 [](int fd) { return io::ragged_of<std::complex<float>>(fd); });
}

TEST_CASE("descriptors: more than every buffer holds") {
  std::vector<std::vector<double>> rows;
  ReadItems expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    rows.emplace_back(i * 7 % 301, static_cast<double>(i));
    expected.push_back(vector_item(rows.back()));
  }
  rows.emplace_back(200'000, 0.5);  // longer than the first buffer
  expected.push_back(vector_item(rows.back()));
  for (const Limit& limit : {Limit{}, Limit{100}, Limit{INT64_MAX, 100'000}}) {
    Ends ends;
    const auto source = io::ragged_of<double>(ends.out());
    const auto thread = sender(ends, prefixed(rows), 30'000);
    CHECK((items_of(*source.erased(), limit) == expected));
  }
  std::string text;
  std::vector<std::string> strings;
  for (int i = 0; i < 50'000; ++i) {
    strings.push_back(std::string(static_cast<std::size_t>(i % 97), 'a'));
    text += strings.back() + "\n";
  }
  for (const Limit& limit :
       {Limit{}, Limit{1000}, Limit{INT64_MAX, 100'000}, Limit{INT64_MAX, INT64_MAX, 50}}) {
    Ends ends;
    const auto source = io::lines_of(ends.out());
    const auto thread = sender(ends, text, 30'000);
    CHECK((items_of(*source.erased(), limit) == lines(strings)));
  }
}

TEST_CASE("descriptors: what they say of themselves") {
  Ends ends;
  const auto source = io::lines_of(ends.out(), {.name = "the gauge"});
  CHECK(source.info().name == "the gauge");
  CHECK((source.info().live && source.info().independent));
  CHECK_FALSE(source.info().rewindable);
  CHECK_FALSE(source.info().items);
  CHECK(io::words_of(ends.out()).info().name == "descriptor " + std::to_string(ends.out()));
  CHECK_THROWS_AS(source.erased()->rewind(), RunError);
  CHECK_THROWS_AS(io::lines_of(-1), IoError);
  CHECK_THROWS_AS(io::lines_of(987'654), IoError);
}

TEST_CASE("descriptors: an item is there when its last byte is") {
  Ends ends;
  const auto source = io::lines_of(ends.out());
  SourceChunk chunk;
  ends.send("first\nsec");
  REQUIRE(source.erased()->next({1}, chunk));
  CHECK(chunk.work == 5);
  // In the time that there is, what has come; the first is waited for however long it takes.
  Limit limit;
  limit.until = std::chrono::steady_clock::now();
  {
    const std::jthread later([&] {
      std::this_thread::sleep_for(30ms);
      ends.send("ond\nthird\nfou");
    });
    REQUIRE(source.erased()->next(limit, chunk));
  }
  CHECK((chunk.items == 1 || chunk.items == 2));
  ends.send("rth\n");
  limit.until = std::chrono::steady_clock::now() + 20ms;
  REQUIRE(source.erased()->next(limit, chunk));
  CHECK(chunk.items >= 1);
  ends.close_in();
}

TEST_CASE("descriptors: a request to stop ends the waiting") {
  for (const bool blocks : {true, false}) {
    Ends ends;
    if (!blocks) ::fcntl(ends.out(), F_SETFL, O_NONBLOCK);
    const auto source = io::lines_of(ends.out());
    SourceChunk chunk;
    std::stop_source stop;
    Limit limit;
    limit.stop = stop.get_token();
    {
      const std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
      });
      CHECK_THROWS_AS(source.erased()->next(limit, chunk), Cancelled);
    }
    // What is there then is the chunk, and later ones are as ever.
    std::stop_source again;
    limit.stop = again.get_token();
    ends.send("one\ntw");
    {
      const std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        again.request_stop();
      });
      REQUIRE(source.erased()->next(limit, chunk));
    }
    CHECK(chunk.items == 1);
    ends.send("o\n");
    REQUIRE(source.erased()->next({1}, chunk));
    CHECK(chunk.work == 3);
  }
}

TEST_CASE("descriptors: a request to stop that came with items does not keep the next wait awake") {
  static std::atomic<int> waits;
  static std::stop_source stop;
  static const Ends* at;
  Ends ends;
  at = &ends;
  const auto original = io::detail::system_calls();
  // Items arrive, and a stop is requested, while it waits.
  io::detail::system_calls().poll = [](pollfd* fds, nfds_t count, int milliseconds) {
    if (waits++ == 0) {
      at->send("one\n");
      stop.request_stop();
    }
    return ::poll(fds, count, milliseconds);
  };
  waits = 0;
  stop = {};
  const auto source = io::lines_of(ends.out());
  SourceChunk chunk;
  Limit limit;
  limit.stop = stop.get_token();
  const bool given = source.erased()->next(limit, chunk);
  std::stop_source again;
  limit.stop = again.get_token();
  bool stopped = false;
  {
    const std::jthread later([&] {
      std::this_thread::sleep_for(50ms);
      again.request_stop();
    });
    try {
      source.erased()->next(limit, chunk);
    } catch (const Cancelled&) {
      stopped = true;
    }
  }
  io::detail::system_calls() = original;
  CHECK(given);
  CHECK(chunk.items == 1);
  CHECK(stopped);
  CHECK(waits <= 6);
}

TEST_CASE("descriptors: a stream that ends in the middle of a record") {
  const auto fixed = [](int fd) { return io::records_of<std::int32_t>(fd, Index{2}, {.name = "p"}); };
  CHECK(fault(std::string(16, '\0'), fixed).empty());
  CHECK_THAT(fault(std::string(19, '\0'), fixed),
             Contains("p: ends in the middle of record 2: 3 of 8 bytes are there"));
  CHECK_THAT(fault(std::string(19, '\0'), fixed, {1}), Contains("in the middle of record 2: 3 of 8 bytes"));
  const std::string two = prefixed(std::vector<std::vector<double>>{{1}, {2, 3}});
  for (const Limit& limit : some_limits()) {
    CHECK(fault(two, doubles, limit).empty());
    CHECK_THAT(fault(two.substr(0, two.size() - 1), doubles, limit),
               Contains("record 1: 19 of 20 bytes are there"));
    CHECK_THAT(fault(two + std::string("\1\0", 2), doubles, limit),
               Contains("record 2: 2 of 4 bytes of its length are there"));
  }
}

TEST_CASE("descriptors: records that cannot be") {
  CHECK_THAT(fault(std::string("\xff\xff\xff\xff", 4), doubles),
             Contains("record 0 says that it has 4294967295 elements: more than the 1000 bytes"));
  const auto wide = [](int fd) { return io::ragged_of<double>(fd, io::LengthPrefix::uint64); };
  CHECK_THAT(fault(std::string(8, '\xff'), wide),
             Contains("record 0 says that it has 18446744073709551615 elements"));
  CHECK_THAT(fault(prefixed(std::vector<std::vector<double>>{{1}}) + std::string("\x7e\0\0\0", 4), doubles),
             Contains("record 1 says that it has 126 elements"));
  const auto bools = [](int fd) { return io::records_of<bool>(fd, Index{2}); };
  CHECK_THAT(fault(std::string("\0\1\1\2", 4), bools),
             Contains("record 1: element 1 is the byte 2, not a bool"));
  Ends ends;
  CHECK_THROWS_AS((io::records_of<double>(ends.out(), Index{0})), RunError);
  CHECK_THROWS_AS((io::records_of<double>(ends.out(), Index{-1})), RunError);
  CHECK_THROWS_AS((io::records_of<double>(ends.out(), Index{INT64_MAX, 4})), RunError);
  CHECK_THROWS_AS((io::records_of<double>(ends.out(), Index{100}, {.longest = 799})), RunError);
  const auto short_lines = [](int fd) { return io::lines_of(fd, {.name = "p", .longest = 5}); };
  const auto short_words = [](int fd) { return io::words_of(fd, {.name = "p", .longest = 5}); };
  for (const Limit& limit : some_limits()) {
    CHECK_THAT(fault("abcde\nabcdef\n", short_lines, limit), Contains("p: line 2 is longer than 5 bytes"));
    CHECK_THAT(fault("abcde\r\n" + std::string(100, 'x'), short_lines, limit), Contains("line 2 is longer"));
    CHECK(fault("abcde\r\nabcde", short_lines, limit).empty());
    CHECK_THAT(fault("a\n b \nabcdef ", short_words, limit),
               Contains("p: word 3, in line 3, is longer than 5 bytes"));
  }
}

TEST_CASE("descriptors: an item that does not fit is refused, and given when it does") {
  const std::vector<std::vector<double>> rows{{1}, std::vector<double>(100, 2.0), {3}};
  Ends ends;
  ends.send(prefixed(rows));
  ends.close_in();
  const auto source = io::ragged_of<double>(ends.out());
  SourceChunk chunk;
  Limit limit{1};
  limit.memory = 700;
  REQUIRE(source.erased()->next(limit, chunk));
  CHECK_THROWS_AS(source.erased()->next(limit, chunk), ItemTooBig);
  limit.memory = 4000;
  CHECK(items_of(*source.erased(), limit) == ReadItems{vector_item(rows[1]), vector_item(rows[2])});
}

TEST_CASE("descriptors: interrupted calls change nothing, and what the system refuses is said") {
  static int calls;
  const auto original = io::detail::system_calls();
  Ends ends;
  ends.send("one\ntwo\n");
  ends.close_in();
  auto& table = io::detail::system_calls();
  table.read = [](int fd, void* into, std::size_t bytes) -> ssize_t {
    if (++calls % 2 == 1) {
      errno = calls % 4 == 1 ? EINTR : EAGAIN;
      return -1;
    }
    return ::read(fd, into, std::min<std::size_t>(bytes, 3));
  };
  table.poll = [](pollfd* fds, nfds_t count, int milliseconds) {
    if (++calls % 3 == 0) {
      errno = EINTR;
      return -1;
    }
    return ::poll(fds, count, milliseconds);
  };
  const auto source = io::lines_of(ends.out());
  const auto read = items_of(*source.erased(), {1});
  table.read = [](int, void*, std::size_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  Ends others;
  others.send("x");
  const auto failing = io::lines_of(others.out(), {.name = "p"});
  std::string said;
  try {
    items_of(*failing.erased());
  } catch (const IoError& e) {
    said = e.what();
  }
  io::detail::system_calls() = original;
  CHECK(read == lines({"one", "two"}));
  CHECK_THAT(said, Contains("p: cannot read: Input/output error"));
}

TEST_CASE("descriptors: closed by the source where that is asked for") {
  for (const bool close : {false, true}) {
    int fds[2];
    REQUIRE(::pipe(fds) == 0);
    ::close(fds[1]);
    {
      const auto source = io::lines_of(fds[0], {.close = close});
      CHECK(::fcntl(fds[0], F_GETFL) >= 0);
    }
    CHECK((::fcntl(fds[0], F_GETFL) >= 0) == !close);
    if (!close) ::close(fds[0]);
  }
}

TEST_CASE("descriptors: after an item that did not fit all items are given, as few as asked for") {
  const std::vector<std::string> items{std::string(300, 'a'), "bbbbb", "ccccccc", "x", "y"};
  std::string text;
  for (const std::string& item : items) text += item + "\n";
  Limit little{1};
  little.memory = 100;
  for (const bool words : {false, true}) {
    Ends ends;
    ends.send(text);
    ends.close_in();
    const auto source = words ? io::words_of(ends.out()) : io::lines_of(ends.out());
    SourceChunk chunk;
    CHECK_THROWS_AS(source.erased()->next(little, chunk), ItemTooBig);
    CHECK(items_of(*source.erased(), {1}) == lines(items));
  }
  const std::vector<std::vector<std::uint8_t>> records{std::vector<std::uint8_t>(300, 1), {2, 3}, {4}};
  Ends ends;
  ends.send(prefixed(records));
  ends.close_in();
  const auto source = io::ragged_of<std::uint8_t>(ends.out());
  SourceChunk chunk;
  little = {.items = 5, .memory = 310};
  CHECK_THROWS_AS(source.erased()->next(little, chunk), ItemTooBig);
  CHECK(items_of(*source.erased(), {1}) ==
        ReadItems{vector_item(records[0]), vector_item(records[1]), vector_item(records[2])});
}

TEST_CASE("descriptors: the end of a pipe that is written to is refused at once") {
  const Ends ends;
  CHECK_THROWS_WITH(io::lines_of(ends.in()), Contains("cannot read: Bad file descriptor"));
}

TEST_CASE("descriptors: a terminal ends where its other side is closed") {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) {
    WARN("there are no pseudo-terminals here");
    return;
  }
  REQUIRE((::grantpt(master) == 0 && ::unlockpt(master) == 0));
  char name[100];
  REQUIRE(::ptsname_r(master, name, sizeof name) == 0);
  const int other = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(other >= 0);
  REQUIRE(::write(other, "first\nlast", 10) == 10);
  const auto source = io::lines_of(master, {.close = true});
  SourceChunk chunk;
  REQUIRE(source.erased()->next({1}, chunk));
  ::close(other);
  REQUIRE(source.erased()->next({1}, chunk));
  CHECK(chunk.work == 4);
  CHECK(!source.erased()->next({1}, chunk));
}

TEST_CASE("descriptors: white space before a word takes no memory, and its lines are counted") {
  Limit limit{1};
  limit.memory = 1 << 20;
  for (const char space : {' ', '\n'}) {
    Ends ends;
    const auto source = io::words_of(ends.out(), {.name = "p", .longest = 5});
    const auto thread =
        sender(ends, std::string(4 << 20, space) + "word " + std::string(1 << 20, space) + "longer", 30'000);
    SourceChunk chunk;
    REQUIRE(source.erased()->next(limit, chunk));
    CHECK(chunk.items == 1);
    CHECK(chunk.work == 4);
    CHECK(chunk.bytes < 100'000);
    CHECK_THROWS_WITH(source.erased()->next(limit, chunk),
                      Contains(space == ' ' ? "p: word 2, in line 1," : "p: word 2, in line 5242881,"));
  }
}

TEST_CASE("descriptors: what has arrived of an item is looked at once") {
  for (const auto kind : {io::detail::TextItems::lines, io::detail::TextItems::words})
    for (const Limit& limit : {Limit{}, Limit{INT64_MAX, 100}}) {
      const auto framing = io::detail::frame_text("p", kind, 1 << 20);
      std::vector<unsigned char> bytes(3000, 'x');
      const auto look = [&](std::int64_t size) { framing->look(bytes.data(), size, limit); };
      look(1000);
      bytes[500] = '\n';  // in the part that is known to have no end
      look(2000);
      CHECK(framing->items() == 0);
      bytes[2500] = '\n';
      look(3000);
      CHECK(framing->items() == 1);
      CHECK(framing->bytes() == 2501);
    }
}
