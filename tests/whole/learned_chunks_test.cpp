// What runs leave to later runs of the same program about the sizes of chunks.

#include <anabranch/anabranch.h>

#include "run/context.h"
#include "support/catch.h"

namespace anabranch::testing {
namespace {

using runtime::LearnedChunks;

TEST_CASE("what is learned of chunks is kept apart by plan, stage, back end and threads") {
  struct Known : scheduler::Learned {};
  const plan::Plan one, other;
  const LearnedChunks::Key key{&one, 0, "cpu", 2};
  LearnedChunks learned;
  CHECK(!learned.of(key));
  const auto first = std::make_shared<const Known>(), second = std::make_shared<const Known>();
  learned.note(key, first);
  CHECK(learned.of(key) == first);
  learned.note(key, nullptr);  // a run that has learned nothing
  CHECK(learned.of(key) == first);
  learned.note(key, second);
  CHECK(learned.of(key) == second);
  for (const LearnedChunks::Key& another : {LearnedChunks::Key{&other, 0, "cpu", 2},
                                            {&one, 1, "cpu", 2},
                                            {&one, 0, "cuda", 2},
                                            {&one, 0, "cpu", 1}})
    CHECK(!learned.of(another));
}

}  // namespace
}  // namespace anabranch::testing
