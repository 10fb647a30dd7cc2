#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "support/gpu_host/executor.h"

// bench_gpu's merge-based SpMV, whose text is compiled by nvcc there, on the host: does the peer multiply?
namespace {

using namespace anabranch::gpu_host;

constexpr std::int64_t threads = 128, tile = 7 * threads;  // as merge_spmv.cuh has them

HeaderText merge_text() {
  std::ifstream in(ANABRANCH_MERGE_SPMV);
  return {"merge_spmv.cuh", {std::istreambuf_iterator<char>(in), {}}};
}

template <class T>
HostModule kernels() {
  const std::string type = std::is_same_v<T, float> ? "float" : "double";
  const std::string parameter = "(anabranch::bench::merge::Product<" + type + "> p)";
  std::string text = "#include \"merge_spmv.cuh\"\n";
  for (const char* name : {"find_starts", "multiply_tile", "add_carried"})
    text += std::string("extern \"C\" __global__ void ") + name + parameter +
            " { anabranch::bench::merge::" + name + "(p); }\n";
  return HostModule(text, {merge_text()});
}

template <class T>
std::uint64_t word(const T* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

/// Numbers whose sums are exact in any order.
template <class T>
std::vector<T> small_integers(std::size_t n, std::mt19937& engine) {
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(static_cast<int>(engine() % 17) - 8);
  return out;
}

template <class T>
struct Matrix {
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<T> values, x;

  explicit Matrix(const std::vector<std::int32_t>& lengths) {
    std::mt19937 engine(static_cast<unsigned>(lengths.size()));
    for (const std::int32_t n : lengths) offsets.push_back(offsets.back() + n);
    x = small_integers<T>(40, engine);
    values = small_integers<T>(static_cast<std::size_t>(offsets.back()), engine);
    for (std::size_t k = 0; k < values.size(); ++k)
      columns.push_back(static_cast<std::int32_t>(engine() % 40));
  }
  std::size_t rows() const { return offsets.size() - 1; }
  std::vector<T> product() const {
    std::vector<T> y(rows());
    for (std::size_t i = 0; i < y.size(); ++i)
      for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k)
        y[i] += values[k] * x[static_cast<std::size_t>(columns[k])];
    return y;
  }
  /// By the kernels, twice, as a benchmark does.
  std::vector<T> product_by(const HostModule& module, std::uint64_t seed) const {
    const auto tiles = (static_cast<std::int64_t>(rows() + values.size()) + tile - 1) / tile;
    std::vector<T> y(rows(), std::numeric_limits<T>::quiet_NaN());
    std::vector<T> carried(static_cast<std::size_t>(tiles), std::numeric_limits<T>::quiet_NaN());
    std::vector<std::int64_t> starts(static_cast<std::size_t>(tiles) + 1, -1);  // two int32 each
    const std::vector<std::uint64_t> words{
        rows() | values.size() << 32, word(offsets.data()), word(columns.data()),
        word(values.data()),          word(x.data()),       word(y.data()),
        word(starts.data()),          word(carried.data())};
    const Dim block(static_cast<unsigned>(threads)), of_threads(static_cast<unsigned>(tiles / threads + 1));
    for (int run = 0; run < 2; ++run) {
      module.launch("find_starts", of_threads, block, words, seed);
      module.launch("multiply_tile", Dim(static_cast<unsigned>(tiles)), block, words, seed);
      module.launch("add_carried", of_threads, block, words, seed);
    }
    return y;
  }
};

/// Short and long rows, empty ones, rows over several tiles, rows and tiles that end together.
std::vector<std::vector<std::int32_t>> laws() {
  std::vector<std::vector<std::int32_t>> out{{0},
                                             {5},
                                             {5000},
                                             {0, 5000, 0, 0, 3, 896, 895, 897, 0, 7000, 0},
                                             std::vector<std::int32_t>(2000, 0),
                                             std::vector<std::int32_t>(896, 1),
                                             std::vector<std::int32_t>(500, 3),
                                             std::vector<std::int32_t>(100, 27)};
  std::mt19937 engine(1);
  for (const unsigned longest : {3u, 30u, 1000u}) {
    out.emplace_back();
    for (int row = 0; row < 60; ++row) out.back().push_back(static_cast<std::int32_t>(engine() % longest));
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("the merge-based peer multiplies matrices of any rows", "", float, double) {
  const HostModule module = kernels<TestType>();
  CHECK(module.parameter_bytes("multiply_tile") == 64);
  for (const auto& lengths : laws()) {
    const Matrix<TestType> matrix(lengths);
    for (const std::uint64_t seed : {0, 1, 2}) CHECK(matrix.product_by(module, seed) == matrix.product());
  }
}
