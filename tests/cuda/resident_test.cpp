#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/gpu/resident_programs.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"

// What bench_gpu runs by itself on data that is on the GPU, run on a simulated one: are its buffers and
// numbers bound to what the kernels mean?
namespace {

using namespace anabranch;
using namespace anabranch::bench;
using gpu_host::WithFakeGpu;

/// Memory of the simulated GPU, and a stream that is not the library's, as the benchmark's is not.
class Memory {
 public:
  Memory() : device_(cuda::Device::get()), copies_(device_) {
    device_->make_current();
    cuda::check(device_->api(), device_->api().stream_create(&stream_, cuda::stream_non_blocking), "stream");
  }
  ~Memory() { static_cast<void>(device_->api().stream_destroy(stream_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T>
  cuda::Address put(const std::vector<T>& from) {
    const auto bytes = static_cast<std::int64_t>(from.size() * sizeof(T));
    blocks_.push_back(device_->allocate(bytes));
    copies_.upload(blocks_.back().address(), from.data(), bytes);
    copies_.synchronize();
    return blocks_.back().address();
  }
  template <class T>
  std::vector<T> get(cuda::Address from, std::size_t n) {
    std::vector<T> out(n);
    copies_.download(out.data(), from, static_cast<std::int64_t>(n * sizeof(T)));
    copies_.synchronize();
    return out;
  }
  /// Twice, as a benchmark does: the second run finds what the first left in the workspace.
  void run(ResidentKernel& kernel) {
    for (int i = 0; i < 2; ++i) kernel(stream_);
    cuda::check(device_->api(), device_->api().stream_synchronize(stream_), "running");
    kernel.check();
  }

 private:
  std::shared_ptr<cuda::Device> device_;
  cuda::Stream copies_;
  cuda::StreamHandle stream_ = nullptr;
  std::vector<cuda::DeviceBlock> blocks_;
};

/// Numbers whose sums are exact in any order.
template <class T>
std::vector<T> small_integers(std::size_t n) {
  std::mt19937 engine(static_cast<unsigned>(n));
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(static_cast<int>(engine() % 17) - 8);
  return out;
}

struct HostMatrix {
  std::int64_t cols;
  std::vector<std::int32_t> offsets{0}, columns;

  HostMatrix(const std::vector<std::int32_t>& lengths, std::int64_t width) : cols(width) {
    std::mt19937 engine(3);
    for (const std::int32_t n : lengths) {
      offsets.push_back(offsets.back() + n);
      for (std::int32_t k = 0; k < n; ++k)
        columns.push_back(static_cast<std::int32_t>(engine() % static_cast<unsigned>(cols)));
    }
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  ResidentMatrix on(Memory& memory, cuda::Address values) const {
    std::int64_t longest = 0;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      longest = std::max<std::int64_t>(longest, offsets[i + 1] - offsets[i]);
    return {.rows = rows(),
            .cols = cols,
            .nonzeros = offsets.back(),
            .longest = longest,
            .offsets = memory.put(offsets),
            .columns = memory.put(columns),
            .values = values};
  }
  /// Sums of each row over term(element).
  template <class T, class F>
  std::vector<T> sums(F term) const {
    std::vector<T> out;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      T sum = 0;
      for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k)
        sum += term(k);
      out.push_back(sum);
    }
    return out;
  }
};

/// By a thread, by eight, by a warp, and with rows of several blocks.
const std::vector<std::vector<std::int32_t>> row_lengths{
    {3, 3, 0, 2, 3}, {27, 27, 30, 9}, {200, 0, 150}, {2, 5000, 1, 9000, 0}};

}  // namespace

TEMPLATE_TEST_CASE("resident kernels multiply a matrix, sum and scan its rows", "", float, double) {
  const WithFakeGpu gpu;
  for (const auto& lengths : row_lengths) {
    Memory memory;
    const HostMatrix matrix(lengths, 40);
    const auto values = small_integers<TestType>(matrix.columns.size());
    const auto x = small_integers<TestType>(static_cast<std::size_t>(matrix.cols));
    const auto y = memory.put(std::vector<TestType>(lengths.size(), TestType(-1)));
    const ResidentMatrix resident = matrix.on(memory, memory.put(values));

    memory.run(*resident_smvm<TestType>(resident, memory.put(x), y));
    CHECK(memory.get<TestType>(y, lengths.size()) == matrix.template sums<TestType>([&](std::size_t k) {
      return values[k] * x[static_cast<std::size_t>(matrix.columns[k])];
    }));
    memory.run(*resident_row_sums<TestType>(resident, y));
    CHECK(memory.get<TestType>(y, lengths.size()) ==
          matrix.template sums<TestType>([&](std::size_t k) { return values[k]; }));

    const auto prefixes = memory.put(std::vector<TestType>(values.size(), TestType(-1)));
    memory.run(*resident_row_scan<TestType>(resident, prefixes));
    std::vector<TestType> expected(values.size());
    for (std::size_t i = 0; i < lengths.size(); ++i)
      std::partial_sum(values.begin() + matrix.offsets[i], values.begin() + matrix.offsets[i + 1],
                       expected.begin() + matrix.offsets[i]);
    CHECK(memory.get<TestType>(prefixes, values.size()) == expected);
  }
  CHECK(gpu->violations().empty());
}

TEMPLATE_TEST_CASE("resident kernels of whole vectors: dot, scan, squares", "", float, double) {
  const WithFakeGpu gpu;
  for (const std::size_t n : {1, 1000, 10'000}) {
    Memory memory;
    const auto x = small_integers<TestType>(n), y = small_integers<TestType>(n + 1);
    const auto result = memory.put(std::vector<TestType>{-1});
    const auto at = memory.put(x);
    const auto count = static_cast<std::int64_t>(n);
    memory.run(*resident_dot<TestType>(count, at, memory.put(y), result));
    CHECK(memory.get<TestType>(result, 1)[0] ==
          std::inner_product(x.begin(), x.end(), y.begin(), TestType(0)));

    const auto sums = memory.put(std::vector<TestType>(n, TestType(-1)));
    memory.run(*resident_scan<TestType>(count, at, sums));
    std::vector<TestType> prefixes(n);
    std::partial_sum(x.begin(), x.end(), prefixes.begin());
    CHECK(memory.get<TestType>(sums, n) == prefixes);

    const auto squares = memory.put(std::vector<TestType>(n, TestType(-1)));
    memory.run(*resident_squares<TestType>(count, at, squares));
    std::vector<TestType> expected;
    for (const TestType v : x) expected.push_back(v * v + TestType(0.5));
    CHECK(memory.get<TestType>(squares, n) == expected);
  }
  CHECK(gpu->violations().empty());
}

TEMPLATE_TEST_CASE("resident kernels of stencils", "", float, double) {
  const WithFakeGpu gpu;
  const auto near = [](std::int64_t at, std::int64_t n) { return std::clamp<std::int64_t>(at, 0, n - 1); };
  for (const std::int64_t n : {1, 2, 1000, 10'000}) {
    Memory memory;
    const auto x = small_integers<TestType>(static_cast<std::size_t>(n));
    const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(near(i, n))]; };
    const auto y = memory.put(std::vector<TestType>(x.size(), TestType(-1)));
    memory.run(*resident_smoothed<TestType>(n, memory.put(x), y));
    std::vector<TestType> expected;  // quarters of small integers: exact
    for (std::int64_t i = 0; i < n; ++i)
      expected.push_back((at(i - 1) + 2 * at(i) + at(i + 1)) * TestType(0.25));
    CHECK(memory.get<TestType>(y, x.size()) == expected);
  }
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 50}, {70, 71}}) {
    Memory memory;
    const auto x = small_integers<TestType>(static_cast<std::size_t>(rows * cols));
    const auto y = memory.put(std::vector<TestType>(x.size(), TestType(-1)));
    memory.run(*resident_box_means<TestType>(rows, cols, memory.put(x), y));
    std::vector<TestType> expected;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        TestType sum = 0;
        for (std::int64_t k = 0; k < 25; ++k)
          sum += x[static_cast<std::size_t>(near(i + k / 5 - 2, rows) * cols + near(j + k % 5 - 2, cols))];
        expected.push_back(sum * TestType(1.0 / 25));
      }
    CHECK(memory.get<TestType>(y, x.size()) == expected);
  }
  CHECK(gpu->violations().empty());
}

TEST_CASE("a resident kernel says which index was out of range") {
  const WithFakeGpu gpu;
  Memory memory;
  HostMatrix matrix({3, 3}, 5);
  matrix.columns[4] = 5;
  const auto kernel =
      resident_smvm<double>(matrix.on(memory, memory.put(small_integers<double>(6))),
                            memory.put(small_integers<double>(5)), memory.put(std::vector<double>(2)));
  CHECK_THROWS_WITH(memory.run(*kernel), Catch::Contains("5"));
}

TEST_CASE("a resident kernel is refused what is not on the GPU") {
  const WithFakeGpu gpu;
  const Vector<double> x(Index{10});
  const Acc<Vector<double>> whole = use(x);
  const auto sum = fold(plus, 0.0, whole);
  CHECK_THROWS_WITH(ResidentKernel(sum.handle(), {}, {}), Catch::Contains("not on the GPU"));
  const auto two = zip_with(plus, scanl1(plus, whole), scanl1(times, whole));
  CHECK_THROWS_WITH(ResidentKernel(two.handle(), {}, {}), Catch::Contains("kernels, not one"));
}
