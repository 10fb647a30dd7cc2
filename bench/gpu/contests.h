#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/contest.h"
#include "support/matrices.h"

/// What is measured. Contests make their data when they are held.
namespace anabranch::bench {

struct NamedContest {
  std::string name;
  std::function<nlohmann::json()> hold;
};

/// All of them, kernels by themselves first.
std::vector<NamedContest> all_contests(const Bench& bench);

// The kernel by itself, on data that is on the GPU. T: float or double.
template <class T>
nlohmann::json hold_spmv(const Bench& bench, const std::string& name, const Csr& a);
template <class T>
nlohmann::json hold_dot(const Bench& bench, const std::string& name, std::int64_t n);
/// `lengths`: of the rows.
template <class T>
nlohmann::json hold_row_sums(const Bench& bench, const std::string& name,
                             const std::vector<std::int32_t>& lengths);
template <class T>
nlohmann::json hold_map(const Bench& bench, const std::string& name, std::int64_t n);
/// Whole runs from host memory: everything goes over the link.
nlohmann::json hold_streamed(const Bench& bench, const std::string& name, const Csr& a);

}  // namespace anabranch::bench
