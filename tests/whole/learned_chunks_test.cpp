// What runs leave to later runs of the same program about the sizes of chunks.

#include <filesystem>

#include <anabranch/anabranch.h>

#include "run/context/context.h"
#include "scheduler/controller.h"
#include "support/catch.h"
#include "support/own_kernel_cache.h"

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

struct OwnWorkingDirectory : TemporaryDirectory {
  OwnWorkingDirectory() { std::filesystem::current_path(path()); }
  ~OwnWorkingDirectory() { std::filesystem::current_path(before_); }
  OwnWorkingDirectory(const OwnWorkingDirectory&) = delete;
  OwnWorkingDirectory& operator=(const OwnWorkingDirectory&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

using RowSums = Program<Acc<Scalar<double>>>;
RowSums row_sums() {
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
  // Elements that take long enough to be told from what a chunk costs, on a busy machine, too.
  const auto rows = produce(300'000, [](auto i) {
    return generate(i % 50, [=](auto k) { return sin(exp(cast<double>(k * i) * 1e-7)); });
  });
  return compile(consume(fold_seq(add, unit(0.0), map_seq([](auto row) { return sum(row); }, rows))));
}

/// What a run knew of its chunks when it decided on the first of them.
ChunkDecision first_decision(const RowSums& program, int threads) {
  RunReport report;
  program.run({.threads = threads}, &report);
  REQUIRE(report.stages.size() == 1);
  REQUIRE(!report.stages[0].decisions.empty());
  return report.stages[0].decisions[0];
}

bool begins_anew(const ChunkDecision& first) {
  // What has been learned may be that an element costs nothing beside a chunk.
  const bool anew = first.reason == to_string(scheduler::Reason::start);
  if (anew) CHECK(first.seconds_per_work == 0);
  return anew;
}

TEST_CASE("the next run of a program in this process begins with the chunks that the last one has found") {
  const OwnKernelCache kernels;
  const OwnWorkingDirectory here;
  const RowSums program = row_sums();
  const ChunkDecision first = first_decision(program, 2);
  CHECK(begins_anew(first));
  const int entries = kernels.entries();
  // A run whose costs were still changing at its end leaves nothing: the machine may be busy.
  ChunkDecision next;
  const auto is_unsettled = [](const ChunkDecision& decision) {
    return begins_anew(decision) || decision.reason == to_string(scheduler::Reason::explore);
  };
  for (int run = 0; run < 20 && (next = first_decision(program, 2), is_unsettled(next)); ++run) {
  }
  CHECK(!begins_anew(next));
  CHECK(next.reason != to_string(scheduler::Reason::explore));
  CHECK(next.fixed_seconds >= 0);
  CHECK(next.items.value_or(0) > first.items.value_or(0));

  // It is the program's, and of as many threads; the next process does not find it either.
  CHECK(begins_anew(first_decision(program, 1)));
  CHECK(begins_anew(first_decision(row_sums(), 2)));
  CHECK(kernels.entries() == entries);
  CHECK(here.files() == 0);
}

}  // namespace
}  // namespace anabranch::testing
