#include "tests/cpu/support/recurrence_kernels.h"

#include "support/catch.h"
#include "tests/cpu/support/oracle.h"

// States along rows in generated code against the oracle, in memory whose borders must not be passed.

using namespace anabranch;
using namespace anabranch::test;

TEMPLATE_TEST_CASE("states of rows of any lengths", "", half, float, double, std::int8_t, std::uint16_t,
                   std::int32_t, std::uint64_t) {
  std::vector<std::int64_t> lengths{0,  1, 5, 300, 17, 16, 15, 18, 17, 17,
                                    16, 0, 0, 0,   33, 20, 20, 21, 19, 20};
  for (std::int64_t i = 0; i < 70; ++i) lengths.push_back(40 + i % 3);
  auto k = states_of_items<TestType>(lengths);
  CHECK(disagreement(k, {0, 5, 100}) == "");
}

TEST_CASE("states of a few long rows, and of rows without elements") {
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{70'000},
                                                   {20'000, 20'000, 3},
                                                   std::vector<std::int64_t>(40, 0),
                                                   std::vector<std::int64_t>(16, 20'000)}) {
    auto k = states_of_items<float>(lengths);
    CHECK(disagreement(k) == "");
  }
}

TEST_CASE("states of the rows of matrices, along and across") {
  for (const bool across : {false, true})
    for (const std::int64_t rows : {0, 1, 7, 16, 40}) {
      INFO(rows << " rows, " << (across ? "across" : "along"));
      auto one = states_of_matrices<double>(rows, 9, false, 1, across);
      CHECK(disagreement(one, {0, 3, 50}) == "");
      auto several = states_of_matrices<std::int32_t>(rows, 9, true, 5, across);
      CHECK(disagreement(several, {0, 3, 50}) == "");
    }
}

TEST_CASE("states of long rows are no longer computed once the run is told to stop") {
  auto k = states_of_items<std::int32_t>(std::vector<std::int64_t>(8, 60'000));
  k.find_checks();
  const auto compiled = cpu::compile(k.kernel(), {});
  cpu::StopWord stop = 0;
  cpu::Bindings bindings = k.bindings();
  bindings.stop = &stop;
  const std::span<std::byte> states = k.output_component(0);
  for (const bool stops : {false, true}) {
    std::ranges::fill(states, std::byte{0xcd});
    stop = 0;
    const auto told_between = [&](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
      if (stops) stop = 1;
      cpu::one_by_one(n, piece);
    };
    const auto launch = [&] {
      cpu::launch(k.kernel(), *compiled, bindings, told_between, cpu::from_heap, 0);
    };
    if (stops)
      CHECK_THROWS_AS(launch(), Cancelled);
    else
      launch();
    const bool last_is_written =
        std::any_of(states.end() - 400, states.end(), [](std::byte b) { return b != std::byte{0xcd}; });
    CHECK(last_is_written == !stops);
  }
}
