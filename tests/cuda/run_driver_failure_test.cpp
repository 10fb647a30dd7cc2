#include "tests/cuda/support/whole_runs.h"

#include <map>

// Whole programs on a simulated GPU whose driver says no.
namespace anabranch::testing {
namespace {

constexpr int out_of_memory = 2, illegal_address = 700, launch_failed = 719, device_lost = 46;

/// Memory is given back by any thread. One that cannot have the GPU's context cannot free it.
bool lost_for_want_of_a_context() {
  cuda::set_platform({});
  const auto violations = fake_gpu().violations();
  return !violations.empty() && std::all_of(violations.begin(), violations.end(), [](const std::string& v) {
    return v.ends_with(" without a context");
  });
}

/// Every entry fails at its k-th call, for every k (thinned out where there are many). Primitives are called
/// where sizes depend on values.
void all_failures(const RunWith& run, const RunOptions& options, const std::vector<int>& results,
                  bool primitives = false) {
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  std::map<std::string, int> calls;
  {
    const WithFakeGpu gpu;
    REQUIRE(equal(run(options, nullptr), expected));
    for (const std::string& entry : gpu_host::FakeGpu::entries()) calls[entry] = gpu->calls(entry);
    for (const std::string entry : {"item_offsets", "kernel"}) calls[entry] = gpu->calls(entry);
    check_clean();
  }
  REQUIRE(calls["memcpy_htod_async"] >= 2);
  REQUIRE((calls["item_offsets"] > 2) == primitives);
  std::uint64_t seed = 0;
  for (const auto& [entry, most] : calls)
    for (int k = 1; k <= most; k = k < 12 ? k + 1 : k + 1 + most / 9)
      for (const int result : results) {
        INFO(entry << " call " << k << " of " << most << " answers " << result);
        const WithFakeGpu gpu(seeded(seed++ % 3));
        gpu->fail(entry, k, result);
        std::string what = "done";
        bool right = true;
        try {
          right = equal(run(options, nullptr), expected);
        } catch (const BackendUnavailable&) {
          what = "unavailable";
        } catch (const ResourceError& e) {
          what = "resource";
          CHECK(result == out_of_memory);
        } catch (const RunError& e) {
          what = "run";
          CHECK_THAT(e.what(), Catch::StartsWith("cuda: "));
          CHECK(result != out_of_memory);
        }
        INFO(what);
        CHECK(right);
        const bool memory = entry == "mem_alloc" || entry == "mem_host_alloc";
        // The first page-locked memory holds the stop word: without it kernels could not be stopped.
        const bool stop_word = entry == "mem_host_alloc" && k == 1;
        if (memory && result == out_of_memory && options.scheduler != "adaptive")
          CHECK(what == (stop_word ? "resource" : "done"));
        if (what == "unavailable") CHECK(k <= 4);  // while it is opened
        // The driver said no to one of these: nothing to be done but to say so. (How often a chunk is tried
        // again for lack of memory, and whether CPU or GPU computes it, depends on the moment.)
        const bool happened = gpu->calls(entry) >= k;
        for (const char* fatal :
             {"launch_kernel", "memcpy_htod_async", "memcpy_dtoh_async", "stream_create", "kernel"})
          if (entry == fatal && result != out_of_memory && happened) CHECK(what == "run");
        // The first call finds out whether there are primitives for this GPU.
        if (entry == "item_offsets" && happened)
          CHECK(what == (k == 1 || result == out_of_memory ? "done" : "run"));
        gpu->heal();
        CHECK(equal(run(options, nullptr), expected));
        if (entry != "ctx_set_current" || !lost_for_want_of_a_context()) check_clean();
      }
}

}  // namespace

TEST_CASE("run: every entry of the driver fails once, with chunks on their way") {
  const Csr a(100, 40, 26);
  all_failures(running(multiply(a.source(), numbers(40, 27))),
               {.backend = Backend::cuda, .scheduler = "fixed:20"},
               {out_of_memory, illegal_address, device_lost});
}

TEST_CASE("run: every entry of the driver fails once, with sizes that depend on values, in little memory") {
  all_failures(running(consume(elements(pieces(60, numbers(100, 28), 29)))),
               {.backend = Backend::cuda,
                .gpu_memory = 100 * 8 + 2 * 60 * 8 + 3 * 64 + 6'000,
                .scheduler = "fixed:20"},
               {out_of_memory, launch_failed}, true);
}

TEST_CASE("run: every entry of the driver fails once, without a stream") {
  const auto x = numbers(3000, 30);
  auto shifted = map([](auto e) { return e + 1.0; }, use(x));
  const auto total = sum(shifted);
  std::vector<RunWith> runs{running(std::tuple(total, map([=](auto e) { return e * the(total); }, shifted),
                                               map([=](auto e) { return e - the(total); }, use(x)),
                                               sum(map([=](auto e) { return e / the(total); }, use(x)))))};
  all_failures(runs[0], {.backend = Backend::cuda}, {out_of_memory, launch_failed});
}

TEST_CASE("run: every entry of the driver fails once, with CPU and GPU, and while streaming out") {
  const Csr a(60, 40, 31);
  all_failures(running(multiply(a.source(), numbers(40, 32)), false),
               {.backend = Backend::cpu_and_cuda, .scheduler = "fixed:10"}, {illegal_address});
  const auto values = numbers(100, 33);
  const RunWith read = [&](const RunOptions& options, RunReport*) {
    std::vector<HostArray> items;
    for (const auto& row : stream_out(pieces(40, values, 34), options)) items.push_back(row.erased());
    return items;
  };
  all_failures(read, {.backend = Backend::cuda}, {out_of_memory, launch_failed}, true);
}

}  // namespace anabranch::testing
