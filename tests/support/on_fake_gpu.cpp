#include "support/gpu_host/fake_driver.h"

/// Linked into a test program: what it asks of a GPU it gets from a simulated one.
namespace {

anabranch::gpu_host::FakeOptions options() {
  anabranch::gpu_host::FakeOptions out;
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer keeps shadow memory for every library that is opened, here thousands. tests/cuda has kernels
  // with it; what is looked for here are races of the host's threads.
  out.sanitize = false;
#endif
  return out;
}

const anabranch::gpu_host::WithFakeGpu fake(options());

}  // namespace
