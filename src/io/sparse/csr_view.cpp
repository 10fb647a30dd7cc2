#include <anabranch/io/matrix.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/csr_check.h"
#include "io/ragged/ragged_view.h"

/// A CSR matrix in the user's memory.
namespace anabranch::io::detail {

namespace {

[[noreturn]] void fail(const std::string& why) { throw RunError("csr_view: " + why); }

template <class I>
void check_columns(const CsrArrays& a) {
  const auto* columns = static_cast<const I*>(a.indices.data);
  const std::int64_t at = first_outside(columns, a.indices.count, a.cols);
  if (at != a.indices.count)
    fail(fmt::format("indices[{}] = {} is not a column of {}", at, columns[at], a.cols));
}

template <class P>
void check(const CsrArrays& a) {
  if (a.rows < 0 || a.cols < 0) fail(fmt::format("a matrix of {} x {}", a.rows, a.cols));
  if (a.indptr.count - 1 != a.rows)
    fail(fmt::format("{} {} {} offsets in indptr, but there are {}", counted(a.rows, "row"),
                     a.rows == 1 ? "needs" : "need", a.rows + 1, a.indptr.count));
  if (a.indices.count != a.values.count)
    fail(fmt::format("{} indices, but {} values", a.indices.count, a.values.count));
  const P* p = static_cast<const P*>(a.indptr.data);
  if (p[0] != 0) fail(fmt::format("indptr begins with {}, not 0", p[0]));
  if (const auto at = first_decrease(p, a.indptr.count, P{0}); at != a.indptr.count)
    fail(fmt::format("indptr[{}] = {} is smaller than the offset before it, {}", at, p[at], p[at - 1]));
  if (p[a.rows] != a.indices.count)
    fail(fmt::format("indptr ends with {}, but there are {} entries", p[a.rows], a.indices.count));
  if (a.indices.type == ScalarType::int32)
    check_columns<std::int32_t>(a);
  else
    check_columns<std::int64_t>(a);
}

}  // namespace

std::shared_ptr<SourceBase> csr_view(const CsrArrays& arrays) {
  const bool narrow = arrays.indptr.type == ScalarType::int32;
  narrow ? check<std::int32_t>(arrays) : check<std::int64_t>(arrays);
  const auto view = [&](const ConstArray& array) {
    return std::shared_ptr<const void>(arrays.owner, array.data);
  };
  return ragged_view({"csr_view",
                      arrays.rows,
                      narrow ? OffsetType::int32 : OffsetType::int64,
                      view(arrays.indptr),
                      {arrays.indices.type, arrays.values.type},
                      {view(arrays.indices), view(arrays.values)}});
}

}  // namespace anabranch::io::detail
