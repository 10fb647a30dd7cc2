#include "support/gpu_host/fake_driver.h"

/// Linked into a test program: what it asks of a GPU it gets from a simulated one.
namespace {
const anabranch::gpu_host::WithFakeGpu fake;
}
