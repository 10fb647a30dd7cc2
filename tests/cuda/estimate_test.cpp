#include "run/backends/estimate.h"

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include "compile.h"
#include "front/handle.h"
#include "support/catch.h"
#include "tests/cuda/support/whole_runs.h"

// What a run is expected to cost, before it begins.
namespace anabranch::testing {
namespace {

using runtime::estimate;
using runtime::RunEstimate;

template <class Result>
RunEstimate estimated(const Result& result) {
  const Compiled compiled = compile_program({front::node_of(result.handle())}, {}, {});
  return estimate(compiled.plan, {});
}

}  // namespace

TEST_CASE("estimate: what crosses the link is what kernels read, and the results") {
  const Csr a(1000, 300, 1);
  const RunEstimate spmv = estimated(multiply(a.source(), numbers(300, 2)));
  CHECK(spmv.bytes_up == static_cast<double>(a.bytes()) + 300 * 8);
  CHECK(spmv.bytes_down == 1000 * 8);
  CHECK(spmv.operations >= static_cast<double>(2 * a.offsets.back()));
  CHECK(spmv.operations <= static_cast<double>(20 * a.offsets.back()));

  const auto x = numbers(500, 3);
  const auto shifted = map([](auto e) { return e + 1.0; }, use(x));
  const RunEstimate outside = estimated(shifted);
  CHECK(outside.bytes_up == 500 * 8);
  CHECK(outside.bytes_down == 500 * 8);
  CHECK(outside.operations >= 500);
  CHECK(outside.operations <= 500 * 8);
  CHECK(outside.launches == 1);
}

TEST_CASE(
    "estimate: what is read goes to where the GPU copies from, what lies in memory is copied there first") {
  const io_test::TemporaryDirectory dir;
  const std::vector<Vector<double>> rows{numbers(300, 1), numbers(200, 2)};
  const auto total = [](auto row) { return sum(row); };
  const RunEstimate in_memory = estimated(consume(elements(map_seq(total, stream_in(Ragged<double>(rows))))));
  CHECK(in_memory.bytes_up == 500 * 8);
  CHECK(in_memory.bytes_read == 0);
  CHECK(in_memory.staged_bytes() == 500 * 8 + 2 * 8);
  run(consume(write(stream_in(Ragged<double>(rows)), io::write_ragged(dir / "rows"))));
  const RunEstimate in_file =
      estimated(consume(elements(map_seq(total, stream_in(io::open_ragged<double>(dir / "rows"))))));
  CHECK(in_file.bytes_up == 500 * 8);
  CHECK(in_file.bytes_read == 500 * 8);
  CHECK(in_file.staged_bytes() == 2 * 8);
}

TEST_CASE("estimate: a sort is the GPU's, too") {
  const RunEstimate sorted = estimated(sort(use(numbers(500, 3))));
  CHECK(sorted.bytes_up == 500 * 8);
  CHECK(sorted.bytes_down == 500 * 8);
  CHECK(sorted.operations >= 500 * 50);
  CHECK(sorted.launches == 1);
  CHECK_FALSE(runtime::why_no_gpu(estimated(sort(use(numbers(10, 3)))), 1).empty());

  const std::vector<Vector<double>> rows{numbers(300, 1), numbers(200, 2)};
  const auto source = Ragged<double>(rows);
  const RunEstimate streamed =
      estimated(consume(elements(map_seq([](auto row) { return sort(row); }, stream_in(source)))));
  CHECK(streamed.bytes_up == 500 * 8);
  CHECK(streamed.bytes_down == 500 * 8);
}

TEST_CASE("estimate: what takes no longer than launches needs no GPU") {
  RunEstimate run;
  run.launches = 2;
  run.operations = 1e6;
  CHECK(runtime::why_no_gpu(run, 1) == "the CPU would take about 56 us, the launches on a GPU alone 60 us");
  run.operations = 2e6;
  CHECK(runtime::why_no_gpu(run, 1).empty());
  CHECK_FALSE(runtime::why_no_gpu(run, 2).empty());
}

TEST_CASE("estimate: sizes are followed through what is computed") {
  const auto x = numbers(40, 4);
  const auto acc = use(x);
  const auto pairs =
      sum(generate(make<Index<2>>(size(acc), size(acc)), [=](auto at) { return acc[at[0]] * acc[at[1]]; }));
  CHECK(estimated(pairs).operations >= 40 * 40 * 2);
  CHECK(estimated(pairs).operations <= 40 * 40 * 16);
  CHECK(estimated(pairs).bytes_up == 40 * 8);
}

TEST_CASE("estimate: of windows that lie over each other the signal crosses the link once") {
  const std::vector<Vector<float>> blocks{Vector<float>(std::vector<float>(700, 1.0F)),
                                          Vector<float>(std::vector<float>(500, 2.0F))};
  const auto energy = [](auto window) { return sum(map([](auto e) { return e * e; }, window)); };
  const auto windows_of = [&](std::int64_t size, std::int64_t hop) {
    return estimated(
        consume(elements(map_seq(energy, windows(stream_in(Ragged<float>(blocks)), size, hop)))));
  };
  const RunEstimate over = windows_of(100, 20);
  CHECK(over.bytes_down == 56 * 4);
  CHECK(over.bytes_up == 1200 * 4);
  CHECK(over.operations >= 56 * 100 * 2);
  CHECK(over.operations <= 56 * 100 * 8);
  const RunEstimate apart = windows_of(100, 200);
  CHECK(apart.bytes_down == 6 * 4);
  CHECK(apart.bytes_up == 6 * 100 * 4);
  CHECK(windows_of(2000, 1).bytes_up == 0);
}

TEST_CASE("estimate: of what other stages feed these are counted, too") {
  const std::vector<Vector<double>> rows{numbers(300, 1), numbers(200, 2)};
  const auto long_rows =
      filter_seq([](auto row) { return size(row) > 250; }, stream_in(Ragged<double>(rows)));
  const RunEstimate run = estimated(consume(
      elements(map_seq([](auto row) { return map([](auto e) { return e + 1.0; }, row); }, long_rows))));
  CHECK(run.bytes_up >= 500 * 8);
  CHECK(run.bytes_up <= 2 * 500 * 8);
  CHECK(run.operations >= 500);
  CHECK(run.operations <= 500 * 16);
  // They are fed themselves by what computes.
  const auto roots = map_seq([](auto row) { return map([](auto e) { return exp(sin(e)); }, row); },
                             stream_in(Ragged<double>(rows)));
  const RunEstimate behind = estimated(consume(elements(
      map_seq([](auto row) { return map([](auto e) { return e + 1.0; }, row); }, drop_seq(1, roots)))));
  CHECK(behind.operations >= 500 * 20);
  CHECK(behind.bytes_up >= 500 * 8);
}

TEST_CASE("estimate: a loop runs some rounds, and its state stays where it is") {
  const auto once = map([](auto e) { return e + 1.0; }, use(numbers(1000, 5)));
  const auto looped =
      awhile([](auto v) { return the(sum(v)) < 1e6; },
             [](auto v) { return map([](auto e) { return e + 1.0; }, v); }, use(numbers(1000, 5)));
  CHECK(estimated(looped).operations > 20 * estimated(once).operations);
  CHECK(estimated(looped).bytes_up == 1000 * 8);
}

TEST_CASE("estimate: the slower of link and staging counts, or the multiprocessors") {
  RunEstimate run;
  run.bytes_up = 1e9;
  run.operations = 1e9;
  runtime::MachineRates machine{.threads = 16, .multiprocessors = 100, .link = 10e9};
  CHECK(seconds_of_gpu(run, machine) == Approx(0.1));
  CHECK(seconds_of_cpu(run, machine) == Approx(0.01));
  CHECK_FALSE(compare(run, machine, "A").gpu);
  machine.link = 1e12;
  CHECK(seconds_of_gpu(run, machine) == Approx(0.02));
  run.bytes_read = 0.75e9;
  CHECK(seconds_of_gpu(run, machine) == Approx(0.005));
  run.operations = 1e13;
  CHECK(seconds_of_gpu(run, machine) == Approx(10.0 / 6));
  CHECK(compare(run, machine, "A").gpu);
  CHECK(compare(run, machine, "A").reason ==
        "the GPU (A) would take about 1.67 s, with 1e+03 MB over a link of 1e+03 GB/s; the CPU about 31.2 s, "
        "with "
        "1e+07 million additions by 16 threads");
  CHECK_FALSE(compare({}, machine, "A").gpu);
}

}  // namespace anabranch::testing
