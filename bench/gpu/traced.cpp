#include "gpu/traced.h"

#include <algorithm>
#include <filesystem>

namespace anabranch::bench {

RunReport traced(const Bench& bench, std::string name, const RunWith& run) {
  namespace fs = std::filesystem;
  const std::string& kept = bench.settings().traces;
  const fs::path folder = kept.empty() ? fs::temp_directory_path() : fs::path(kept);
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == ' '; }, '-');
  const std::string trace = (folder / (name + ".trace.json")).string();
  RunReport report;
  run({.backend = Backend::cuda, .trace = trace}, &report);
  if (kept.empty()) fs::remove(trace);
  return report;
}

}  // namespace anabranch::bench
