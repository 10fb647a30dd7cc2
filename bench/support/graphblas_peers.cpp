#include "graphblas_peers.h"

#ifdef ANABRANCH_BENCH_GRAPHBLAS
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {  // which its releases before 8 leave to us
#include <GraphBLAS.h>
}
#endif

namespace anabranch::bench {

#ifdef ANABRANCH_BENCH_GRAPHBLAS
namespace {

void require_success(GrB_Info status) {
  if (status != GrB_SUCCESS) throw std::runtime_error("GraphBLAS: status " + std::to_string(status));
}

void start_library() {
  struct Session {
    Session() { require_success(GrB_init(GrB_NONBLOCKING)); }
    ~Session() { GrB_finalize(); }
  };
  static const Session session;
}

void use_threads(int threads) { require_success(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads)); }

using Matrix = std::shared_ptr<std::remove_pointer_t<GrB_Matrix>>;
using Vector = std::shared_ptr<std::remove_pointer_t<GrB_Vector>>;

Matrix owned(GrB_Matrix matrix) {
  return {matrix, [](GrB_Matrix m) { GrB_Matrix_free(&m); }};
}

/// A matrix by rows, of values that may be left out: nobody reads them then.
Matrix matrix_of(std::int64_t rows, std::int64_t cols, std::int64_t entries, const std::int32_t* offsets,
                 const std::int32_t* columns, const double* values) {
  const std::vector<GrB_Index> begins(offsets, offsets + rows + 1), indices(columns, columns + entries);
  const auto m = static_cast<GrB_Index>(rows), n = static_cast<GrB_Index>(cols);
  GrB_Matrix made = nullptr;
  if (values) {
    require_success(GrB_Matrix_import_FP64(&made, GrB_FP64, m, n, begins.data(), indices.data(), values,
                                           m + 1, indices.size(), indices.size(), GrB_CSR_FORMAT));
  } else {
    const std::unique_ptr<bool[]> links(new bool[indices.size()]);
    std::fill_n(links.get(), indices.size(), true);
    require_success(GrB_Matrix_import_BOOL(&made, GrB_BOOL, m, n, begins.data(), indices.data(), links.get(),
                                           m + 1, indices.size(), indices.size(), GrB_CSR_FORMAT));
  }
  const Matrix out = owned(made);
  require_success(GrB_Matrix_wait(made, GrB_MATERIALIZE));
  return out;
}

/// A vector whose every element is there: element(i).
template <class Element>
Vector vector_of(std::int64_t size, Element element) {
  GrB_Vector made = nullptr;
  require_success(GrB_Vector_new(&made, GrB_FP64, static_cast<GrB_Index>(size)));
  Vector out{made, [](GrB_Vector v) { GrB_Vector_free(&v); }};
  const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(double);
  const auto elements = static_cast<double*>(std::malloc(bytes));
  if (!elements) throw std::bad_alloc();
  for (std::int64_t i = 0; i < size; ++i) elements[i] = element(i);
  void* given = elements;
  require_success(GxB_Vector_pack_Full(made, &given, bytes, false, nullptr));
  return out;
}

void copy_elements(const Vector& vector, double* to) {
  GrB_Index size = 0, found = 0;
  require_success(GrB_Vector_size(&size, vector.get()));
  require_success(GrB_Vector_nvals(&found, vector.get()));
  if (found != size) throw std::runtime_error("GraphBLAS: a vector that lacks elements");
  require_success(GrB_Vector_extractTuples_FP64(nullptr, to, &found, vector.get()));
}

void fill(const Vector& vector, double value, GrB_Index size) {
  require_success(GrB_Vector_assign_FP64(vector.get(), nullptr, nullptr, value, GrB_ALL, size, nullptr));
}

}  // namespace

GraphBlas graphblas_spmv(const Csr& a, const double* x) {
  start_library();
  const Matrix matrix =
      matrix_of(a.rows, a.cols, a.nnz(), a.indptr.data(), a.indices.data(), a.values.data());
  const Vector in = vector_of(a.cols, [&](std::int64_t i) { return x[i]; });
  const Vector out = vector_of(a.rows, [](std::int64_t) { return 0.0; });
  const auto run = [=, rows = static_cast<GrB_Index>(a.rows)](int threads) {
    use_threads(threads);
    // Added to zeros, so that rows without entries have an element, too.
    fill(out, 0, rows);
    require_success(GrB_mxv(out.get(), nullptr, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, matrix.get(),
                            in.get(), nullptr));
    require_success(GrB_Vector_wait(out.get(), GrB_MATERIALIZE));
  };
  return {run, [=](double* to) { copy_elements(out, to); }};
}

GraphBlas graphblas_pagerank(const InLinkArrays& graph, double damping, int rounds) {
  start_library();
  const std::int64_t n = graph.nodes;
  const Matrix links = matrix_of(n, n, graph.links, graph.offsets, graph.from, nullptr);
  // Of a node without links nobody asks for the share.
  const Vector divisors =
      vector_of(n, [&](std::int64_t v) { return graph.leaving[v] > 0 ? graph.leaving[v] / damping : 1.0; });
  const Vector is_dangling = vector_of(n, [&](std::int64_t v) { return graph.leaving[v] > 0 ? 0.0 : 1.0; });
  const auto ranks = std::make_shared<Vector>(vector_of(n, [](std::int64_t) { return 0.0; }));
  const auto other = std::make_shared<Vector>(vector_of(n, [](std::int64_t) { return 0.0; }));
  const Vector shares = vector_of(n, [](std::int64_t) { return 0.0; });
  const auto run = [=, size = static_cast<GrB_Index>(n)](int threads) {
    use_threads(threads);
    const auto nodes = static_cast<double>(n);
    const auto sum = [&](const Vector& of) {
      double total = 0;
      require_success(GrB_Vector_reduce_FP64(&total, nullptr, GrB_PLUS_MONOID_FP64, of.get(), nullptr));
      return total;
    };
    const auto combine = [&](const Vector& to, GrB_BinaryOp with, const Vector& a, const Vector& b) {
      require_success(
          GrB_Vector_eWiseMult_BinaryOp(to.get(), nullptr, nullptr, with, a.get(), b.get(), nullptr));
    };
    fill(*ranks, 1 / nodes, size);
    for (int round = 0; round < rounds; ++round) {
      std::swap(*ranks, *other);
      combine(shares, GrB_TIMES_FP64, *other, is_dangling);
      const double dangling = sum(shares);
      combine(shares, GrB_DIV_FP64, *other, divisors);
      fill(*ranks, (1 - damping + damping * dangling) / nodes, size);
      require_success(GrB_mxv(ranks->get(), nullptr, GrB_PLUS_FP64, GxB_PLUS_SECOND_FP64, links.get(),
                              shares.get(), nullptr));
      combine(shares, GrB_MINUS_FP64, *ranks, *other);
      require_success(GrB_Vector_apply(shares.get(), nullptr, nullptr, GrB_ABS_FP64, shares.get(), nullptr));
      sum(shares);
    }
    require_success(GrB_Vector_wait(ranks->get(), GrB_MATERIALIZE));
  };
  return {run, [=](double* to) { copy_elements(*ranks, to); }};
}
#else
GraphBlas graphblas_spmv(const Csr&, const double*) { return {}; }
GraphBlas graphblas_pagerank(const InLinkArrays&, double, int) { return {}; }
#endif

}  // namespace anabranch::bench
