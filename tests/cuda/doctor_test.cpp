#include <anabranch/doctor.h>

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
    CHECK(facts.why_no_primitives == "");
  }
  options.primitives = false;
  {
    const gpu_host::WithFakeGpu gpu(options);
    CHECK(gpu_facts().available);
    CHECK(gpu_facts().why_no_primitives == "cuda: the simulated GPU has no device primitives");
  }
  options.gpus = 0;
  const gpu_host::WithFakeGpu gpu(options);
  CHECK_FALSE(gpu_facts().available);
  CHECK(gpu_facts().why_not == "cuda: no GPU can be used: the driver finds none");
}
