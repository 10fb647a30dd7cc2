// The interface of a back end (src/run/chunks/backend.h), driven by back ends that are made up: whatever completes when,
// refuses what and commits in how many parts, results are the interpreter's bits, in the order of the stream.

#include <anabranch/anabranch.h>

#include "made_up_backends.h"

#include "front/handle.h"
#include "interp/interpret.h"
#include "run/backends/choose.h"
#include "run/backends/hybrid_backend.h"
#include "support/catch.h"
#include "support/host_arrays.h"
#include "support/random_program.h"

namespace anabranch::testing {
namespace {

using runtime::RunBackend;
using runtime::RunContext;

CompileOptions as_interpreted() {
  CompileOptions options;
  options.contract = false;
  return options;
}

MakeBackend behaving(Behaviour& behaviour) {
  return [&](RunContext&, std::unique_ptr<RunBackend> cpu) { return made_up(std::move(cpu), behaviour); };
}

/// The CPU beside a device that behaves so. Of one run at a time: it keeps the kernels of the last.
MakeBackend beside_the_cpu(Behaviour& device) {
  const auto kernels = std::make_shared<std::shared_ptr<runtime::ProgramKernels>>();
  return [&device, kernels](RunContext& context, std::unique_ptr<RunBackend> cpu) {
    *kernels = runtime::make_program_kernels(context.plan);
    auto other = runtime::make_backend(runtime::BackendChoice{}, context, **kernels, true);
    return std::make_unique<runtime::HybridBackend>(context, std::move(cpu),
                                                    made_up(std::move(other), device));
  };
}

RunOptions in_chunks_of(int items, int threads = 3) {
  RunOptions options;
  options.threads = threads;
  options.scheduler = "fixed:" + std::to_string(items);
  return options;
}

/// Random programs on this back end, beside the interpreter.
void agree(const MakeBackend& make, const RunOptions& options) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const RandomProgram program = random_sequence_program(seed, 1 + static_cast<int>(seed % 8));
    INFO(describe(program));
    const auto expected = interp::run(program.roots);
    const Compiled compiled = compile_program(program.roots, {}, as_interpreted());
    const auto got = run_on(make, compiled, options);
    REQUIRE(got.size() == expected.size());
    for (std::size_t r = 0; r < got.size(); ++r)
      if (!same(got[r], expected[r]))
        FAIL("result " << r << ": " << show(got[r]) << " expected " << show(expected[r]));
  }
}

/// Item i is t[i], and has a size that its number tells.
Seq<Vector<double>> ragged_items(std::int64_t items, std::int64_t size_of_t) {
  std::vector<double> t(static_cast<std::size_t>(size_of_t));
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = 1.0 / static_cast<double>(i + 1);
  const auto doubled = map([](auto v) { return v * 2.0; }, use(Vector<double>(t)));  // computed once per run
  return produce(items, [=](auto i) { return fill(i % std::int64_t{7}, doubled[i]); });
}

Compiled compiled(const Acc<Vector<double>>& result) {
  return compile_program({front::node_of(result.handle())}, {}, as_interpreted());
}

TEST_CASE("a back end that computes chunks when they are asked for") {
  for (const int items : {1, 7, 64}) {
    Behaviour late;
    late.late = true;
    agree(behaving(late), in_chunks_of(items));
    REQUIRE(late.enqueued > 0);
    REQUIRE(late.completed == late.enqueued);
    REQUIRE(late.prepared == 12);
    REQUIRE(late.concluded == 12);
  }
}

TEST_CASE("several chunks are on their way at once, and results come in the order of the stream") {
  Behaviour late;
  late.late = true;
  late.milliseconds = 5;
  const Compiled program = compiled(consume(elements(ragged_items(400, 400))));
  const auto expected = interp::run(program.program);
  REQUIRE(same(run_on(behaving(late), program, in_chunks_of(20))[0], expected[0]));
  REQUIRE(late.completed == 20);
  REQUIRE(late.most_on_their_way > 1);
  REQUIRE(late.stages == 1);
  REQUIRE(late.globals == 1);
}

TEST_CASE("a back end that commits each chunk in two parts") {
  for (const bool late : {false, true}) {
    Behaviour halves;
    halves.late = late;
    halves.most_items_of_a_part = 1;
    agree(behaving(halves), in_chunks_of(7));
    REQUIRE(halves.completed > 0);
  }
}

TEST_CASE("a chunk that a back end refuses is cut in halves") {
  for (const bool late : {false, true})
    for (const std::int64_t most : {1, 3}) {
      Behaviour small;
      small.late = late;
      small.most_items = most;
      agree(behaving(small), in_chunks_of(16));
      REQUIRE(small.refused > 0);
      REQUIRE(small.rooms_made > 0);
      REQUIRE(small.completed == small.enqueued);
    }
}

TEST_CASE("after chunks that were computed in parts smaller ones are asked for") {
  Behaviour small;
  small.most_items = 5;
  const Compiled program = compiled(consume(elements(ragged_items(4'000, 4'000))));
  const auto got = run_on(behaving(small), program, in_chunks_of(64));
  REQUIRE(same(got[0], interp::run(program.program)[0]));
  REQUIRE(small.refused > 0);
  // Else each chunk of 64 is refused itself, and fourteen of its parts.
  REQUIRE(small.refused < 4'000 / 64 * 15 / 2);
}

TEST_CASE("a chunk that fits once room has been made is not cut") {
  Behaviour full;
  full.late = true;
  full.most_items = 19;
  full.makes_room = true;
  const Compiled program = compiled(consume(elements(ragged_items(400, 400))));
  RunReport report;
  const auto got = run_on(behaving(full), program, in_chunks_of(20), &report);
  REQUIRE(same(got[0], interp::run(program.program)[0]));
  REQUIRE(full.refused == 20);
  REQUIRE(full.rooms_made == 20);
  REQUIRE(full.enqueued == 20);
  REQUIRE(report.chunks == 20);
  REQUIRE(report.gpu_chunks == 20);
}

TEST_CASE("one item that a back end refuses is an error with its words") {
  for (const bool late : {false, true}) {
    Behaviour none;
    none.late = late;
    none.most_items = 0;
    const Compiled program = compiled(consume(elements(ragged_items(10, 10))));
    REQUIRE_THROWS_WITH(run_on(behaving(none), program, in_chunks_of(4)), "the made-up memory is full");
  }
}

TEST_CASE("of several chunks with a failed check the first one's error comes out") {
  const Compiled program = compiled(consume(elements(ragged_items(1000, 500))));
  std::string of_the_cpu;
  try {
    run_on([](RunContext&, std::unique_ptr<RunBackend> cpu) { return cpu; }, program, in_chunks_of(50));
  } catch (const RunError& e) {
    of_the_cpu = e.what();
  }
  REQUIRE(of_the_cpu.find("500") != std::string::npos);
  Behaviour late;
  late.late = true;
  REQUIRE_THROWS_WITH(run_on(behaving(late), program, in_chunks_of(50)), of_the_cpu);
}

TEST_CASE("items are streamed out of any back end") {
  const Compiled sequence = compile_sequence(front::node_of(ragged_items(60, 60).handle()), as_interpreted());
  const auto expected = items_on([](RunContext&, std::unique_ptr<RunBackend> cpu) { return cpu; }, sequence,
                                 in_chunks_of(60, 1));
  REQUIRE(expected.size() == 60);
  for (const bool late : {false, true})
    for (const std::int64_t most : {INT64_MAX, std::int64_t{2}}) {
      Behaviour behaviour;
      behaviour.late = late;
      behaviour.most_items = most;
      behaviour.most_items_of_a_part = 1;
      const auto got = items_on(behaving(behaviour), sequence, in_chunks_of(16));
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(same(got[i][0], expected[i][0]));
      REQUIRE((behaviour.refused > 0) == (most == 2));
    }
}

TEST_CASE("two back ends share the chunks of a stage") {
  for (const int threads : {1, 3}) {
    Behaviour device;
    device.late = true;
    device.busy_every = 2;
    RunReport report;
    const MakeBackend both = beside_the_cpu(device);
    const Compiled program = compiled(consume(elements(ragged_items(400, 400))));
    const auto got = run_on(both, program, in_chunks_of(20, threads), &report);
    REQUIRE(same(got[0], interp::run(program.program)[0]));
    // Every second time it is busy: then the host takes the chunk, or its first items where the device has others.
    REQUIRE(device.enqueued >= 10);
    REQUIRE(report.chunks == 20);
    REQUIRE(report.gpu_chunks == device.enqueued);
    device.most_items = 3;  // what does not fit there is cut, and half of the parts go to the host
    agree(both, in_chunks_of(16, threads));
    REQUIRE(device.refused > 0);
  }
}

TEST_CASE("of a chunk the host computes the first items and the device the others") {
  for (const bool late : {true, false}) {
    Behaviour device;
    device.late = late;
    device.busy_every = 2;
    device.milliseconds = 5;  // so that it has something to do when the next chunk comes
    RunReport report;
    const MakeBackend both = beside_the_cpu(device);
    const Compiled program = compiled(consume(elements(ragged_items(400, 400))));
    const auto got = run_on(both, program, in_chunks_of(20, 3), &report);
    REQUIRE(same(got[0], interp::run(program.program)[0]));
    if (late) REQUIRE(device.enqueued > 10);
    REQUIRE(report.gpu_chunks == device.enqueued);
    device.most_items = 15;  // the whole chunk does not fit, a rest may
    agree(both, in_chunks_of(16, 3));
  }
}

TEST_CASE("of two back ends the host takes what the device has no room for") {
  for (const bool late : {false, true}) {
    Behaviour device;
    device.late = late;
    device.most_items = 0;
    RunReport report;
    const MakeBackend both = beside_the_cpu(device);
    const Compiled program = compiled(consume(elements(ragged_items(400, 400))));
    const auto got = run_on(both, program, in_chunks_of(20), &report);
    REQUIRE(same(got[0], interp::run(program.program)[0]));
    REQUIRE(report.gpu_chunks == 0);
    REQUIRE(device.refused > 0);
    REQUIRE(device.refused < 20);  // after the first item it is not asked again
    agree(both, in_chunks_of(16));
  }
}

}  // namespace
}  // namespace anabranch::testing
