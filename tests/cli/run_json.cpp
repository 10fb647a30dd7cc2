#include "run_json.h"

#include <algorithm>
#include <vector>

#include "support/catch.h"

namespace cli_test {

namespace {

const std::vector<std::string> times_of_chunks{"read", "compute", "write"};

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// What both back ends say.
void check_both(const nlohmann::json& report) {
  CHECK(report["peak_resident_bytes"].get<std::int64_t>() > 1 << 20);
  CHECK(report["seconds"].size() == 8);
  for (const char* key : {"total", "open", "front", "compile", "run"}) {
    INFO(key);
    CHECK(report["seconds"][key].get<double>() >= 0);
  }
  CHECK(keys_of(report["kernels"]) == std::vector<std::string>{"compiled", "from_disk"});
}

}  // namespace

void check_run(const nlohmann::json& report, const AskedRun& asked) {
  check_both(report);
  CHECK(report["backend"] == "cpu");
  CHECK(report["threads"] == asked.threads);
  CHECK(report["scheduler"] == asked.scheduler);
  CHECK(report["memory"] == asked.memory);
  CHECK(report["peak_bytes"].get<std::int64_t>() > 0);
  CHECK(report["peak_bytes"].get<std::int64_t>() <= asked.memory);
  CHECK(report["chunks"].get<std::int64_t>() > 0);
  CHECK(keys_of(report["chunk_items"]) == std::vector<std::string>{"max", "median", "min"});
  CHECK(report["utilisation"].get<double>() >= 0);
  CHECK(report["utilisation"].get<double>() <= 1);
  for (const std::string& key : times_of_chunks) {
    INFO(key);
    CHECK(report["seconds"][key].get<double>() >= 0);
  }
  CHECK(report["repeats"].size() == asked.repeats);
  CHECK(!report["stages"].empty());
}

void check_interpreted(const nlohmann::json& report) {
  check_both(report);
  CHECK(report["backend"] == "interpreter");
  for (const char* key : {"scheduler", "memory", "peak_bytes", "chunks", "chunk_items", "utilisation"}) {
    INFO(key);
    CHECK(report[key].is_null());
  }
  for (const std::string& key : times_of_chunks) {
    INFO(key);
    CHECK(report["seconds"][key].is_null());
  }
  CHECK(report["stages"] == nlohmann::json::array());
}

double steady_seconds(const nlohmann::json& report) {
  auto all = report["repeats"].get<std::vector<double>>();
  if (all.size() < 3) return *std::min_element(all.begin(), all.end());
  all.erase(all.begin(), all.begin() + 2);
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace cli_test
