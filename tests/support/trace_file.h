#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

/// A timeline as a viewer reads it. Throws where it is no JSON.
namespace anabranch::testing {

struct TraceSpan {
  std::string name;
  std::int64_t begin_ns = 0, end_ns = 0;
  nlohmann::json arguments;
  std::int64_t length() const { return end_ns - begin_ns; }
};

struct TraceFile {
  std::map<std::string, std::vector<TraceSpan>> rows;  ///< by name, as they are named; spans by their begins
  std::map<std::string, std::vector<std::int64_t>> counters;

  explicit TraceFile(const std::string& path) {
    const auto events = nlohmann::json::parse(std::ifstream(path)).at("traceEvents");
    const auto row_of = [](const auto& event) {
      return std::pair(event.at("pid").template get<int>(), event.at("tid").template get<int>());
    };
    std::map<std::pair<int, int>, std::string> names;
    for (const auto& e : events)
      if (e.at("name") == "thread_name") names[row_of(e)] = e.at("args").at("name");
    for (const auto& [row, name] : names) rows[name];
    const auto ns = [](const auto& microseconds) {
      return std::llround(microseconds.template get<double>() * 1e3);
    };
    for (const auto& e : events) {
      if (e.at("ph") == "X") {
        const std::int64_t begin = ns(e.at("ts"));
        rows.at(names.at(row_of(e))).push_back({e.at("name"), begin, begin + ns(e.at("dur")), e.at("args")});
      } else if (e.at("ph") == "C") {
        counters[e.at("name")].push_back(e.at("args").at("value"));
      }
    }
    for (auto& [name, spans] : rows)
      std::stable_sort(spans.begin(), spans.end(),
                       [](const TraceSpan& a, const TraceSpan& b) { return a.begin_ns < b.begin_ns; });
  }

  const std::vector<TraceSpan>& row(const std::string& name) const { return rows.at(name); }
  bool overlap_in(const std::string& name) const {
    const auto& spans = row(name);
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].begin_ns < spans[i - 1].end_ns) return true;
    return false;
  }
  std::int64_t sum_ns(const std::string& name) const {
    std::int64_t sum = 0;
    for (const TraceSpan& s : row(name)) sum += s.length();
    return sum;
  }
  /// The number `argument` of each span of the row.
  std::vector<std::int64_t> numbers(const std::string& name, const std::string& argument) const {
    std::vector<std::int64_t> out;
    for (const TraceSpan& s : row(name)) out.push_back(s.arguments.at(argument));
    return out;
  }
};

}  // namespace anabranch::testing
