// Streams of a GPU: order, waits, and which are kept for later runs.
#include <algorithm>
#include <array>
#include <vector>

#include "support/device.h"

using namespace anabranch;
using namespace anabranch::cuda;
using namespace anabranch::cuda::test;
using Catch::Matchers::Contains;

TEST_CASE("uploads, kernels and downloads, in every order of two streams") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    INFO("seed " << seed);
    const WithFakeGpu gpu(seeded(seed));
    CHECK_NOTHROW(everything());
    const auto log = gpu->log();
    CHECK(std::count_if(log.begin(), log.end(), [](const LogEntry& e) {
            return e.what == LogEntry::What::kernel && e.done && e.stream == 2 && e.block >= 64;
          }) == 2);
    check_clean();
  }
}

TEST_CASE("a stream's work is done when it is waited for, not before") {
  const WithFakeGpu gpu;
  const auto device = Device::get();
  const DeviceBlock block = device->allocate(8);
  std::int64_t in = 5, out = 0;
  Stream one(device);
  one.upload(block.address(), &in, 8);
  one.download(&out, block.address(), 8);
  CHECK(out == 0);
  in = 6;  // too early: the upload is still to come
  one.synchronize();
  CHECK(out == 6);
  CHECK(one.idle());
  one.fill_zero(block.address(), 8);
  CHECK_FALSE(one.idle());
  CHECK(one.idle());  // who asks gets on
  one.fill_zero(block.address(), 0);
  one.upload(block.address(), &in, 0);
  one.download(&in, block.address(), 0);
  CHECK(one.idle());
  // Moving a stream moves its work.
  one.download(&out, block.address(), 8);
  Stream other(std::move(one));
  other.synchronize();
  CHECK(out == 0);
  CHECK(&other.device() == device.get());
}

TEST_CASE("nobody sleeps for a stream that is done, nor asks twice whether it is") {
  const WithFakeGpu gpu;
  {
    const auto device = Device::get();
    const DeviceBlock block = device->allocate(8);
    const std::int64_t in = 5;
    std::int64_t out = 0;
    {
      const Stream never_used(device);
    }
    CHECK(gpu->calls("stream_query") == 0);
    Stream stream(device);
    stream.upload(block.address(), &in, 8);
    while (!stream.idle()) continue;
    const int asked = gpu->calls("stream_query");
    stream.drain();
    CHECK(gpu->calls("stream_query") == asked);
    stream.download(&out, block.address(), 8);
    stream.drain();  // what is not done is waited for
    CHECK(out == in);
    const int drained = gpu->calls("stream_query");
    CHECK(drained > asked);
    stream.drain();
    CHECK(gpu->calls("stream_query") == drained);
  }
  CHECK(gpu->calls("stream_synchronize") == 0);
  check_clean();
}

TEST_CASE("streams that have nothing to do are kept, and used again") {
  const WithFakeGpu gpu(pooled());
  {
    const auto device = Device::get();
    for (int round = 0; round < 3; ++round) {
      const Stream one(device), other(device);
    }
    CHECK(gpu->calls("stream_create") == 2);
    CHECK(gpu->calls("event_create") == 2);
    CHECK(gpu->calls("stream_destroy") == 0);
    {
      std::vector<Stream> many;
      for (int k = 0; k < 40; ++k) many.emplace_back(device);
    }
    CHECK(gpu->calls("stream_create") == 40);
    CHECK(gpu->calls("stream_destroy") == 8);  // more than 32 are not kept
    CHECK_NOTHROW(everything());
    CHECK(gpu->calls("stream_create") == 40);
  }
  check_clean();
}

TEST_CASE("a stream whose work could not be waited for is not used again, nor one after a kernel that died") {
  const WithFakeGpu gpu(pooled());
  {
    const auto device = Device::get();
    const DeviceBlock block = device->allocate(8);
    {
      Stream stream(device);
      stream.fill_zero(block.address(), 8);
      gpu->fail("stream_query", 1, 719);
      gpu->fail("event_record", 1, 719);
      gpu->fail("stream_synchronize", 1, 719);
      stream.drain();
      for (const char* entry : {"stream_query", "event_record", "stream_synchronize"})
        gpu->fail(entry, 1, 719);
    }
    CHECK(gpu->calls("stream_destroy") == 1);
    const auto unit = device->load(scale_unit(), "scale");
    {
      Stream stream(device);
      gpu->fail("kernel", 1, 719);
      stream.launch(unit->entries[0], 1, 32, std::array<std::uint64_t, 3>{0, 0, 0});
      CHECK_THROWS_AS(stream.synchronize(), RunError);
    }
    CHECK(gpu->calls("stream_destroy") == 2);
    gpu->heal();
    CHECK_NOTHROW(everything());
    CHECK(gpu->calls("stream_create") == 4);
  }
  check_clean();
}

TEST_CASE("a stream without its event is none") {
  const WithFakeGpu gpu(pooled());
  {
    const auto device = Device::get();
    gpu->fail("event_create", 1, 719);
    CHECK_THROWS_WITH(Stream(device), Contains("making an event"));
    CHECK(gpu->leaks() == "1 context");
    CHECK_NOTHROW(Stream(device));
  }
  check_clean();
}

TEST_CASE("a forgotten wait between streams shows under some seed") {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const WithFakeGpu gpu(seeded(seed));
    const auto device = Device::get();
    const std::int64_t in = 5;
    std::int64_t out = 0;
    const DeviceBlock block = device->allocate(8);
    Stream up(device), down(device);
    up.upload(block.address(), &in, 8);
    down.download(&out, block.address(), 8);
    down.synchronize();
    wrong += out != 5;
  }
  CHECK(wrong > 0);
}
