#include <anabranch/io.h>

#include <fmt/format.h>

#include "csr_check.h"
#include "csr_pick.h"

/// A CSR matrix in the user's memory as a source of views.
namespace anabranch::io::detail {

namespace {

template <class P>
class CsrView final : public SourceBase {
 public:
  explicit CsrView(const CsrArrays& arrays)
      : arrays_(arrays),
        cost_{sizeof(P),
              static_cast<std::int64_t>(size_of(arrays.indices.type) + size_of(arrays.values.type))} {
    check();
    ArrayInfo array;
    array.scalars = {arrays.indices.type, arrays.values.type};
    array.extents = {std::nullopt};
    array.offsets = sizeof(P) == 4 ? OffsetType::int32 : OffsetType::int64;
    info_.name = "csr_view";
    info_.arrays = {array};
    info_.items = arrays.rows;
    info_.work = arrays.indices.count;
    info_.rewindable = true;
    info_.in_memory = true;
  }

  const SourceInfo& info() const override { return info_; }
  void rewind() override { row_ = 0; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (row_ == arrays_.rows) return false;
    const P* begin = indptr() + row_;
    const std::int64_t rows = rows_that_fit(begin + 1, arrays_.rows - row_, *begin, 0, cost_, limit);
    chunk.items = rows;
    chunk.work = begin[rows] - *begin;
    chunk.bytes = 0;
    chunk.arrays.resize(1);
    ArrayChunk& array = chunk.arrays[0];
    array.data = {view(arrays_.indices.data), view(arrays_.values.data)};
    array.offsets = view(begin);
    array.extents.clear();
    row_ += rows;
    return true;
  }

 private:
  const P* indptr() const { return static_cast<const P*>(arrays_.indptr.data); }
  std::shared_ptr<const void> view(const void* at) const { return {arrays_.owner, at}; }

  void check() const {
    const CsrArrays& a = arrays_;
    const auto fail = [](const std::string& why) { throw RunError("csr_view: " + why); };
    if (a.rows < 0 || a.cols < 0) fail(fmt::format("a matrix of {} x {}", a.rows, a.cols));
    if (a.indptr.count - 1 != a.rows)
      fail(fmt::format("{} rows need {} offsets in indptr, but there are {}", a.rows, a.rows + 1,
                       a.indptr.count));
    if (a.indices.count != a.values.count)
      fail(fmt::format("{} indices, but {} values", a.indices.count, a.values.count));
    const P* p = indptr();
    if (p[0] != 0) fail(fmt::format("indptr begins with {}, not 0", p[0]));
    if (const auto at = first_decrease(p, a.indptr.count, P{0}); at != a.indptr.count)
      fail(fmt::format("indptr[{}] = {} is smaller than the offset before it, {}", at, p[at], p[at - 1]));
    if (p[a.rows] != a.indices.count)
      fail(fmt::format("indptr ends with {}, but there are {} entries", p[a.rows], a.indices.count));
    if (a.indices.type == ScalarType::int32)
      check_columns(static_cast<const std::int32_t*>(a.indices.data));
    else
      check_columns(static_cast<const std::int64_t*>(a.indices.data));
  }
  template <class I>
  void check_columns(const I* columns) const {
    const std::int64_t at = first_outside(columns, arrays_.indices.count, arrays_.cols);
    if (at != arrays_.indices.count)
      throw RunError(
          fmt::format("csr_view: indices[{}] = {} is not a column of {}", at, columns[at], arrays_.cols));
  }

  CsrArrays arrays_;
  CsrCost cost_;
  SourceInfo info_;
  std::int64_t row_ = 0;
};

}  // namespace

std::shared_ptr<SourceBase> csr_view(const CsrArrays& arrays) {
  if (arrays.indptr.type == ScalarType::int32) return std::make_shared<CsrView<std::int32_t>>(arrays);
  return std::make_shared<CsrView<std::int64_t>>(arrays);
}

}  // namespace anabranch::io::detail
