#include "run/chunks/chunk_geometry.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ir/extents.h"
#include "ir/fold_order.h"
#include "ir/offsets.h"
#include "ir/run_error.h"
#include "run/chunks/chunk_layout.h"
#include "run/sinks/sinks.h"

namespace anabranch::runtime {

using plan::PlanExtent;

namespace {

template <class T>
std::int64_t largest_step(const T* offsets, std::int64_t begin, std::int64_t end) {
  T largest = 0;
  for (std::int64_t i = begin; i < end; ++i)
    largest = std::max(largest, static_cast<T>(offsets[i + 1] - offsets[i]));
  return static_cast<std::int64_t>(largest);
}

template <class T>
std::int64_t steps_above(std::int64_t bound, const T* offsets, std::int64_t begin, std::int64_t end) {
  std::int64_t all = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t step = offsets[i + 1] - offsets[i];
    if (step > bound) all += step;
  }
  return all;
}

/// `of(offsets, begin, end)` for pieces of the items, by all threads.
template <class F>
std::vector<std::int64_t> of_pieces(const void* offsets, OffsetType type, std::int64_t items,
                                    scheduler::Executor& executor, F&& of) {
  constexpr std::int64_t piece = std::int64_t{1} << 16;
  std::vector<std::int64_t> out(static_cast<std::size_t>((items + piece - 1) / piece));
  executor.parallel_for(static_cast<std::int64_t>(out.size()), [&](std::int64_t p) {
    const std::int64_t begin = p * piece, end = std::min(begin + piece, items);
    out[static_cast<std::size_t>(p)] = type == OffsetType::int32
                                           ? of(static_cast<const std::int32_t*>(offsets), begin, end)
                                           : of(static_cast<const std::int64_t*>(offsets), begin, end);
  });
  return out;
}

template <class T>
void steps_of(const T* offsets, std::vector<std::int64_t>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = offsets[i + 1] - offsets[i];
}

}  // namespace

void ChunkGeometry::begin(const std::vector<SourceChunk>& chunks,
                          const std::vector<std::vector<ArrayInfo>>& infos) {
  shape_.items.assign(stage_.group.domains.size(), 0);
  shape_.items[0] = chunks[0].items;
  for (std::size_t d = 1; d < stage_.group.domains.size(); ++d)
    if (const plan::ItemDomain& domain = stage_.group.domains[d]; domain.first_only)
      shape_.items[d] = std::min<std::int64_t>(shape_.items[static_cast<std::size_t>(domain.parent)], 1);
  shape_.first_item = chunks[0].first;
  shape_.descriptor_totals.assign(stage_.group.descriptors.size(), 0);
  offsets_.resize(stage_.group.descriptors.size());
  item_chunks_.clear();
  item_infos_.clear();
  common_.clear();
  for (std::size_t b = 0; b < chunks.size(); ++b)
    for (std::size_t a = 0; a < chunks[b].arrays.size(); ++a) {
      item_chunks_.push_back(chunks[b].arrays[a]);
      item_infos_.push_back(&infos[b][a]);
    }
  const plan::Group& group = stage_.group;
  for (std::size_t d = 0; d < group.descriptors.size(); ++d) {
    const int item = group.descriptors[d].item;
    if (item < 0) continue;
    const auto i = static_cast<std::size_t>(item);
    Offsets& o = offsets_[d];
    o.data = item_chunks_[i].offsets.get();
    o.type = item_infos_[i]->offsets;
    o.longest = o.in_long = -1;
    o.first = ir::offset_at(o.data, o.type, 0);
    shape_.descriptor_totals[d] = ir::offset_at(o.data, o.type, items(0)) - o.first;
  }
  for (const plan::PlanArray& array : group.arrays)
    if (array.origin == plan::PlanArray::Origin::item && array.form == ir::Form::segmented)
      count_as_descriptor(array);
}

/// Items of one shape have one descriptor, though what a stage feeds may count the elements of each array from elsewhere.
void ChunkGeometry::count_as_descriptor(const plan::PlanArray& array) {
  const auto i = static_cast<std::size_t>(array.index);
  if (stage_.group.descriptors[static_cast<std::size_t>(array.descriptor)].item == array.index) return;
  ArrayChunk& chunk = item_chunks_[i];
  const std::int64_t apart = ir::offset_at(chunk.offsets.get(), item_infos_[i]->offsets, 0) - first_of(array);
  if (apart == 0) return;
  for (std::size_t c = 0; c < chunk.data.size(); ++c)
    if (chunk.data[c])
      chunk.data[c] = {chunk.data[c], static_cast<const std::byte*>(chunk.data[c].get()) +
                                          apart * static_cast<std::int64_t>(size_of(array.type.scalars[c]))};
}

std::int64_t ChunkGeometry::dim(const PlanExtent& d, std::int64_t item) const {
  switch (d.kind) {
    case PlanExtent::Kind::constant:
      return d.value;
    case PlanExtent::Kind::uniform:
      return shape_.uniforms[static_cast<std::size_t>(d.index)];
    case PlanExtent::Kind::per_item:
      return values(d.index)[item];
    case PlanExtent::Kind::item_extent:
      break;
  }
  const auto i = static_cast<std::size_t>(d.index);
  return extent_of(item_chunks_[i], *item_infos_[i], item, static_cast<std::size_t>(d.dimension));
}

std::vector<std::int64_t> ChunkGeometry::shape_of(const plan::Descriptor& descriptor,
                                                  std::int64_t item) const {
  std::vector<std::int64_t> out;
  for (const PlanExtent& e : descriptor.extents) out.push_back(dim(e, item));
  return out;
}

namespace {

/// The sums before each of these sizes, and of all: false where one is negative, or so large that a sum might overflow.
bool sum_sizes(const std::int64_t* sizes, std::int64_t count, std::int64_t* sums) {
  std::int64_t total = 0, bits = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] = total;
    bits |= sizes[i];  // negative if any of them is, and not less than any
    total =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(sizes[i]));
  }
  sums[count] = total;
  return bits >= 0 && bits <= INT64_MAX / 64 / std::max<std::int64_t>(count, 1);
}

}  // namespace

void ChunkGeometry::make_offsets(const plan::OffsetsStep& step) {
  const auto d = static_cast<std::size_t>(step.descriptor);
  const plan::Descriptor& descriptor = stage_.group.descriptors[d];
  Offsets& out = offsets_[d];
  const std::int64_t items = items_of_descriptor(step.descriptor);
  out.own.resize(static_cast<std::size_t>(items) + 1);
  const auto& extents = descriptor.extents;
  const bool of_vectors = extents.size() == 1 && extents[0].kind == PlanExtent::Kind::per_item;
  const bool summed = of_vectors && sum_sizes(values(extents[0].index), items, out.own.data());
  std::int64_t total = summed ? out.own.back() : 0;
  for (std::int64_t item = 0; item < items && !summed; ++item) {
    out.own[static_cast<std::size_t>(item)] = total;
    std::int64_t size = 1;
    bool overflows = false;
    for (const PlanExtent& e : descriptor.extents) {
      const std::int64_t extent = dim(e, item);
      if (extent < 0)
        ir::raise(descriptor.what, ir::negative_extent(extent), descriptor.place, number_of(item));
      // One that is 0 may follow.
      overflows = (__builtin_mul_overflow(size, extent, &size) || overflows) && extent != 0;
    }
    if (overflows)
      ir::raise(descriptor.what, ir::too_many_elements(shape_of(descriptor, item)), descriptor.place,
                number_of(item));
    if (__builtin_add_overflow(total, size, &total) || total > INT64_MAX / 64)
      ir::raise(descriptor.what, "the size of a chunk overflows", descriptor.place, number_of(item));
  }
  out.own.back() = total;
  out.data = out.own.data();
  out.type = OffsetType::int64;
  out.first = 0;
  out.longest = out.in_long = -1;
  shape_.descriptor_totals[d] = total;
}

void ChunkGeometry::scanned(const plan::OffsetsStep& step, std::int64_t elements, std::int64_t longest) {
  const auto d = static_cast<std::size_t>(step.descriptor);
  Offsets& out = offsets_[d];
  out = {};
  out.longest = longest;
  shape_.descriptor_totals[d] = elements;
}

void ChunkGeometry::require(const plan::RequireStep& step) const {
  if (step.array < 0)
    return plan::require(step, shape_.uniforms[static_cast<std::size_t>(step.uniform)], number_of(0));
  const std::int64_t* all = values(step.array);
  const std::int64_t items = items_of_array(step.array);
  for (std::int64_t item = 0; item < items; ++item) plan::require(step, all[item], number_of(item));
}

std::int64_t ChunkGeometry::longest(int descriptor, scheduler::Executor& executor) {
  Offsets& o = offsets_[static_cast<std::size_t>(descriptor)];
  if (o.longest >= 0) return o.longest;
  const auto all = of_pieces(
      o.data, o.type, items_of_descriptor(descriptor), executor,
      [](const auto* at, std::int64_t begin, std::int64_t end) { return largest_step(at, begin, end); });
  o.longest = 0;
  for (const std::int64_t l : all) o.longest = std::max(o.longest, l);
  return o.longest;
}

std::int64_t ChunkGeometry::in_long_items(int descriptor, scheduler::Executor& executor) {
  constexpr std::int64_t block = ir::fold_order::block;
  Offsets& o = offsets_[static_cast<std::size_t>(descriptor)];
  if (!o.data) return -1;
  if (longest(descriptor, executor) <= block) return 0;
  if (o.in_long >= 0) return o.in_long;
  const auto all = of_pieces(o.data, o.type, items_of_descriptor(descriptor), executor,
                             [](const auto* at, std::int64_t begin, std::int64_t end) {
                               return steps_above(block, at, begin, end);
                             });
  o.in_long = std::accumulate(all.begin(), all.end(), std::int64_t{0});
  return o.in_long;
}

namespace {

/// Chunks of fewer items are not worth a kernel of their own, which has to be compiled first.
constexpr std::int64_t enough_items = 32;

/// Whether f(0), ..., f(n - 1) are all f(0); in blocks, so that the loop over a block has no branch.
template <class F>
bool all_equal(std::int64_t n, F&& f) {
  const std::int64_t first = f(0);
  for (std::int64_t begin = 0, size = 4; begin < n; begin += size, size = 1024) {
    bool differs = false;
    for (std::int64_t i = begin; i < std::min(begin + size, n); ++i) differs |= f(i) != first;
    if (differs) return false;
  }
  return true;
}

template <class T>
bool equal_steps(const void* offsets, std::int64_t n) {
  const T* const at = static_cast<const T*>(offsets);
  return all_equal(n, [at](std::int64_t i) { return static_cast<std::int64_t>(at[i + 1] - at[i]); });
}

}  // namespace

std::optional<std::int64_t> ChunkGeometry::common(const PlanExtent& extent, int domain) {
  const auto known = std::find_if(common_.begin(), common_.end(), [&](const Common& asked) {
    return asked.extent == extent && asked.domain == domain;
  });
  if (known != common_.end()) return known->value;
  const std::int64_t n = items(domain);
  const auto is_common = [&] {
    if (extent.kind == PlanExtent::Kind::per_item) {
      if (!knows_values(extent.index)) return false;
      const std::int64_t* const all = values(extent.index);
      return all_equal(n, [all](std::int64_t i) { return all[i]; });
    }
    const auto i = static_cast<std::size_t>(extent.index);
    const ArrayChunk& chunk = item_chunks_[i];
    if (!item_infos_[i]->ragged()) {
      const std::int64_t* const all = chunk.extents[static_cast<std::size_t>(extent.dimension)].get();
      return all_equal(n, [all](std::int64_t item) { return all[item]; });
    }
    return item_infos_[i]->offsets == OffsetType::int32 ? equal_steps<std::int32_t>(chunk.offsets.get(), n)
                                                        : equal_steps<std::int64_t>(chunk.offsets.get(), n);
  };
  common_.push_back({extent, domain, std::nullopt});
  if (n > 0 && is_common()) common_.back().value = dim(extent, 0);
  return common_.back().value;
}

const plan::EqualItems* ChunkGeometry::equal_items(const plan::KernelStep& step) {
  const plan::EqualItems* const equal = step.equal_items.get();
  if (!equal || items_of(step) < enough_items) return nullptr;
  // The rows' length first, as it may say that it is not worth looking further.
  if (equal->length >= 0) {
    const PlanExtent& length = equal->extents[static_cast<std::size_t>(equal->length)];
    if (length.kind == PlanExtent::Kind::per_item && !knows_values(length.index)) return nullptr;
    if (equal->from_length > 0 && dim(length, 0) < equal->from_length) return nullptr;
  }
  for (const PlanExtent& extent : equal->extents)
    if (!common(extent, step.positions.domain)) return nullptr;
  return equal;
}

std::int64_t ChunkGeometry::item_at(const plan::KernelStep& step, std::int64_t position) const {
  const std::int64_t items = items_of(step);
  if (step.positions.form != ir::Form::segmented)
    return position / std::max<std::int64_t>(positions(step) / items, 1);
  const Offsets& o = offsets_[static_cast<std::size_t>(step.positions.descriptor)];
  const auto holder = [&](const auto* offsets) {
    return std::upper_bound(offsets, offsets + items + 1, position + o.first) - offsets - 1;
  };
  return o.type == OffsetType::int32 ? holder(static_cast<const std::int32_t*>(o.data))
                                     : holder(static_cast<const std::int64_t*>(o.data));
}

std::int64_t ChunkGeometry::elements(int array) const {
  return plan::elements_of(stage_.group.arrays[static_cast<std::size_t>(array)], shape_);
}

bool ChunkGeometry::shapes_matter(std::size_t result) const {
  return std::any_of(stage_.sinks.begin(), stage_.sinks.end(), [&](const ir::Stage::Sink& sink) {
    const bool streamed_out = !sink.consume;
    return sink.result == static_cast<int>(result) && (streamed_out || needs_extents(sink.kind));
  });
}

PartShape ChunkGeometry::shape_of_results() const {
  PartShape shape;
  shape.first = shape_.first_item;
  shape.items = items_of_array(stage_.results[0]);  // all are of one sequence
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    const int number = stage_.results[r];
    PartShape::Result& result = shape.results.emplace_back();
    result.elements = elements(number);
    if (!shapes_matter(r)) continue;
    const std::size_t dimensions = stage_.group.arrays[static_cast<std::size_t>(number)].extents.size();
    for (std::size_t d = 0; d < dimensions; ++d)
      result.extents.push_back(extents(number, static_cast<int>(d)));
  }
  return shape;
}

std::vector<std::int64_t> ChunkGeometry::extents(int array, int dimension) const {
  const PlanExtent& d =
      stage_.group.arrays[static_cast<std::size_t>(array)].extents[static_cast<std::size_t>(dimension)];
  if (d.same_for_all()) return {dim(d, 0)};
  const std::int64_t items = items_of_array(array);
  std::vector<std::int64_t> values(static_cast<std::size_t>(items));
  // Of vectors of a source, which may be many and short.
  if (d.kind == PlanExtent::Kind::item_extent &&
      item_infos_[static_cast<std::size_t>(d.index)]->rank() == 1) {
    const auto i = static_cast<std::size_t>(d.index);
    const void* const offsets = item_chunks_[i].offsets.get();
    if (item_infos_[i]->offsets == OffsetType::int32)
      steps_of(static_cast<const std::int32_t*>(offsets), values);
    else
      steps_of(static_cast<const std::int64_t*>(offsets), values);
    return values;
  }
  for (std::int64_t i = 0; i < items; ++i) values[static_cast<std::size_t>(i)] = dim(d, i);
  return values;
}

std::vector<std::vector<std::int64_t>> ChunkGeometry::all_extents(int array) const {
  std::vector<std::vector<std::int64_t>> values;
  const int rank = stage_.group.arrays[static_cast<std::size_t>(array)].type.rank;
  for (int d = 0; d < rank; ++d) values.push_back(extents(array, d));
  return values;
}

rearrange::Parts ChunkGeometry::parts_of(int number, bool rows, std::vector<std::int64_t>& offsets) const {
  const plan::PlanArray& array = stage_.group.arrays[static_cast<std::size_t>(number)];
  const std::int64_t items = items_of_array(number);
  const std::size_t inner = rows ? array.extents.size() - 1 : array.extents.size();
  rearrange::Parts parts;
  if (array.form != ir::Form::segmented) {
    parts.count = items;
    parts.size = 1;
    for (std::size_t d = 0; d < array.extents.size(); ++d) {
      std::int64_t& product = rows && d < inner ? parts.count : parts.size;
      product = ir::times(product, dim(array.extents[d], 0));
    }
    return parts;
  }
  offsets.assign(1, 0);
  for (std::int64_t item = 0; item < items; ++item) {
    std::int64_t outer = 1, size = 1;
    for (std::size_t d = 0; d < array.extents.size(); ++d) {
      std::int64_t& product = rows && d < inner ? outer : size;
      product = ir::times(product, dim(array.extents[d], item));
    }
    for (std::int64_t row = 0; row < outer; ++row) offsets.push_back(offsets.back() + size);
  }
  parts.count = std::ssize(offsets) - 1;
  parts.offsets = offsets.data();
  return parts;
}

}  // namespace anabranch::runtime
