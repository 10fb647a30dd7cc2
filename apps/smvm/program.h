#pragma once

#include <cstdint>
#include <tuple>

#include <anabranch/anabranch.h>

/// The program that the command `anabranch smvm` runs: y = A x for a sparse matrix A that streams by. It is
/// written as any user would write it; instantiated for int32 and int64 columns, float and double values.
namespace anabranch::apps {

template <class T>
Acc<Scalar<T>> dotp(Acc<Vector<T>> xs, Acc<Vector<T>> ys);

/// y = A x, one sparse row at a time: a row is its (column, value) pairs. Columns must be below x's length.
template <class I, class T>
Acc<Vector<T>> smvm(Seq<Vector<std::tuple<I, T>>> rows, Acc<Vector<T>> x);

/// The same of several vectors, the columns of a matrix, in one pass over the rows. A column of the result has the bits that
/// its vector alone gives.
template <class I, class T>
Acc<Matrix<T>> smvm(Seq<Vector<std::tuple<I, T>>> rows, Acc<Matrix<T>> xs);

}  // namespace anabranch::apps
