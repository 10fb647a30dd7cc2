#pragma once

#include <anabranch/io/matrix.h>

#include "io/ragged/ragged_stream.h"
#include "io/sparse/csr_layout.h"

/// The columns of a sparse matrix, whose file has its rows.
namespace anabranch::io::detail {

/// The rows of a matrix as a stream, with column numbers as `index`, which are checked, and values as `value`.
RaggedLayout rows_of(CsrLayout matrix, ScalarType index, ScalarType value);

/// Reads the matrix once, and sorts its entries by column and row into a spool file, holding at most options.memory bytes.
/// `index` can hold the numbers of its rows.
CsrLayout transposed(CsrLayout matrix, ScalarType index, const OpenOptions& options);

}  // namespace anabranch::io::detail
