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
nlohmann::json hold_scan(const Bench& bench, const std::string& name, std::int64_t n);
/// Of each row by itself.
template <class T>
nlohmann::json hold_row_scan(const Bench& bench, const std::string& name,
                             const std::vector<std::int32_t>& lengths);
template <class T>
nlohmann::json hold_map(const Bench& bench, const std::string& name, std::int64_t n);
/// Stencils: of three neighbours of n elements, of 5 x 5 of a square.
template <class T>
nlohmann::json hold_smoothing(const Bench& bench, const std::string& name, std::int64_t n);
template <class T>
nlohmann::json hold_box_means(const Bench& bench, const std::string& name, std::int64_t side);

// Programs of several kernels and device primitives, as whole runs from the GPU's memory to the GPU's.
/// Half of n floats.
nlohmann::json hold_select(const Bench& bench, const std::string& name, std::int64_t n);
nlohmann::json hold_histogram(const Bench& bench, const std::string& name, std::int64_t n, std::int64_t bins);
/// Sums of what meets at each place.
nlohmann::json hold_permute(const Bench& bench, const std::string& name, std::int64_t n, std::int64_t places);

/// A copy on the GPU, and a read.
nlohmann::json hold_device(const Bench& bench, const std::string& name, double bytes);
/// Copies between page-locked memory and the GPU: up, down, and both at once.
nlohmann::json hold_link(const Bench& bench, const std::string& name, double bytes);
/// Copies into page-locked memory as the library makes them, by the number of threads.
nlohmann::json hold_staging(const Bench& bench, const std::string& name, double bytes);
/// What a run costs in which there is next to nothing to do.
nlohmann::json hold_fixed(const Bench& bench, const std::string& name);
/// What a turn of a loop costs, outside of a stream and in its items.
nlohmann::json hold_loops(const Bench& bench, const std::string& name, std::int64_t turns);
/// Whole runs of a sort, beside CUB on the GPU.
nlohmann::json hold_sort(const Bench& bench, const std::string& name, std::int64_t n);
/// Whole runs from host memory: everything goes over the link.
nlohmann::json hold_streamed(const Bench& bench, const std::string& name, const Csr& a);

}  // namespace anabranch::bench
