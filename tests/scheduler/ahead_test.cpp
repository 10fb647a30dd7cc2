#include "scheduler/ahead.h"

#include "support/catch.h"

// How far a stream may run ahead, on made-up time.
namespace anabranch::scheduler::test {
namespace {

constexpr int64_t ms = 1'000'000;

/// A taker that has got `taken` items, one each `each_ns`, of a stream of which `read` items have been read and computed.
struct Stream {
  explicit Stream(const AheadLimits& limits) : ahead(limits) {}

  void read(int64_t items, int64_t bytes = 0) { ahead.was_read(items, bytes); }
  void compute(int64_t items, int64_t bytes = 0) { ahead.was_computed({items, items, 0}, items, bytes); }
  void make(int64_t items) {
    read(items);
    compute(items);
  }
  void take(int64_t items, int64_t each_ns = 0) {
    for (int64_t i = 0; i < items; ++i) {
      now += each_ns;
      ahead.asks(now);
      ahead.takes(now);
    }
  }
  int64_t room(bool wanted = false) { return ahead.room(now, wanted).items; }

  Ahead ahead;
  int64_t now = 1;
};

TEST_CASE("ahead: as many items as are allowed, and another chunk when half of them are gone") {
  Stream s({.items = 100});
  CHECK(s.room(true) == 101);  // the one that is waited for, and those ahead
  s.make(101);
  s.take(1);
  CHECK(s.room() == 0);
  CHECK_FALSE(s.ahead.may_resume());
  s.take(49);
  CHECK(s.room() == 0);  // 51 are ahead
  CHECK_FALSE(s.ahead.may_resume());
  s.take(1);
  CHECK(s.ahead.may_resume());
  CHECK(s.room() == 50);
  s.read(50);  // not computed yet
  CHECK(s.room() == 0);
  s.compute(50);
  CHECK(s.room() == 0);
  s.take(100);
  CHECK(s.room() == 100);
  CHECK(s.room(true) == 101);
}

TEST_CASE("ahead: few items") {
  Stream one({.items = 1});
  CHECK(one.room(true) == 2);
  one.make(1);
  one.take(1);
  CHECK(one.room() == 1);
  one.make(1);
  CHECK(one.room() == 0);
  one.take(1);
  CHECK(one.ahead.may_resume());
  CHECK(one.room() == 1);
  for (const AheadLimits& none : {AheadLimits{.items = 0}, AheadLimits{.bytes = 0}, AheadLimits{.ns = 0}}) {
    Stream s(none);
    CHECK(none.none());
    CHECK(s.room() == 0);
    CHECK(s.room(true) == 1);
    s.make(1);
    s.take(1);
    CHECK(s.room() == 0);
    CHECK_FALSE(s.ahead.may_resume());
    CHECK(s.room(true) == 1);
  }
  Stream unbounded({});
  CHECK(unbounded.room(true) == no_limit);
  unbounded.make(1000);
  CHECK(unbounded.room() == no_limit - 1000);
}

TEST_CASE("ahead: items that are read one by one fill the room, and then wait until half of it is free") {
  Stream s({.items = 10, .one_by_one = true});
  for (int i = 0; i < 11; ++i) {
    CHECK(s.room(true) == 11);
    CHECK(s.room(i == 0) > 0);
    s.make(1);
    if (i == 0) s.take(1);
  }
  CHECK(s.room() == 0);
  s.take(4);
  CHECK_FALSE(s.ahead.may_resume());
  CHECK(s.room() == 0);
  s.take(1);
  CHECK(s.ahead.may_resume());
  for (int left = 5; left > 0; --left) {
    CHECK(s.room() == left);
    s.make(1);
  }
  CHECK(s.room() == 0);
  Stream one({.items = 1, .one_by_one = true});
  one.make(1);
  one.take(1);
  CHECK(one.room() == 1);
  one.make(1);
  CHECK(one.room() == 0);
  one.take(1);
  CHECK(one.room() == 1);
}

TEST_CASE("ahead: items that become fewer or more") {
  Stream s({.items = 10});
  s.read(10);
  s.ahead.was_computed({10, 10, 0}, 2, 0);  // a filter
  CHECK(s.room() == 8);
  s.read(8);
  s.ahead.was_computed({8, 8, 0}, 80, 0);
  CHECK(s.room() == 0);
  s.take(76);
  CHECK_FALSE(s.ahead.may_resume());
  s.take(1);
  CHECK(s.ahead.may_resume());
  CHECK(s.room() == 5);
}

TEST_CASE("ahead: bytes of what is read and of what it has become, until it is handed out") {
  Stream s({.bytes = 1000});
  CHECK(s.ahead.room(s.now, true).bytes == 1000);
  s.read(1, 300);
  CHECK(s.ahead.room(s.now, false).bytes == 700);
  s.read(1, 300);
  CHECK(s.room() == 0);
  CHECK_FALSE(s.ahead.is_full());
  s.ahead.was_computed({2, 2, 600}, 2, 1500);
  CHECK(s.room() == 0);
  CHECK(s.room(true) > 0);
  CHECK(s.ahead.room(s.now, true).bytes == 1);
  CHECK(s.ahead.is_full());
  s.ahead.was_handed_out(1500);
  CHECK_FALSE(s.ahead.is_full());
  CHECK(s.ahead.room(s.now, false).bytes == 1000);
}

TEST_CASE("ahead: what lasts the taker no longer than it should") {
  Stream s({.items = 1000, .ns = 100 * ms});
  CHECK(s.room(true) == 1001);
  s.make(30);
  s.take(10, 2 * ms);
  CHECK(s.room() == 50 - 20);  // 2 ms each
  s.make(30);
  CHECK(s.room() == 0);
  s.take(24, 2 * ms);
  CHECK_FALSE(s.ahead.may_resume());
  s.take(1, 2 * ms);
  CHECK(s.ahead.may_resume());
  CHECK(s.room() == 25);
}

TEST_CASE("ahead: a taker that has not come back for long") {
  Stream s({.items = 1000, .ns = 100 * ms});
  s.make(4);
  s.take(2, ms);
  CHECK(s.room() == 98);
  s.now += 20 * ms;
  CHECK(s.room() == 5 - 2);
  s.now += 10'000 * ms;
  CHECK(s.room() == 0);
  // It is quick again, and the pause is forgotten.
  s.take(2, ms);
  CHECK(s.ahead.may_resume());
  CHECK(s.room() == 1);
  for (int i = 0; i < 100; ++i) {
    s.make(1);
    s.take(1, ms);
  }
  CHECK(s.room() >= 90);
}

TEST_CASE("ahead: one item, however long it lasts") {
  Stream s({.ns = 100 * ms});
  s.make(3);
  s.take(3, 3'600'000 * ms);
  CHECK(s.room() == 1);
  s.make(1);
  CHECK(s.room() == 0);
}

TEST_CASE("ahead: what is waited for is not the taker's time") {
  Stream s({.items = 1000, .ns = 100 * ms});
  s.make(1);
  s.ahead.asks(s.now);
  s.now += 5'000 * ms;
  s.ahead.takes(s.now);
  s.now += ms;
  s.ahead.asks(s.now);
  s.now += 5'000 * ms;
  s.make(1);
  s.ahead.takes(s.now);
  CHECK(s.room() == 100);
}

TEST_CASE("ahead: chunks of a fixed size") {
  Stream s({.items = 20, .chunk = 8});
  CHECK(s.room(true) == 8);
  s.make(8);
  s.take(1);
  CHECK(s.room() == 8);
  s.read(8);
  CHECK(s.room() == 0);  // 15 are ahead, 8 more would be too many
  s.take(2);
  CHECK_FALSE(s.ahead.may_resume());
  s.take(1);
  CHECK(s.ahead.may_resume());
  CHECK(s.room() == 8);
  // No more than one chunk at a time.
  Stream lone({.items = 7, .chunk = 8});
  CHECK(lone.room(true) == 8);
  lone.make(8);
  lone.take(8);
  CHECK(lone.room() == 0);
  CHECK_FALSE(lone.ahead.may_resume());
  CHECK(lone.room(true) == 8);
  // Time says when the next chunk is begun, not how large it is.
  Stream slow({.items = 100, .ns = 100 * ms, .chunk = 8});
  slow.make(16);
  slow.take(8, 20 * ms);
  CHECK(slow.room() == 0);
  slow.take(6, 20 * ms);
  CHECK(slow.ahead.may_resume());
  CHECK(slow.room() == 8);
}

}  // namespace
}  // namespace anabranch::scheduler::test
