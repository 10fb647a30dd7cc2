// How many threads beside those that compute are worth having.
#include "scheduler/device_waits.h"

#include "support/catch.h"

using namespace anabranch::scheduler;

namespace {

DeviceWaits after(int computing, int pieces, const DeviceWaits::Piece& piece) {
  DeviceWaits waits(computing);
  for (int i = 0; i < pieces; ++i) waits.add(piece);
  return waits;
}

}  // namespace

TEST_CASE("device waits: none are worth a thread where reading and committing only compute") {
  const DeviceWaits waits = after(
      4, 100,
      {.read_ns = 500, .read_waited_ns = 10, .write_ns = 500, .write_waited_ns = 10, .compute_ns = 1000});
  CHECK(waits.readers() == 0);
  CHECK(!waits.writer());
}

TEST_CASE("device waits: as many read as keep those busy that compute") {
  // A piece takes 1000 ns of a processor; n threads that compute ask for n in that time.
  const auto readers = [](int computing, int64_t read_ns) {
    return after(computing, 8, {.read_ns = read_ns, .read_waited_ns = read_ns, .compute_ns = 1000}).readers();
  };
  CHECK(readers(8, 100) == 2);  // a device is to have the next request already
  CHECK(readers(8, 400) == 4);
  CHECK(readers(8, 410) == 4);
  CHECK(readers(8, 510) == 5);
  CHECK(readers(8, 1'000'000) == 8);
  CHECK(readers(64, 1'000'000) == 16);
  CHECK(readers(1, 1'000'000) == 2);
}

TEST_CASE("device waits: one thread more commits where that waits, whatever reading does") {
  const DeviceWaits waits =
      after(4, 8, {.read_ns = 100, .write_ns = 300, .write_waited_ns = 200, .compute_ns = 1000});
  CHECK(waits.readers() == 0);
  CHECK(waits.writer());
}

TEST_CASE("device waits: a few pieces prove nothing, unless they have waited for long") {
  const DeviceWaits::Piece slow{.read_ns = 500, .read_waited_ns = 500, .compute_ns = 1000};
  CHECK(after(2, 7, slow).readers() == 0);
  CHECK(after(2, 8, slow).readers() == 2);
  const DeviceWaits::Piece slower{
      .read_ns = 15'000'000, .read_waited_ns = 15'000'000, .compute_ns = 30'000'000};
  CHECK(after(2, 1, slower).readers() == 0);
  CHECK(after(2, 2, slower).readers() == 2);
}

TEST_CASE("device waits: one piece of many that waits for long proves nothing") {
  DeviceWaits waits(2);
  for (int piece = 0; piece < 200; ++piece)
    waits.add(piece % 20 == 19 ? DeviceWaits::Piece{.read_ns = 9000,
                                                    .read_waited_ns = 9000,
                                                    .write_ns = 9000,
                                                    .write_waited_ns = 9000,
                                                    .compute_ns = 1000}
                               : DeviceWaits::Piece{.read_ns = 10, .compute_ns = 1000});
  CHECK(waits.readers() == 0);
  CHECK(!waits.writer());
}

TEST_CASE("device waits: what begins once does not flicker") {
  const auto waiting = [](int64_t ns) {
    return DeviceWaits::Piece{.read_ns = ns, .read_waited_ns = ns, .compute_ns = 1000};
  };
  CHECK(after(2, 50, waiting(45)).readers() == 0);
  DeviceWaits waits = after(2, 50, waiting(100));
  CHECK(waits.readers() == 2);
  for (int i = 0; i < 50; ++i) waits.add(waiting(45));
  CHECK(waits.readers() == 2);
  for (int i = 0; i < 50; ++i) waits.add(waiting(10));
  CHECK(waits.readers() == 0);
}

TEST_CASE("device waits: the first pieces are measured, and of the others some") {
  int measured = 0;
  for (int64_t piece = 0; piece < 16; ++piece) measured += DeviceWaits::measures(piece) ? 1 : 0;
  CHECK(measured == 16);
  for (int64_t piece = 16; piece < 816; ++piece) measured += DeviceWaits::measures(piece) ? 1 : 0;
  CHECK(measured == 116);
}
