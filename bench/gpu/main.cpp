#include <anabranch/doctor.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "gpu/contests.h"

/// The CUDA back end beside NVIDIA's libraries and the device's own bandwidth.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

constexpr const char* usage =
    "usage: bench_gpu [--list] [--only=CONTEST] [--contender=NAME] [--rounds=N] [--scale=S] [--seconds=S]\n"
    "                 [--json=FILE] [--traces=FOLDER]\n"
    "  --only=CONTEST     this one, or with a slash at the end those whose names begin so\n"
    "  --contender=NAME   only this contender enters\n"
    "  --scale=S          of the sizes: 0.1 for a quick look\n"
    "  --seconds=S        no contest and, but for the first three, no round begins later\n"
    "  --json=FILE        written after every contest\n"
    "  --traces=FOLDER    keeps the timelines of whole runs on the GPU\n";

struct Arguments {
  Settings settings;
  std::string json, only;
  bool list = false;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto take = [&](const std::string& name) -> std::optional<std::string> {
      if (!argument.starts_with(name + "=")) return std::nullopt;
      return argument.substr(name.size() + 1);
    };
    if (argument == "--list")
      out.list = true;
    else if (const auto rounds = take("--rounds"))
      out.settings.rounds = std::max(1, std::stoi(*rounds));
    else if (const auto scale = take("--scale"))
      out.settings.scale = std::stod(*scale);
    else if (const auto seconds = take("--seconds"))
      out.settings.seconds = std::stod(*seconds);
    else if (const auto contender = take("--contender"))
      out.settings.contender = *contender;
    else if (const auto traces = take("--traces"))
      out.settings.traces = *traces;
    else if (const auto json = take("--json"))
      out.json = *json;
    else if (const auto only = take("--only"))
      out.only = *only;
    else
      throw std::invalid_argument(argument);
  }
  return out;
}

bool is_wanted(const std::string& name, const std::string& only) {
  return only.empty() || name == only || (only.ends_with('/') && name.starts_with(only));
}

/// Appears whole or not at all.
void write(const std::string& path, const nlohmann::json& what) {
  const std::string unfinished = path + ".new";
  std::ofstream(unfinished) << what.dump(1) << "\n";
  std::filesystem::rename(unfinished, path);
}

nlohmann::json facts() {
  const std::string name = device_name();
  const GpuFacts gpu = gpu_facts();
  fmt::print("{}, driver {}, compiler {}{}\n", name, gpu.driver, gpu.compiler,
             gpu.available ? "" : "; anabranch: " + gpu.why_not);
  return {{"device", name},
          {"driver", gpu.driver},
          {"compiler", gpu.compiler},
          {"contests", nlohmann::json::array()}};
}

/// A peer may be missing or wrong; we may not.
bool we_failed(const nlohmann::json& contest) {
  return std::ranges::any_of(contest["lines"], [](const nlohmann::json& line) {
    return line.contains("error") && line["contender"].get<std::string>().starts_with("anabranch");
  });
}

/// Exit status.
int hold(const Arguments& arguments, const Bench& bench) {
  nlohmann::json out = facts();
  int status = 0;
  for (const NamedContest& contest : all_contests(bench)) {
    if (!is_wanted(contest.name, arguments.only)) continue;
    if (!bench.has_time()) {
      fmt::print("\n### {}: left out, no time\n", contest.name);
      continue;
    }
    try {
      out["contests"].push_back(contest.hold());
      if (we_failed(out["contests"].back())) status = 1;
    } catch (const std::exception& e) {
      fmt::print("\n### {}: {}\n", contest.name, e.what());
      out["contests"].push_back({{"name", contest.name}, {"error", e.what()}});
      status = 1;
    }
    if (!arguments.json.empty()) write(arguments.json, out);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("ANABRANCH_CACHE", "off", 1);  // what compiling takes is measured, too
  Arguments arguments;
  try {
    arguments = parse(argc, argv);
  } catch (const std::exception&) {  // an argument that nobody knows, or no number
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  const Bench bench(arguments.settings);
  if (arguments.list) {
    for (const NamedContest& contest : all_contests(bench)) fmt::print("{}\n", contest.name);
    return 0;
  }
  try {
    device_name();
  } catch (const std::exception& e) {
    fmt::print("bench_gpu: {}\n", e.what());
    return std::getenv("ANABRANCH_REQUIRE_GPU") ? 1 : 77;  // 77: skipped
  }
  return hold(arguments, bench);
}
