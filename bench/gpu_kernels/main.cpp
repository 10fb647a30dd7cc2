// What NVRTC makes of a few programs' kernels, where it is installed: compile time, registers, spills, and
// the bytes that an element moves beside the least that it could. Needs no GPU.
//   bench_gpu_kernels                                        a table
//   bench_gpu_kernels --architecture=sm_90 --save=DIR        machine code of each kernel,
//                                                            in DIR/<kernel>.<entry>.cubin
#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "compile.h"
#include "cuda/nvrtc.h"
#include "front/handle.h"

namespace {

using namespace anabranch;

struct Case {
  std::string name;
  Compiled compiled;
  std::string bytes;  ///< read and written per element, beside the least
};

template <class... A>
Compiled compiled(const Acc<A>&... results) {
  return compile_program({front::node_of(results.handle())...}, {}, {});
}

template <class T>
Acc<Scalar<T>> dotp(Acc<Vector<T>> xs, Acc<Vector<T>> ys) {
  return fold(plus, T{0}, zip_with(times, xs, ys));
}

template <class I, class T>
Compiled smvm() {
  static const std::vector<I> offsets{0, 1}, columns{0};
  static const std::vector<T> values{1};
  const auto rows = io::csr_view(1, 1, offsets, columns, values);
  const Acc<Vector<T>> x = use(Vector<T>(Index{1}));
  return compiled(consume(elements(map_seq(
      [=](auto row) {
        auto [at, v] = unzip(row);
        return dotp<T>(v, gather(at, x));
      },
      stream_in(rows)))));
}

template <class T>
Compiled dot() {
  return compiled(dotp<T>(use(Vector<T>(Index{5})), use(Vector<T>(Index{5}))));
}

Compiled map_of(int operations) {
  Acc<Vector<double>> a = use(Vector<double>(Index{5}));
  return compiled(map(
      [operations](Exp<double> x) {
        Exp<double> y = x;
        for (int i = 0; i < operations; ++i) y = i % 2 ? y + x : y * x;
        return y;
      },
      a));
}

const kernel::Kernel& first_kernel(const plan::Plan& plan) {
  const auto in = [](const plan::Group& group) -> const kernel::Kernel* {
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) return &kernel->kernel;
    return nullptr;
  };
  for (const plan::StagePlan& stage : plan.stages)
    if (const auto* kernel = in(stage.group)) return *kernel;
  return *in(plan.global);
}

/// The middle one of several compilations.
std::string measure(cuda::Compiler& compiler, const cuda::Unit& unit, const char* architecture) {
  std::vector<double> times;
  cuda::Compiler::Result result;
  for (int round = 0; round < 5; ++round) {
    result = compiler.compile(unit, unit.entries[0], architecture);
    times.push_back(result.milliseconds);
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return fmt::format(" {} registers{}, {:.0f} ms |", result.registers[0],
                     result.spill_bytes[0] > 0 ? fmt::format(", {} B spilled", result.spill_bytes[0]) : "",
                     times[2]);
}

/// An entry without its kernel's name, which ends with the line of the program.
std::string short_name(const std::string& entry) {
  const std::size_t line = entry.find_last_of("0123456789");
  return entry.substr(line == std::string::npos ? 0 : line + 2);
}

const std::vector<Case>& cases() {
  static const std::string row = ", + per row offset and result";
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    out.push_back({"smvm int32, float", smvm<std::int32_t, float>(), "8 of 8, and x" + row});
    out.push_back({"smvm int32, double", smvm<std::int32_t, double>(), "12 of 12, and x" + row});
    out.push_back({"smvm int64, double", smvm<std::int64_t, double>(), "16 of 16, and x" + row});
    out.push_back({"dot, float", dot<float>(), "8 of 8"});
    out.push_back({"dot, double", dot<double>(), "16 of 16"});
    out.push_back({"map of 10", map_of(10), "16 of 16"});
    out.push_back({"map of 100", map_of(100), "16 of 16"});
    return out;
  }();
  return all;
}

template <class Visit>
void for_each_entry(const Visit& visit) {
  for (const Case& program : cases()) {
    const kernel::Kernel& kernel = first_kernel(program.compiled.plan);
    for (int e = 0; e < cuda::entry_count(kernel); ++e) visit(program, cuda::generate(kernel, e));
  }
}

void print_table(cuda::Compiler& compiler) {
  fmt::print(
      "NVRTC {}\n\n| kernel | bytes an element | entry | sm_75 | sm_80 | sm_90 "
      "|\n|---|---|---|---|---|---|\n",
      compiler.version());
  for_each_entry([&](const Case& program, const cuda::Unit& unit) {
    std::string line;
    for (const char* architecture : {"sm_75", "sm_80", "sm_90"})
      line += measure(compiler, unit, architecture);
    fmt::print("| {} | {} | {} |{}\n", program.name, program.bytes, short_name(unit.entries[0]), line);
  });
}

void save_code(cuda::Compiler& compiler, const std::string& architecture, const std::string& folder) {
  for_each_entry([&](const Case& program, const cuda::Unit& unit) {
    std::string name = program.name + "." + short_name(unit.entries[0]) + ".cubin";
    std::erase(name, ',');
    std::replace(name.begin(), name.end(), ' ', '_');
    std::ofstream(folder + "/" + name, std::ios::binary)
        << compiler.compile(unit, unit.entries[0], architecture).image;
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::string architecture, folder;
  bool known = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--architecture="))
      architecture = argument.substr(argument.find('=') + 1);
    else if (argument.starts_with("--save="))
      folder = argument.substr(argument.find('=') + 1);
    else
      known = false;
  }
  if (!known || architecture.empty() != folder.empty()) {
    fmt::print(stderr, "usage: bench_gpu_kernels [--architecture=sm_90 --save=DIR]\n");
    return 2;
  }
  std::shared_ptr<cuda::Compiler> compiler;
  try {
    compiler = cuda::open_nvrtc();
  } catch (const BackendUnavailable& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 77;
  }
  if (folder.empty())
    print_table(*compiler);
  else
    save_code(*compiler, architecture, folder);
  return 0;
}
