#include <anabranch/anabranch.h>
#include <anabranch/doctor.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.h"
#include "gpu/libraries.h"
#include "gpu/resident.h"
#include "support/matrices.h"
#include "support/programs.h"

/// The CUDA back end beside NVIDIA's libraries and the device's own bandwidth. Contenders take turns; the
/// figures are medians; whoever is not there, or wrong, has a line that says so.
///   bench_gpu [--rounds=N] [--scale=S] [--json=FILE] [--only=TEXT] [--traces=FOLDER]
/// Of whole runs on the GPU it tells how much copies and kernels overlap, from one more run, which is traced;
/// its timeline stays in FOLDER.
namespace {

using namespace anabranch;
using namespace anabranch::bench;
using Clock = std::chrono::steady_clock;

struct Settings {
  int rounds = 15;
  double scale = 1;  ///< of the sizes: 0.1 for a quick look
  std::string json, only, traces;
} settings;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Contender {
  std::string name;
  std::function<void()> run;    ///< may only enqueue
  std::function<bool()> right;  ///< empty: nothing to compare
  double bytes = 0;             ///< moved by one run
  int calls = 10;               ///< in one measurement, with one wait at its end
  double prepare_ms = 0;        ///< once, before the first run: analysis, compilation
  std::string note = {};
  nlohmann::json facts = nlohmann::json::object();  ///< more for its line of the JSON
};

class Contest {
 public:
  Contest(std::string name, std::string note) : name_(std::move(name)), note_(std::move(note)) {}

  /// `make` prepares; what it takes is reported apart. Where it throws, the contender is left out.
  void enter(const std::string& name, const std::function<Contender()>& make) {
    try {
      const auto start = Clock::now();
      Contender c = make();
      device_wait();
      if (c.prepare_ms == 0) c.prepare_ms = seconds_since(start) * 1e3;
      c.name = name;
      c.run();
      device_wait();
      if (c.right && !c.right()) throw std::runtime_error("wrong result");
      contenders_.push_back(std::move(c));
    } catch (const std::exception& e) {
      absent_.push_back({name, e.what()});
    }
  }

  void hold(nlohmann::json& all) {
    std::vector<std::vector<double>> samples(contenders_.size());
    std::vector<std::size_t> order(contenders_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937 random(1);
    for (int round = 0; round < settings.rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) {
        Contender& c = contenders_[i];
        if (c.calls == 0) continue;
        try {
          device_wait();
          const auto start = Clock::now();
          for (int k = 0; k < c.calls; ++k) c.run();
          device_wait();
          samples[i].push_back(seconds_since(start) / c.calls);
        } catch (const std::exception& e) {
          absent_.push_back({c.name, e.what()});
          c.calls = 0;
        }
      }
    }
    fmt::print(
        "\n### {}: {}\n\n| contender | time | GB/s | 10-90 % | prepared in | |\n|---|---|---|---|---|---|\n",
        name_, note_);
    nlohmann::json lines = nlohmann::json::array();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Contender& c = contenders_[i];
      std::vector<double>& s = samples[i];
      if (c.calls == 0 || s.empty()) continue;
      std::sort(s.begin(), s.end());
      const auto at = [&](double q) {
        return s[static_cast<std::size_t>(q * static_cast<double>(s.size() - 1) + 0.5)];
      };
      const double median = at(0.5), rate = c.bytes / median / 1e9, spread = at(0.9) / at(0.1) - 1;
      fmt::print("| {} | {:.1f} us | {:.1f} | {:.0f} % | {:.2f} ms | {} |\n", c.name, median * 1e6, rate,
                 spread * 100, c.prepare_ms, c.note);
      lines.push_back({{"contender", c.name},
                       {"seconds", median},
                       {"gb_per_s", rate},
                       {"spread", spread},
                       {"prepare_ms", c.prepare_ms},
                       {"note", c.note},
                       {"rounds", s.size()}});
      lines.back().update(c.facts);
    }
    for (const auto& [name, why] : absent_) {
      fmt::print("| {} | - | | | | {} |\n", name, why);
      lines.push_back({{"contender", name}, {"error", why}});
    }
    std::fflush(stdout);
    all.push_back({{"name", name_}, {"note", note_}, {"lines", lines}});
  }

 private:
  std::string name_, note_;
  std::vector<Contender> contenders_;
  std::vector<std::pair<std::string, std::string>> absent_;
};

std::vector<double> product(const Csr& a, const Buffer<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::int32_t k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      y[i] += a.values[at] * x[static_cast<std::size_t>(a.indices[at])];
    }
  return y;
}

bool close(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-9)) return false;  // rows of up to 1e5 numbers below 1
  return true;
}

void report(nlohmann::json& all, Contest&& contest) { contest.hold(all); }

std::string note_of(const Csr& a) {
  return fmt::format("{:.3g} M rows, {:.3g} M nonzeros, {:.3g} MB", static_cast<double>(a.rows) / 1e6,
                     static_cast<double>(a.nnz()) / 1e6, a.bytes() / 1e6);
}

auto computation_of(const Csr& a, const Buffer<double>& x) {
  const auto rows = io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
  return smvm(stream_in(rows), use(vector_over(x.data(), a.cols)));
}

/// The matrix on the GPU: kernels alone.
void spmv(nlohmann::json& all, const std::string& law, const Csr& a) {
  Contest contest("spmv/" + law, note_of(a) + ", on the GPU");
  const Buffer<double> x = random_vector(a.cols, 3);
  const std::vector<double> expected = product(a, x);
  const DeviceBuffer offsets(a.indptr.span()), columns(a.indices.span()), values(a.values.span()),
      in(x.span());
  const DeviceBuffer out(expected.size() * sizeof(double));
  const auto right = [&] {
    std::vector<double> y(expected.size());
    out.download(y.data(), y.size() * sizeof(double));
    const std::vector<double> none(y.size(), std::nan(""));
    out.upload(none.data(), none.size() * sizeof(double));  // for the next one
    return close(y, expected);
  };

  contest.enter("anabranch", [&] {
    const Find find = [&](const plan::Plan& plan, const plan::BufferRef& ref) {
      if (ref.kind == plan::BufferRef::Kind::offsets) return offsets.address();
      if (ref.global) return in.address();
      const auto& array = plan.stages[0].group.arrays[static_cast<std::size_t>(ref.index)];
      if (array.origin != plan::PlanArray::Origin::item) return out.address();
      return ref.component == 0 ? columns.address() : values.address();
    };
    const auto computation = computation_of(a, x);
    auto kernel = std::make_shared<ResidentKernel>(computation.handle(), detail::Handles{}, find, a.cols,
                                                   a.rows, a.rows, a.nnz(), a.longest_row());
    return Contender{.name = {},
                     .run = [kernel] { (*kernel)(); },
                     .right = [=] { return kernel->wait(), right(); },
                     .bytes = a.bytes(),
                     .prepare_ms = kernel->compile_ms(),
                     .note = kernel->schedule()};
  });
  const auto cusparse = [&](CusparseSpmv::Algorithm algorithm) {
    auto spmv = std::make_shared<CusparseSpmv>(algorithm, a.rows, a.cols, a.nnz(),
                                               offsets.data<std::int32_t>(), columns.data<std::int32_t>(),
                                               values.data<double>(), in.data<double>(), out.data<double>());
    return Contender{.name = {}, .run = [spmv] { (*spmv)(); }, .right = right, .bytes = a.bytes()};
  };
  contest.enter("cuSPARSE CSR ALG1", [&] { return cusparse(CusparseSpmv::Algorithm::csr1); });
  contest.enter("cuSPARSE CSR ALG2", [&] { return cusparse(CusparseSpmv::Algorithm::csr2); });
  contest.enter("CUB segmented reduce", [&] {
    auto cub = std::make_shared<CubSpmv>(a.rows, offsets.data<std::int32_t>(), columns.data<std::int32_t>(),
                                         values.data<double>(), in.data<double>(), out.data<double>());
    return Contender{.name = {}, .run = [cub] { (*cub)(); }, .right = right, .bytes = a.bytes()};
  });
  contest.enter("device copy", [&] {
    const auto half = static_cast<std::size_t>(a.bytes() / 2);
    const DeviceBuffer from(half), to(half);
    return Contender{.name = {},
                     .run = [=] { copy_on_device(to.data(), from.data(), half); },
                     .right = {},
                     .bytes = 2.0 * static_cast<double>(half),
                     .note = "as many bytes read and written together"};
  });
  report(all, std::move(contest));
}

/// One run more, which is traced, for how much copies and kernels overlap.
template <class R>
RunReport traced(const Program<R>& program, RunOptions options, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path folder = settings.traces.empty() ? fs::temp_directory_path() : fs::path(settings.traces);
  options.trace = (folder / (name + ".trace.json")).string();
  RunReport report;
  program.run(options, &report);
  if (settings.traces.empty()) fs::remove(options.trace);
  return report;
}

std::string overlap_text(const RunReport& r) {
  return fmt::format(
      "overlap {:.0f} %: copies {:.2f} ms, kernels {:.2f} ms, both at once {:.2f} ms, {} chunks",
      100 * r.gpu_overlap, r.gpu_copy_seconds * 1e3, r.gpu_kernel_seconds * 1e3, r.gpu_both_seconds * 1e3,
      r.chunks);
}

nlohmann::json overlap_facts(const RunReport& r) {
  return {{"overlap", r.gpu_overlap},
          {"copy_seconds", r.gpu_copy_seconds},
          {"kernel_seconds", r.gpu_kernel_seconds},
          {"both_seconds", r.gpu_both_seconds},
          {"chunks", r.chunks}};
}

/// The matrix in host memory, a whole run: everything goes over the link.
void streamed(nlohmann::json& all, const std::string& law, const Csr& a) {
  Contest contest("streamed/" + law, note_of(a) + ", in host memory; GB/s over the link");
  // Pinned copies: what a source that knows about the GPU would give.
  const auto n = static_cast<std::size_t>(a.nnz()), rows = static_cast<std::size_t>(a.rows);
  const PinnedBuffer offsets((rows + 1) * 4), columns(n * 4), values(n * 8);
  std::memcpy(offsets.data<std::int32_t>(), a.indptr.data(), (rows + 1) * 4);
  std::memcpy(columns.data<std::int32_t>(), a.indices.data(), n * 4);
  std::memcpy(values.data<double>(), a.values.data(), n * 8);
  const Buffer<double> x = random_vector(a.cols, 3);
  const std::vector<double> expected = product(a, x);

  const auto whole_run = [&](bool pinned, Backend backend) {
    const auto from =
        pinned ? io::csr_view(a.rows, a.cols,
                              std::span<const std::int32_t>(offsets.data<std::int32_t>(), rows + 1),
                              std::span<const std::int32_t>(columns.data<std::int32_t>(), n),
                              std::span<const double>(values.data<double>(), n))
               : io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
    auto program = std::make_shared<Program<Acc<Vector<double>>>>(
        compile(smvm(stream_in(from), use(vector_over(x.data(), a.cols)))));
    auto y = std::make_shared<Vector<double>>();
    const auto first = Clock::now();
    *y = program->run({.backend = backend});
    Contender out{.name = {},
                  .run = [=] { *y = program->run({.backend = backend}); },
                  .right = [y, &expected] { return close({y->data(), y->data() + y->size()}, expected); },
                  .bytes = a.bytes(),
                  .calls = 1,
                  .prepare_ms = seconds_since(first) * 1e3,
                  .note = "prepared: the first run"};
    if (backend == Backend::cuda) {
      const RunReport report = traced(*program, {.backend = backend},
                                      fmt::format("streamed-{}-{}", law, pinned ? "pinned" : "pageable"));
      out.note += "; " + overlap_text(report);
      out.facts = overlap_facts(report);
    }
    return out;
  };
  contest.enter("anabranch cuda, pinned", [&] { return whole_run(true, Backend::cuda); });
  contest.enter("anabranch cuda, pageable", [&] { return whole_run(false, Backend::cuda); });
  contest.enter("anabranch cpu", [&] { return whole_run(false, Backend::cpu); });
  contest.enter("pinned copy", [&] {
    const auto bytes = static_cast<std::size_t>(a.nnz()) * 8;
    const DeviceBuffer to(bytes);
    return Contender{.name = {},
                     .run = [to, values, bytes] { copy_to_device(to.data(), values.data<double>(), bytes); },
                     .right = {},
                     .bytes = static_cast<double>(bytes),
                     .calls = 1,
                     .note = "the values only, in one piece: the link's speed"};
  });
  report(all, std::move(contest));
}

void dot(nlohmann::json& all, std::int64_t n) {
  Contest contest(fmt::format("dot/{}", n), fmt::format("2 x {:.3g} MB", static_cast<double>(n) * 8e-6));
  const Buffer<double> x = random_vector(n, 1), y = random_vector(n, 2);
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) expected += x[i] * y[i];
  const DeviceBuffer xs(x.span()), ys(y.span()), result(8);
  const auto right = [&, n] {
    double found = 0;
    const double none = std::nan("");
    result.download(&found, 8);
    result.upload(&none, 8);
    return std::abs(found - expected) <= 1e-14 * static_cast<double>(n);
  };
  const double bytes = 16.0 * static_cast<double>(n);
  contest.enter("anabranch", [&] {
    const Acc<Vector<double>> a = use(vector_over(x.data(), n)), b = use(vector_over(y.data(), n));
    int inputs = 0;
    const Find find = [&](const plan::Plan& plan, const plan::BufferRef& ref) {
      const auto& array = plan.global.arrays[static_cast<std::size_t>(ref.index)];
      if (array.origin == plan::PlanArray::Origin::computed) return result.address();
      return inputs++ == 0 ? xs.address() : ys.address();
    };
    auto kernel = std::make_shared<ResidentKernel>(dot_product<double>(a, b).handle(), detail::Handles{},
                                                   find, n, 1, 1, n, n);
    return Contender{.name = {},
                     .run = [kernel] { (*kernel)(); },
                     .right = [=] { return kernel->wait(), right(); },
                     .bytes = bytes,
                     .prepare_ms = kernel->compile_ms(),
                     .note = kernel->schedule()};
  });
  contest.enter("cuBLAS", [&] {
    auto cublas = std::make_shared<CublasDot>(n, xs.data<double>(), ys.data<double>(), result.data<double>());
    return Contender{.name = {}, .run = [cublas] { (*cublas)(); }, .right = right, .bytes = bytes};
  });
  contest.enter("device copy", [&] {
    const auto size = static_cast<std::size_t>(n) * 8;
    const DeviceBuffer to(size);
    return Contender{.name = {},
                     .run = [to, xs, size] { copy_on_device(to.data(), xs.data(), size); },
                     .right = {},
                     .bytes = bytes};
  });
  report(all, std::move(contest));
}

std::int64_t scaled(double n, double power = 1) {
  return std::max<std::int64_t>(16, static_cast<std::int64_t>(n * std::pow(settings.scale, power)));
}

bool take(const std::string& argument, const char* name, std::string& value) {
  const std::string start = std::string("--") + name + "=";
  if (!argument.starts_with(start)) return false;
  value = argument.substr(start.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("ANABRANCH_CACHE", "off", 1);  // what compiling takes is measured, too
  for (int i = 1; i < argc; ++i) {
    std::string number;
    if (take(argv[i], "rounds", number)) {
      settings.rounds = std::max(1, std::stoi(number));
    } else if (take(argv[i], "scale", number)) {
      settings.scale = std::stod(number);
    } else if (!take(argv[i], "json", settings.json) && !take(argv[i], "only", settings.only) &&
               !take(argv[i], "traces", settings.traces)) {
      fmt::print(stderr,
                 "usage: bench_gpu [--rounds=N] [--scale=S] [--json=FILE] [--only=TEXT] [--traces=FOLDER]\n");
      return 2;
    }
  }
  nlohmann::json out{{"contests", nlohmann::json::array()}, {"rounds", settings.rounds}};
  try {
    const std::string name = device_name();
    const GpuFacts gpu = gpu_facts();
    out["device"] = name;
    out["driver"] = gpu.driver;
    out["compiler"] = gpu.compiler;
    fmt::print("{}, driver {}, compiler {}{}\n", name, gpu.driver, gpu.compiler,
               gpu.available ? "" : "; anabranch: " + gpu.why_not);
  } catch (const std::exception& e) {
    fmt::print("bench_gpu: {}\n", e.what());
    return 77;  // skipped
  }

  struct Law {
    const char* name;
    std::function<Csr()> make;
  };
  const std::vector<Law> laws{
      {"27", [] { return laplacian27(scaled(130, 1.0 / 3)); }},
      {"80", [] { return banded(scaled(700'000), 80, 40'000); }},
      {"9", [] { return laplacian9(scaled(2'500, 0.5)); }},
      {"3", [] { return banded(scaled(10'000'000), 3, 1'000); }},
      {"powerlaw", [] { return power_law(scaled(4'000'000)); }},
      {"random64", [] { return random_lengths(scaled(1'500'000), 64, 4'000); }},
  };
  int status = 0;
  const auto part = [&](const std::string& name, const auto& body) {
    if (name.find(settings.only) == std::string::npos) return;
    try {
      body();
    } catch (const std::exception& e) {
      fmt::print("\n### {}: {}\n", name, e.what());
      out["contests"].push_back({{"name", name}, {"error", e.what()}});
      status = 1;
    }
  };
  nlohmann::json& all = out["contests"];
  for (const Law& law : laws) part(std::string("spmv/") + law.name, [&] { spmv(all, law.name, law.make()); });
  for (const std::int64_t n : {scaled(1e5), scaled(1e8)})
    part(fmt::format("dot/{}", n), [&] { dot(all, n); });
  for (const std::size_t i : {0, 3})
    part(std::string("streamed/") + laws[i].name, [&] { streamed(all, laws[i].name, laws[i].make()); });
  if (!settings.json.empty()) std::ofstream(settings.json) << out.dump(1) << "\n";
  return status;
}
