#include <anabranch/io.h>

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "agree.h"

// Programs over pipes and sockets: live, stopped while they wait, with results as items arrive.
namespace anabranch::testing {
namespace {

using namespace std::chrono_literals;

class Pipe {
 public:
  Pipe() {
    if (::pipe(fds_) != 0) std::abort();
  }
  ~Pipe() {
    close_in();
    ::close(fds_[0]);
  }
  Pipe(const Pipe&) = delete;
  int out() const { return fds_[0]; }
  void send(const std::string& bytes) const {
    REQUIRE(::write(fds_[1], bytes.data(), bytes.size()) == std::ssize(bytes));
  }
  void close_in() {
    if (fds_[1] >= 0) ::close(std::exchange(fds_[1], -1));
  }

 private:
  int fds_[2];
};

const auto length = [](auto line) { return unit(size(line)); };

TEST_CASE("lines that arrive: the result of each is there before the next one is sent", "[once]") {
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    Pipe pipe;
    pipe.send("first\n");
    int items = 0;
    for (const auto& n :
         stream_out(map_seq(length, stream_in(io::lines_of(pipe.out()))), {.backend = backend})) {
      CHECK(n[0] == (items == 0 ? 5 : items));
      if (++items == 4)
        pipe.close_in();
      else
        pipe.send(std::string(static_cast<std::size_t>(items), 'x') + "\n");
    }
    CHECK(items == 4);
  }
}

TEST_CASE("what arrives at a descriptor, in every configuration") {
  const std::string text = "one two\nthree\n\nfour five six\n";
  const auto read = [&](const RunOptions& options) {
    Pipe pipe;
    pipe.send(text);
    pipe.close_in();
    return arrays_of(run(consume(elements(map_seq(length, stream_in(io::words_of(pipe.out()))))), options));
  };
  CHECK(agree_erased(read, Loc::current())[0]->size() == 6);
}

TEST_CASE("a run that waits at a descriptor is stopped", "[once]") {
  for (const Backend backend : {Backend::interpreter, Backend::cpu})
    for (const int threads : {1, 2}) {
      if (backend == Backend::interpreter && threads > 1) continue;
      Pipe pipe;
      pipe.send("first\nsec");
      std::stop_source stop;
      const std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
      });
      CHECK_THROWS_AS(run(consume(elements(map_seq(length, stream_in(io::lines_of(pipe.out()))))),
                          {.backend = backend, .threads = threads, .stop = stop.get_token()}),
                      Cancelled);
    }
}

}  // namespace
}  // namespace anabranch::testing
