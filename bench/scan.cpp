#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <vector>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/programs.h"

/// Inclusive sums of rows, in double, in memory.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

/// Rows with offsets, and what every contender's result is compared with.
struct Rows {
  Csr a;
  Buffer<double> expected;

  explicit Rows(Csr matrix) : a(std::move(matrix)), expected(a.values.size()) { loop(expected.data()); }

  /// Each row by itself, left to right.
  void loop(double* out) const {
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      std::inclusive_scan(a.values.data() + a.indptr[row], a.values.data() + a.indptr[row + 1],
                          out + a.indptr[row]);
    }
  }
  bool right(const double* result) const {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (std::abs(result[i] - expected[i]) > 1e-9 * (1 + std::abs(expected[i]))) return false;
    return true;
  }
};

Acc<Vector<double>> scanned(Seq<SparseRow> rows) {
  return consume(elements(map_seq(
      [](Acc<SparseRow> row) {
        auto [columns, values] = unzip(row);
        return scanl1(plus, values);
      },
      rows)));
}

void add_rows(const std::string& name, int calls, std::function<Csr()> make) {
  add_contest("scan/" + name, [=] {
    auto p = std::make_shared<Rows>(make());
    auto program = std::make_shared<Program<Acc<Vector<double>>>>(compile(scanned(stream_in(
        io::csr_view(p->a.rows, p->a.cols, p->a.indptr.span(), p->a.indices.span(), p->a.values.span())))));
    auto y = std::make_shared<Buffer<double>>(p->a.values.size());

    Contest contest;
    contest.amount = 16.0 * static_cast<double>(p->a.nnz());
    contest.note = fmt::format("{:.3g} M rows, {:.3g} M elements", static_cast<double>(p->a.rows) / 1e6,
                               static_cast<double>(p->a.nnz()) / 1e6);
    for (const int threads : thread_counts()) {
      auto into = std::make_shared<Vector<double>>();
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *into = program->run({.threads = threads}); },
                                    [=] { return p->right(into->data()); }, calls});
      if (threads > 1) continue;
      contest.contenders.push_back({"std::inclusive_scan", Role::peer, threads, [=] { p->loop(y->data()); },
                                    [=] { return p->right(y->data()); }, calls});
      contest.contenders.push_back({"copy",
                                    Role::limit,
                                    threads,
                                    [=] { std::copy_n(p->a.values.data(), p->a.nnz(), y->data()); },
                                    {},
                                    calls});
    }
    return contest;
  });
}

/// Inclusive sums of blocks by as many threads; TBB cuts the row in two until it thinks it enough.
template <class T>
void scan_by_tbb(const T* from, std::int64_t n, T* to, int threads) {
  tbb::task_arena(threads).execute([&] {
    tbb::parallel_scan(
        tbb::blocked_range<std::int64_t>(0, n, 4096), T{0},
        [=](const tbb::blocked_range<std::int64_t>& part, T sum, bool is_final) {
          if (is_final)
            for (std::int64_t i = part.begin(); i < part.end(); ++i) to[i] = sum += from[i];
          else
            for (std::int64_t i = part.begin(); i < part.end(); ++i) sum += from[i];
          return sum;
        },
        std::plus<T>());
  });
}

/// Arrays of `rows` rows of `n` elements.
template <class T>
void add_long_rows(const std::string& name, std::int64_t rows, std::int64_t n) {
  add_contest("scan/" + name, [=] {
    auto from = std::make_shared<Array<2, T>>(Index{rows, n});
    for (std::int64_t i = 0; i < from->size(); ++i) from->set(i, static_cast<T>((i * 7919) % 5 - 2));
    const auto to = std::make_shared<Array<2, T>>(Index{rows, n});
    const auto other = std::make_shared<Array<2, T>>(Index{rows, n});
    T* const peers = const_cast<T*>(other->data());
    auto program = std::make_shared<Program<Acc<Array<2, T>>, Array<2, T>>>(
        compile<Array<2, T>>([](auto a) { return scanl1(plus, a); }));
    const auto loop = [=] {
      for (std::int64_t r = 0; r < rows; ++r)
        std::inclusive_scan(from->data() + r * n, from->data() + (r + 1) * n, peers + r * n);
    };
    const auto right = [=](const Array<2, T>& result) {
      for (std::int64_t r = 0; r < rows; ++r) {
        T sum = 0;  // small whole numbers: exact
        for (std::int64_t i = r * n; i < (r + 1) * n; ++i) {
          sum += (*from)[i];
          if (result[i] != sum) return false;
        }
      }
      return true;
    };
    Contest contest;
    contest.amount = 2.0 * sizeof(T) * static_cast<double>(rows * n);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*to, {.threads = threads}, *from); },
                                    [=] { return right(*to); }, 1});
      contest.contenders.push_back({"tbb::parallel_scan", Role::peer, threads,
                                    [=] {
                                      for (std::int64_t r = 0; r < rows; ++r)
                                        scan_by_tbb(from->data() + r * n, n, peers + r * n, threads);
                                    },
                                    [=] { return right(*other); }, 1});
      if (threads > 1) continue;
      contest.contenders.push_back(
          {"std::inclusive_scan", Role::peer, threads, loop, [=] { return right(*other); }, 1});
      contest.contenders.push_back(
          {"copy", Role::limit, threads, [=] { std::copy_n(from->data(), rows * n, peers); }, {}, 1});
    }
    return contest;
  });
}

/// What is scanned how: `all` gives one more prefix than there are elements.
struct Kind {
  int axis = 0;
  bool from_right = false, all = false;
};

/// Sums of small whole numbers, which floats hold exactly, one after another.
template <int N>
std::vector<float> expected_sums(const Array<N, float>& a, const Kind& kind) {
  const std::int64_t n = a.shape()[kind.axis], of_row = n + (kind.all ? 1 : 0);
  std::int64_t stride = 1;  // between the elements of a row
  for (int d = kind.axis + 1; d < N; ++d) stride *= a.shape()[d];
  std::vector<float> out(static_cast<std::size_t>(a.size() / n * of_row));
  for (std::int64_t row = 0; row < a.size() / n; ++row) {
    const std::int64_t outer = row / stride * stride, inner = row % stride;
    const auto put = [&](std::int64_t k, std::int64_t sum) {
      const std::int64_t at = kind.from_right ? of_row - 1 - k : k;
      out[static_cast<std::size_t>(outer * of_row + at * stride + inner)] = static_cast<float>(sum);
    };
    std::int64_t sum = 0;
    if (kind.all) put(0, sum);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t at = kind.from_right ? n - 1 - k : k;
      sum += static_cast<std::int64_t>(a[outer * n + at * stride + inner]);
      put(k + of_row - n, sum);
    }
  }
  return out;
}

/// One program over an array of floats beside a loop; results of `to`.
template <int N, class Make>
void add_floats(const std::string& name, anabranch::Index<N> from, anabranch::Index<N> to, Kind kind,
                Make make, std::function<void(const float*, float*)> loop) {
  add_contest("scan/" + name, [=] {
    auto input = std::make_shared<Array<N, float>>(from);
    for (std::int64_t i = 0; i < input->size(); ++i) input->set(i, static_cast<float>((i * 7919) % 5 - 2));
    const auto output = std::make_shared<Array<N, float>>(to);
    const auto other = std::make_shared<Array<N, float>>(to);
    float* const peers = const_cast<float*>(other->data());
    auto program =
        std::make_shared<Program<Acc<Array<N, float>>, Array<N, float>>>(compile<Array<N, float>>(make));
    const auto expected = std::make_shared<std::vector<float>>(expected_sums(*input, kind));
    const auto right = [=](const Array<N, float>& result) {
      return std::equal(expected->begin(), expected->end(), result.data(), result.data() + result.size());
    };
    Contest contest;
    contest.amount = sizeof(float) * static_cast<double>(input->size() + output->size());
    for (const int threads : thread_counts())
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { program->run_into(*output, {.threads = threads}, *input); },
                                    [=] { return right(*output); }, 1});
    contest.contenders.push_back(
        {"loop", Role::peer, 1, [=] { loop(input->data(), peers); }, [=] { return right(*other); }, 1});
    return contest;
  });
}

/// Prefixes from either end, and one more than there are elements.
void add_kinds(std::int64_t n) {
  using V = Acc<Vector<float>>;
  const auto from_left = [n](const float* from, float* to) { std::inclusive_scan(from, from + n, to); };
  const auto from_right = [n](const float* from, float* to) {
    std::inclusive_scan(std::make_reverse_iterator(from + n), std::make_reverse_iterator(from),
                        std::make_reverse_iterator(to + n));
  };
  add_floats<1>("scanl1_20M", {n}, {n}, {}, [](V a) { return scanl1(plus, a); }, from_left);
  add_floats<1>(
      "scanr1_20M", {n}, {n}, {.from_right = true}, [](V a) { return scanr1(plus, a); }, from_right);
  add_floats<1>(
      "scanl_20M", {n}, {n + 1}, {.all = true}, [](V a) { return scanl(plus, 0.0F, a); },
      [=](const float* from, float* to) {
        to[0] = 0;
        from_left(from, to + 1);
      });
  add_floats<1>(
      "scanr_20M", {n}, {n + 1}, {.from_right = true, .all = true}, [](V a) { return scanr(plus, 0.0F, a); },
      [=](const float* from, float* to) {
        to[n] = 0;
        from_right(from, to);
      });
}

/// Along either dimension of a matrix.
void add_axes(std::int64_t rows, std::int64_t columns) {
  using M = Acc<Matrix<float>>;
  add_floats<2>(
      "axis1", {rows, columns}, {rows, columns}, {.axis = 1}, [](M a) { return scanl1(plus, a, 1); },
      [=](const float* from, float* to) {
        for (std::int64_t r = 0; r < rows; ++r)
          std::inclusive_scan(from + r * columns, from + (r + 1) * columns, to + r * columns);
      });
  const auto down = [=](const float* from, float* to) {
    std::copy_n(from, columns, to);
    for (std::int64_t i = columns; i < rows * columns; ++i) to[i] = to[i - columns] + from[i];
  };
  add_floats<2>("axis0", {rows, columns}, {rows, columns}, {}, [](M a) { return scanl1(plus, a, 0); }, down);
  add_floats<2>(
      "axis0_from_right", {rows, columns}, {rows, columns}, {.from_right = true},
      [](M a) { return scanr1(plus, a, 0); },
      [=](const float* from, float* to) {
        const std::int64_t n = rows * columns;
        std::copy_n(from + n - columns, columns, to + n - columns);
        for (std::int64_t i = n - columns; i-- > 0;) to[i] = to[i + columns] + from[i];
      });
}

}  // namespace

int main(int argc, char** argv) {
  add_rows("random16", 1, [] { return random_lengths(1'500'000, 16, 4'000); });
  add_rows("random64", 1, [] { return random_lengths(500'000, 64, 4'000); });
  add_rows("banded1000", 1, [] { return banded(16'000, 1'000, 40'000); });
  add_rows("random16_in_L2", 200, [] { return random_lengths(5'000, 16, 4'000); });
  add_long_rows<float>("one_row_float", 1, 100'000'000);
  add_long_rows<double>("one_row_double", 1, 50'000'000);
  add_long_rows<std::int32_t>("one_row_int32", 1, 100'000'000);
  add_long_rows<float>("four_rows_float", 4, 25'000'000);
  add_kinds(20'000'000);
  add_axes(4000, 5000);
  return run_all(argc, argv);
}
