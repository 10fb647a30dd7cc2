#include "cuda/kernel_code.h"

#include <future>
#include <vector>

#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "tests/cpu/support/kernels.h"

using namespace anabranch;
using namespace anabranch::cuda;
using anabranch::ir::Primitive;
using anabranch::test::KernelBuilder;
using anabranch::test::reduce_in;
using anabranch::test::reduction_in;
using anabranch::test::row_in;
using gpu_host::WithFakeGpu;
using OperatorClass = ir::fold_order::OperatorClass;

namespace {

/// The sum of one array of so many elements; with `ordered`, x / 3 + y instead.
KernelBuilder fold_of(const kernel::KernelExtent& length, KernelBuilder k, bool ordered = false) {
  const ir::Ref v =
      k.array(kernel::Form::avoided, {ScalarType::float64}, {length}, k.buffer(std::vector<double>(1, 1.0)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {}, 1);
  auto& kernel = k.kernel();
  kernel.body = {ir::index(v, row_in(kernel).index, {}, true)};
  row_in(kernel).length = length;
  reduce_in(kernel).order = ordered ? OperatorClass::ordered : OperatorClass::commutative;
  const ir::Ref left =
      ordered ? ir::primitive(Primitive::divide, {reduction_in(kernel).left[0], ir::literal(3.0)})
              : reduction_in(kernel).left[0];
  reduction_in(kernel).combine = {ir::primitive(Primitive::add, {left, reduction_in(kernel).right[0]})};
  reduction_in(kernel).seed = {ir::literal(0.0)};
  return k;
}
KernelBuilder fold_of_constant(std::int64_t n, bool ordered = false) {
  return fold_of(anabranch::test::constant_extent(n), KernelBuilder(kernel::Reduce{}), ordered);
}
KernelBuilder fold_of_unknown() {
  KernelBuilder k(kernel::Reduce{});
  const kernel::KernelExtent length = k.uniform_extent(1);
  return fold_of(length, std::move(k));
}

}  // namespace

TEST_CASE("of a kernel's code only what is asked for is compiled, and that once") {
  const WithFakeGpu gpu;
  const auto device = Device::get();
  auto k = fold_of_unknown();
  const kernel::Kernel& kernel = k.kernel();
  KernelCode code(device, kernel);
  CHECK(device->load_statistics().compiled == 0);
  const Function one = code.function(1);
  CHECK(device->load_statistics().compiled == 1);
  CHECK(code.function(1) == one);
  CHECK(code.lacks({1, 3}));
  code.prepare({1, 3, 4});
  CHECK(!code.lacks({1, 3}));
  CHECK(device->load_statistics().compiled == 3);
  CHECK(code.function(3) != code.function(4));
  code.prepare(all_entries(kernel));
  CHECK(!code.lacks({0, 1, 2, 3, 4}));
  CHECK(device->load_statistics().compiled == entry_count(kernel));
  CHECK(entry_count(kernel) == 7);
  CHECK(code.function(1) == one);

  // Another program's equal kernel finds it.
  KernelCode again(device, kernel);
  CHECK(again.function(1) == one);
  CHECK(device->load_statistics().compiled == 7);
}

TEST_CASE("several threads ask for a kernel's code") {
  const WithFakeGpu gpu;
  const auto device = Device::get();
  auto k = fold_of_unknown();
  KernelCode code(device, k.kernel());
  std::vector<std::future<Function>> asked;
  for (int t = 0; t < 6; ++t)
    asked.push_back(std::async(std::launch::async, [&code, t] {
      code.prepare({t % 2, 2});
      return code.function(2);
    }));
  for (auto& a : asked) CHECK(a.get() == code.function(2));
  CHECK(device->load_statistics().compiled == 3);
}

TEST_CASE("code that cannot be loaded is an error, and tried again") {
  const WithFakeGpu gpu;
  const auto device = Device::get();
  auto k = fold_of_constant(3);
  KernelCode code(device, k.kernel());
  gpu->fail("module_load_data", 1, 200);
  CHECK_THROWS_AS(code.prepare({0, 1, 2}), RunError);
  CHECK_NOTHROW(code.prepare({0, 1, 2}));
  CHECK(code.function(0) != code.function(1));
}

TEST_CASE("some entries are certain before there is a chunk") {
  auto map = KernelBuilder(kernel::Map{});
  CHECK(certain_entries(map.kernel()) == std::vector{0});
  CHECK(entry_count(map.kernel()) == 1);
  CHECK(certain_entries(fold_of_unknown().kernel()).empty());
  CHECK(certain_entries(fold_of_constant(48).kernel()) == std::vector{0});
  CHECK(certain_entries(fold_of_constant(49).kernel()) == std::vector{1});
  CHECK(certain_entries(fold_of_constant(4096).kernel()) == std::vector{2});
  CHECK(certain_entries(fold_of_constant(4097).kernel()) == std::vector{4});
  CHECK(certain_entries(fold_of_constant(9, true).kernel()) == std::vector{0});
  CHECK(certain_entries(fold_of_constant(4097, true).kernel()) == std::vector{2});
  CHECK(entry_count(fold_of_constant(9, true).kernel()) == 4);
}

TEST_CASE("the driver says how many blocks of an entry that is loaded run at a time") {
  const auto blocks = [](int of_block, bool refused = false) {
    gpu_host::FakeOptions options;
    options.shared_of_kernels = of_block;
    const WithFakeGpu gpu(options);
    KernelBuilder fold = fold_of_constant(100);
    KernelCode code(Device::get(), fold.kernel());
    CHECK(code.blocks_at_a_time(0) == 0);
    if (refused) gpu->fail("occupancy_max_active_blocks", 1, 1);
    code.function(0);
    CHECK(code.blocks_at_a_time(1) == 0);
    return code.blocks_at_a_time(0);
  };
  CHECK(blocks(0) == 8);
  CHECK(blocks(10 << 10) == 8);
  CHECK(blocks(40 << 10) == 5);
  CHECK(blocks(120 << 10) == 1);
  CHECK(blocks(40 << 10, true) == 0);
}

TEST_CASE("kernels ask for as much shared memory as the blocks take that run at a time") {
  const auto carveouts = [](int of_block) {
    gpu_host::FakeOptions options;
    options.shared_of_kernels = of_block;
    const WithFakeGpu gpu(options);
    KernelBuilder fold = fold_of_constant(100);
    KernelCode code(Device::get(), fold.kernel());
    code.function(0);
    return gpu->carveouts();
  };
  CHECK(carveouts(0).empty());  // the driver chooses
  // Of 228 KB: five blocks of 40 and 1 for the system; eight, which 2048 threads are, of 10 and 1; one of 120 and 1.
  CHECK(carveouts(40 << 10) == std::vector<int>{90});
  CHECK(carveouts(10 << 10) == std::vector<int>{39});
  CHECK(carveouts(120 << 10) == std::vector<int>{54});
}
