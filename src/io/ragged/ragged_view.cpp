#include "io/ragged/ragged_view.h"

#include <utility>

#include <anabranch/ragged.h>

#include <fmt/format.h>

#include "io/base/csr_check.h"
#include "io/ragged/ragged_pick.h"

namespace anabranch {

namespace io::detail {

namespace {

template <class P>
class RaggedView final : public SourceBase {
 public:
  explicit RaggedView(RaggedArrays arrays) : arrays_(std::move(arrays)), cost_{sizeof(P), 0} {
    for (const ScalarType s : arrays_.scalars) cost_.per_element += static_cast<std::int64_t>(size_of(s));
    ArrayInfo array;
    array.scalars = arrays_.scalars;
    array.extents = {std::nullopt};
    array.offsets = arrays_.offset_type;
    info_.name = arrays_.name;
    info_.arrays = {array};
    info_.items = arrays_.items;
    info_.work = offsets()[arrays_.items] - offsets()[0];
    info_.rewindable = true;
    info_.in_memory = true;
  }

  const SourceInfo& info() const override { return info_; }
  void rewind() override { item_ = 0; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (item_ == arrays_.items) return false;
    const P* begin = offsets() + item_;
    const std::int64_t items = items_that_fit(begin + 1, arrays_.items - item_, *begin, 0, cost_, limit);
    chunk.items = items;
    chunk.work = begin[items] - *begin;
    chunk.bytes = 0;
    chunk.arrays.resize(1);
    ArrayChunk& array = chunk.arrays[0];
    array.data = arrays_.components;
    array.offsets = std::shared_ptr<const void>(arrays_.offsets, begin);
    array.extents.clear();
    item_ += items;
    return true;
  }

 private:
  const P* offsets() const { return static_cast<const P*>(arrays_.offsets.get()); }

  RaggedArrays arrays_;
  RaggedCost cost_;
  SourceInfo info_;
  std::int64_t item_ = 0;
};

}  // namespace

std::shared_ptr<SourceBase> ragged_view(RaggedArrays arrays) {
  if (arrays.offset_type == OffsetType::int32)
    return std::make_shared<RaggedView<std::int32_t>>(std::move(arrays));
  return std::make_shared<RaggedView<std::int64_t>>(std::move(arrays));
}

}  // namespace io::detail

// ---- Ragged host arrays

namespace detail {

Vector<std::int64_t> offsets_of_lengths(std::span<const std::int64_t> lengths) {
  Vector<std::int64_t> offsets(static_cast<std::int64_t>(lengths.size()) + 1);
  std::int64_t end = 0;
  std::int64_t* out = offsets.mutable_data();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) throw RunError(fmt::format("ragged array: vector {} has length {}", i, lengths[i]));
    if (__builtin_add_overflow(end, lengths[i], &end))
      throw RunError(fmt::format("ragged array: the sum of lengths overflows at vector {}", i));
    out[i + 1] = end;
  }
  return offsets;
}

void check_offsets(const Vector<std::int64_t>& offsets, std::int64_t values) {
  const auto fail = [](const std::string& why) { throw RunError("ragged array: " + why); };
  const std::int64_t n = offsets.size();
  if (n == 0) fail("there is no offset; even of no vectors there is one, 0");
  const std::int64_t* p = offsets.data();
  if (p[0] != 0) fail(fmt::format("the offsets begin with {}, not 0", p[0]));
  if (const auto at = io::detail::first_decrease(p, n, 0); at != n)
    fail(fmt::format("offset {} is {}, smaller than the one before it, {}", at, p[at], p[at - 1]));
  if (p[n - 1] != values)
    fail(fmt::format("the offsets end with {}, but there are {} values", p[n - 1], values));
}

std::shared_ptr<ArrayData> elements_of(const ArrayData& vector, std::int64_t first, std::int64_t count) {
  auto out = std::make_shared<ArrayData>(vector);
  out->extents = {count};
  out->room = 0;
  out->residence = nullptr;  // of other elements
  for (std::size_t c = 0; c < out->buffers.size(); ++c) {
    auto* const at = static_cast<unsigned char*>(vector.buffers[c].get());
    out->buffers[c] = {vector.buffers[c], at + static_cast<std::size_t>(first) * size_of(vector.scalars[c])};
  }
  return out;
}

std::shared_ptr<SourceBase> ragged_source(const Vector<std::int64_t>& offsets,
                                          const std::shared_ptr<ArrayData>& values) {
  return io::detail::ragged_view({"ragged array",
                                  offsets.size() - 1,
                                  OffsetType::int64,
                                  offsets.erased()->buffers[0],
                                  values->scalars,
                                  {values->buffers.begin(), values->buffers.end()}});
}

}  // namespace detail
}  // namespace anabranch
