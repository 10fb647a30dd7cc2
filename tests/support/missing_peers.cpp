#include "gpu/cub_peers.h"
#include "gpu/libraries.h"
#include "gpu/merge_spmv.h"
#include "gpu/rearrange_peers.h"

#include <stdexcept>

/// bench_gpu's peers where it is rehearsed on a simulated GPU, which cannot run them: each has a line that says so.
namespace anabranch::bench {
namespace {

[[noreturn]] void missing() { throw std::runtime_error("not on a simulated GPU"); }

}  // namespace

struct CusparseSpmv::Impl {};
template <class T>
CusparseSpmv::CusparseSpmv(Algorithm, std::int64_t, std::int64_t, std::int64_t, const std::int32_t*,
                           const std::int32_t*, const T*, const T*, T*) {
  missing();
}
CusparseSpmv::~CusparseSpmv() = default;
void CusparseSpmv::operator()() { missing(); }

template <class T>
CublasDot<T>::CublasDot(std::int64_t, const T*, const T*, T*) {
  missing();
}
template <class T>
void CublasDot<T>::operator()() const {
  missing();
}

std::optional<Clocks> clocks_mhz() { return std::nullopt; }

template <class T>
CubSum<T>::CubSum(std::int64_t, const T*, const T*, T*) {
  missing();
}
template <class T>
void CubSum<T>::operator()() {
  missing();
}
template <class T>
CubRows<T>::CubRows(std::int64_t, const std::int32_t*, const std::int32_t*, const T*, const T*, T*) {
  missing();
}
template <class T>
void CubRows<T>::operator()() {
  missing();
}
template <class T>
CubScan<T>::CubScan(std::int64_t, const T*, const std::int32_t*, T*) {
  missing();
}
template <class T>
void CubScan<T>::operator()() {
  missing();
}
CubSort::CubSort(std::int64_t, const float*, float*) { missing(); }
void CubSort::operator()() { missing(); }
template <class T>
void thrust_squares(std::int64_t, const T*, T*) {
  missing();
}
template <class T>
void thrust_smoothed(std::int64_t, const T*, T*) {
  missing();
}
template <class T>
void thrust_box_means(std::int64_t, std::int64_t, const T*, T*) {
  missing();
}

template <class T>
MergeSpmv<T>::MergeSpmv(std::int64_t, std::int64_t, const std::int32_t*, const std::int32_t*, const T*,
                        const T*, T*) {
  missing();
}
template <class T>
void MergeSpmv<T>::operator()() {
  missing();
}

CubSelect::CubSelect(std::int64_t, float, const float*, float*, std::int64_t*) { missing(); }
void CubSelect::operator()() { missing(); }
CubHistogram::CubHistogram(std::int64_t, std::int64_t, const std::int32_t*, std::int32_t*) { missing(); }
void CubHistogram::operator()() { missing(); }
void thrust_sums_at(std::int64_t, std::int64_t, const std::int32_t*, const std::int64_t*, std::int64_t*) {
  missing();
}

#define ANABRANCH_BENCH_MISSING(T)                                                                       \
  template CusparseSpmv::CusparseSpmv(Algorithm, std::int64_t, std::int64_t, std::int64_t,               \
                                      const std::int32_t*, const std::int32_t*, const T*, const T*, T*); \
  template class CublasDot<T>;                                                                           \
  template class CubSum<T>;                                                                              \
  template class CubRows<T>;                                                                             \
  template class CubScan<T>;                                                                             \
  template void thrust_squares(std::int64_t, const T*, T*);                                              \
  template void thrust_smoothed(std::int64_t, const T*, T*);                                             \
  template void thrust_box_means(std::int64_t, std::int64_t, const T*, T*);                              \
  template class MergeSpmv<T>
ANABRANCH_BENCH_MISSING(float);
ANABRANCH_BENCH_MISSING(double);

}  // namespace anabranch::bench
