#include "gpu/resident_programs.h"

#include <anabranch/io.h>

#include "support/programs.h"

namespace anabranch::bench {
namespace {

/// A vector that has a length and no elements.
template <class T>
Vector<T> shape_only(std::int64_t n) {
  static const T nothing{};
  return vector_over(&nothing, n);
}

/// A stream of sparse rows; of which matrix the program does not depend on.
template <class T>
auto any_rows(std::int64_t cols) {
  static const std::int32_t offsets[] = {0, 1}, columns[] = {0};
  static const T values[] = {1};
  return stream_in(io::csr_view(1, cols, offsets, columns, values));
}

ResidentData data_of(const ResidentMatrix& a, cuda::Address result) {
  return {.inputs = {}, .offsets = a.offsets, .fields = {a.columns, a.values}, .result = result};
}
ResidentWork work_of(const ResidentMatrix& a) {
  return {.items = a.rows, .positions = a.rows, .elements = a.nonzeros, .longest = a.longest};
}

}  // namespace

template <class T>
std::shared_ptr<ResidentKernel> resident_smvm(const ResidentMatrix& a, cuda::Address x, cuda::Address y) {
  const Vector<T> whole = shape_only<T>(a.cols);
  ResidentData data = data_of(a, y);
  data.inputs = {{whole.erased(), x}};
  return std::make_shared<ResidentKernel>(smvm(any_rows<T>(a.cols), use(whole)).handle(), data, work_of(a));
}

template <class T>
std::shared_ptr<ResidentKernel> resident_row_sums(const ResidentMatrix& a, cuda::Address sums) {
  return std::make_shared<ResidentKernel>(row_sums(any_rows<T>(1)).handle(), data_of(a, sums), work_of(a));
}

template <class T>
std::shared_ptr<ResidentKernel> resident_dot(std::int64_t n, cuda::Address x, cuda::Address y,
                                             cuda::Address result) {
  const Vector<T> xs = shape_only<T>(n), ys = shape_only<T>(n);
  const ResidentData data{.inputs = {{xs.erased(), x}, {ys.erased(), y}}, .fields = {}, .result = result};
  const ResidentWork work{.positions = 1, .elements = n, .longest = n};
  return std::make_shared<ResidentKernel>(dotp<T>(use(xs), use(ys)).handle(), data, work);
}

template <class T>
std::shared_ptr<ResidentKernel> resident_scan(std::int64_t n, cuda::Address x, cuda::Address y) {
  const Vector<T> xs = shape_only<T>(n);
  const ResidentData data{.inputs = {{xs.erased(), x}}, .fields = {}, .result = y};
  const ResidentWork work{.positions = 1, .elements = n, .longest = n};
  return std::make_shared<ResidentKernel>(prefix_sums<T>(use(xs)).handle(), data, work);
}

template <class T>
std::shared_ptr<ResidentKernel> resident_row_scan(const ResidentMatrix& a, cuda::Address y) {
  return std::make_shared<ResidentKernel>(row_prefix_sums(any_rows<T>(1)).handle(), data_of(a, y),
                                          work_of(a));
}

template <class T>
std::shared_ptr<ResidentKernel> resident_squares(std::int64_t n, cuda::Address x, cuda::Address y) {
  const Vector<T> xs = shape_only<T>(n);
  const ResidentData data{.inputs = {{xs.erased(), x}}, .fields = {}, .result = y};
  return std::make_shared<ResidentKernel>(squares<T>(use(xs)).handle(), data, ResidentWork{.positions = n});
}

template <class T>
std::shared_ptr<ResidentKernel> resident_smoothed(std::int64_t n, cuda::Address x, cuda::Address y) {
  const Vector<T> xs = shape_only<T>(n);
  const ResidentData data{.inputs = {{xs.erased(), x}}, .fields = {}, .result = y};
  return std::make_shared<ResidentKernel>(smoothed<T>(use(xs)).handle(), data, ResidentWork{.positions = n});
}

template <class T>
std::shared_ptr<ResidentKernel> resident_box_means(std::int64_t rows, std::int64_t cols, cuda::Address x,
                                                   cuda::Address y) {
  static const T nothing{};
  const Matrix<T> xs = Matrix<T>::view(Index<2>{{rows, cols}}, &nothing);
  const ResidentData data{.inputs = {{xs.erased(), x}}, .fields = {}, .result = y};
  return std::make_shared<ResidentKernel>(box_means<T>(use(xs)).handle(), data,
                                          ResidentWork{.positions = rows * cols});
}

#define ANABRANCH_BENCH_RESIDENT(T)                                                                          \
  template std::shared_ptr<ResidentKernel> resident_smvm<T>(const ResidentMatrix&, cuda::Address,            \
                                                            cuda::Address);                                  \
  template std::shared_ptr<ResidentKernel> resident_row_sums<T>(const ResidentMatrix&, cuda::Address);       \
  template std::shared_ptr<ResidentKernel> resident_dot<T>(std::int64_t, cuda::Address, cuda::Address,       \
                                                           cuda::Address);                                   \
  template std::shared_ptr<ResidentKernel> resident_scan<T>(std::int64_t, cuda::Address, cuda::Address);     \
  template std::shared_ptr<ResidentKernel> resident_row_scan<T>(const ResidentMatrix&, cuda::Address);       \
  template std::shared_ptr<ResidentKernel> resident_squares<T>(std::int64_t, cuda::Address, cuda::Address);  \
  template std::shared_ptr<ResidentKernel> resident_smoothed<T>(std::int64_t, cuda::Address, cuda::Address); \
  template std::shared_ptr<ResidentKernel> resident_box_means<T>(std::int64_t, std::int64_t, cuda::Address,  \
                                                                 cuda::Address)
ANABRANCH_BENCH_RESIDENT(float);
ANABRANCH_BENCH_RESIDENT(double);

}  // namespace anabranch::bench
