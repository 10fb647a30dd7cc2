#pragma once

#include <anabranch/anabranch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "io/matrix_files.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "support/host_arrays.h"

/// Whole programs on a simulated GPU, beside the interpreter.
namespace anabranch::testing {

using gpu_host::fake_gpu;
using gpu_host::FakeOptions;
using gpu_host::LogEntry;
using gpu_host::WithFakeGpu;

inline FakeOptions seeded(std::uint64_t seed) {
  FakeOptions options;
  options.seed = seed;
  return options;
}
inline void check_clean() {
  cuda::set_platform({});
  CHECK(fake_gpu().leaks() == "");
  CHECK(fake_gpu().violations() == std::vector<std::string>{});
}

inline Vector<double> numbers(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector<double> v(Index{n});
  for (std::int64_t i = 0; i < n; ++i) v.set(i, std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5);
  return v;
}

/// A sparse matrix in memory. Some rows are empty, some long.
struct Csr {
  std::int64_t cols = 0;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  Csr(std::int64_t rows, std::int64_t width, std::uint64_t seed, std::int64_t longest = 12) : cols(width) {
    std::mt19937_64 engine(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto n = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(longest));
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(cols)));
        values.push_back(std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5);
      }
      offsets.push_back(offsets.back() + n);
    }
  }
  /// Rows of these lengths.
  Csr(const std::vector<std::int64_t>& lengths, std::int64_t width) : cols(width) {
    for (const std::int64_t n : lengths) {
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<std::int32_t>(k % cols));
        values.push_back(static_cast<double>(k % 31) * 0.25 - 3.5);
      }
      offsets.push_back(offsets.back() + n);
    }
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t bytes() const { return 12 * offsets.back(); }
  auto source() const {
    return io::csr_view(rows(), cols, std::span(offsets), std::span(columns), std::span(values));
  }
  void write(const std::string& path) const {
    io::CsrWriter out(path, cols, ScalarType::int32, ScalarType::float64);
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
    out.append(std::span<const std::int64_t>(lengths), std::span<const std::int32_t>(columns),
               std::span<const double>(values));
    out.commit();
  }
};

template <class Stream>
auto multiply(const Stream& rows, const Vector<double>& x) {
  return consume(elements(map_seq(
      [x = use(x)](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
      },
      stream_in(rows))));
}

using RunWith = std::function<std::vector<HostArray>(const RunOptions&, RunReport*)>;

template <int N, class T>
std::vector<HostArray> arrays_of(const Array<N, T>& array) {
  return {array.erased()};
}
template <class... As>
std::vector<HostArray> arrays_of(const std::tuple<As...>& arrays) {
  return std::apply([](const auto&... a) { return std::vector<HostArray>{a.erased()...}; }, arrays);
}

/// Each call compiles, so that nothing of the device is left behind. For CPU and GPU together it runs on the
/// GPU first: where the kernels are not there yet, all chunks go to the CPU.
template <class R>
RunWith running(const R& computation, bool first_may_fail = true) {
  return [=](const RunOptions& options, RunReport* report) {
    const auto program = compile(computation);
    if (options.backend == Backend::cpu_and_cuda) try {
        program.run({.backend = Backend::cuda, .scheduler = options.scheduler});
      } catch (const Error&) {
        if (!first_may_fail) throw;
      }
    return arrays_of(program.run(options, report));
  };
}

inline bool equal(const std::vector<HostArray>& a, const std::vector<HostArray>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostArray& x, const HostArray& y) { return same(x, y); });
}

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

inline const std::vector<std::string> schedulers{"adaptive", "paper", "fixed:1", "fixed:7", "fixed:100000"};

/// All schedulers, seeds and bounds give the interpreter's bits, in the bound, and leave nothing behind.
inline void agree(const RunWith& run, const std::vector<std::int64_t>& bounds = {0}) {
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  std::uint64_t seed = 0;
  for (const std::string& scheduler : schedulers)
    for (const std::int64_t bound : bounds)
      for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
        RunReport report;
        INFO(scheduler << ", bound " << bound << ", seed " << seed << ", back end " << int(backend));
        const WithFakeGpu gpu(seeded(seed++));
        CHECK(
            equal(run({.backend = backend, .gpu_memory = bound, .scheduler = scheduler}, &report), expected));
        if (bound > 0) CHECK(report.gpu_peak_bytes <= bound);
        CHECK(report.backend == (backend == Backend::cuda ? "cuda" : "cpu+cuda"));
        CHECK(report.gpu_chunks >= 0);
        CHECK(report.gpu_chunks <= report.chunks);
        if (backend == Backend::cuda) CHECK(report.gpu_chunks == report.chunks);
        check_clean();
      }
}

/// Bytes of the uploads that were asked for.
inline std::int64_t uploads_of(std::int64_t bytes) {
  const auto log = fake_gpu().log();
  return std::count_if(log.begin(), log.end(), [&](const LogEntry& e) {
    return e.what == LogEntry::What::upload && !e.done && e.bytes == bytes;
  });
}

/// Sizes that only the values tell: item i has lengths[i] elements from starts[i] on.
inline auto pieces(std::int64_t items, const Vector<double>& values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector<std::int64_t> starts(Index{items}), lengths(Index{items});
  for (std::int64_t i = 0; i < items; ++i) {
    lengths.set(i, static_cast<std::int64_t>(engine() % 23));
    starts.set(i, static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(values.size() - 23)));
  }
  return produce(items, [s = use(starts), l = use(lengths), v = use(values)](auto i) {
    return generate(l[i], [=](auto k) { return v[s[i] + k]; });
  });
}

/// Numbered items, made when they are read; number `bad` cannot be made.
inline auto made_items(int count, int bad = -1, const std::function<void(int)>& watch = {}) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (watch) watch(i);
           if (i == bad) throw std::domain_error("item " + std::to_string(i) + " is not to be had");
           return numbers(i % 17, static_cast<std::uint64_t>(i));
         });
}

inline const auto sums = [](auto row) { return sum(row); };

}  // namespace anabranch::testing
