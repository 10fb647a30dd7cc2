#include <anabranch/doctor.h>

#include <vector>

#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"

using namespace anabranch;

TEST_CASE("the doctor tells what GPU there is, or why there is none") {
  gpu_host::FakeOptions options;
  {
    const gpu_host::WithFakeGpu gpu(options);
    const GpuFacts facts = gpu_facts();
    CHECK(facts.available);
    CHECK(facts.name == "Simulated GPU");
    CHECK(facts.architecture == "sm_90");
    CHECK(facts.multiprocessors == 4);
    CHECK(facts.memory == options.memory);
    CHECK(facts.memory_free == options.memory);
    CHECK(facts.driver == "13.0");
    CHECK(facts.compiler == "of the host");
    CHECK(facts.why_compiler == "");
    CHECK(facts.why_no_primitives == "");
  }
  options.primitives = false;
  {
    const gpu_host::WithFakeGpu gpu(options);
    CHECK(gpu_facts().available);
    CHECK(gpu_facts().why_no_primitives == "cuda: the simulated GPU has no device primitives");
  }
  options.primitives = true;
  {
    constexpr int no_binary_for_gpu = 209;
    cuda::Platform platform = gpu_host::fake_platform(options);
    platform.other_compilers = [same = platform.compiler] { return std::vector{same}; };
    cuda::set_platform(platform);
    gpu_host::fake_gpu().fail("module_load_data", 1, no_binary_for_gpu);
    CHECK(gpu_facts().available);
    CHECK(gpu_facts().why_compiler ==
          "the driver, for CUDA 13.0, refuses what NVRTC of the host makes: error 209");
    cuda::set_platform(gpu_host::fake_platform(options));
    gpu_host::fake_gpu().fail("module_load_data", 1, no_binary_for_gpu);
    CHECK(gpu_facts().why_not ==
          "cuda: no GPU can be used: the driver, for CUDA 13.0, refuses what NVRTC of the host makes: error "
          "209");
  }
  options.gpus = 0;
  const gpu_host::WithFakeGpu gpu(options);
  CHECK_FALSE(gpu_facts().available);
  CHECK(gpu_facts().why_not == "cuda: no GPU can be used: the driver finds none");
}
