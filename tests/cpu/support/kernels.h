#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cpu/compiler.h"
#include "cpu/launch.h"
#include "ir/make.h"
#include "ir/views.h"
#include "kernel/kernel.h"

/// Kernels made by hand, without a plan: the builder hands out slots and keeps the memory behind them.
namespace anabranch::test {

namespace ir = anabranch::ir;
namespace kernel = anabranch::kernel;
namespace cpu = anabranch::cpu;

inline kernel::KernelExtent constant_extent(std::int64_t n) {
  kernel::KernelExtent e;
  e.value = n;
  return e;
}

/// Lengths of rows and arrays: around the borders of lanes, of vectors and of the canonical order's blocks.
inline const std::vector<std::int64_t> lengths{0,   1,   7,   8,   9,   15,   16,   17,   24,
                                               25,  31,  32,  33,  63,  64,   65,   127,  128,
                                               129, 255, 256, 257, 280, 4095, 4096, 4097, 20000};

/// Memory whose last byte lies before pages that must not be touched: generated code, which no sanitizer
/// sees, that reads or writes beyond a buffer ends the test at once. Two pages, because folds that prefetch
/// compute addresses more than one page ahead.
class GuardedMemory {
 public:
  GuardedMemory(const void* data, std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t usable = (size + page - 1) / page * page;
    bytes_ = usable + 2 * page;
    void* pages = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<std::byte*>(pages);
    ::mprotect(pages_ + usable, 2 * page, PROT_NONE);
    data_ = pages_ + usable - size;
    if (size) std::memcpy(data_, data, size);
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)), data_(other.data_), bytes_(other.bytes_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (pages_) ::munmap(pages_, bytes_);
  }
  void* data() const { return data_; }

 private:
  std::byte* pages_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// What kernels with rows have, and the first operator of theirs.
inline kernel::Reduce& reduce_in(kernel::Kernel& kernel) { return std::get<kernel::Reduce>(kernel.form); }
inline const kernel::Reduce& reduce_in(const kernel::Kernel& kernel) {
  return std::get<kernel::Reduce>(kernel.form);
}
inline kernel::Scan& scan_in(kernel::Kernel& kernel) { return std::get<kernel::Scan>(kernel.form); }
inline const kernel::Row& row_in(const kernel::Kernel& kernel) { return *kernel::row_of(kernel); }
inline kernel::Row& row_in(kernel::Kernel& kernel) {
  return const_cast<kernel::Row&>(row_in(std::as_const(kernel)));
}
inline kernel::Reduction& reduction_in(kernel::Kernel& kernel) {
  if (auto* scan = std::get_if<kernel::Scan>(&kernel.form)) return scan->reduction;
  return reduce_in(kernel).reductions.at(0);
}

class KernelBuilder {
 public:
  explicit KernelBuilder(kernel::KernelForm form, bool over_items = false, std::int64_t items = 1)
      : items_(items) {
    kernel_.name = "test";
    kernel_.form = std::move(form);
    kernel_.domain.over_items = over_items;
  }

  /// A buffer slot over these values; they are copied.
  template <class T>
  int buffer(const std::vector<T>& values) {
    return bytes(values.data(), values.size() * sizeof(T));
  }
  int bytes(const void* data, std::size_t size) {
    memory_.emplace_back(data, size);
    buffers_.push_back(memory_.back().data());
    sizes_.push_back(size);
    kernel_.buffer_slots = static_cast<int>(buffers_.size());
    return kernel_.buffer_slots - 1;
  }
  int view(const void* data) {
    buffers_.push_back(const_cast<void*>(data));
    sizes_.push_back(0);
    kernel_.buffer_slots = static_cast<int>(buffers_.size());
    return kernel_.buffer_slots - 1;
  }
  int scalar(std::int64_t value) {
    scalars_.push_back(value);
    kernel_.scalar_slots = static_cast<int>(scalars_.size());
    return kernel_.scalar_slots - 1;
  }
  kernel::KernelExtent uniform_extent(std::int64_t n) {
    kernel::KernelExtent e;
    e.kind = kernel::KernelExtent::Kind::uniform;
    e.slot = scalar(n);
    return e;
  }
  kernel::KernelExtent per_item_extent(const std::vector<std::int64_t>& n) {
    kernel::KernelExtent e;
    e.kind = kernel::KernelExtent::Kind::per_item;
    e.slot = buffer(n);
    return e;
  }
  /// Of items that begin with this number.
  kernel::KernelExtent number_extent(std::int64_t first) {
    kernel::KernelExtent e;
    e.kind = kernel::KernelExtent::Kind::number;
    e.slot = scalar(first);
    return e;
  }
  static kernel::KernelExtent ragged_extent(int offsets, OffsetType type = OffsetType::int64,
                                            std::int64_t divisor = 1) {
    kernel::KernelExtent e;
    e.kind = kernel::KernelExtent::Kind::ragged;
    e.slot = offsets;
    e.offsets = type;
    e.divisor = divisor;
    return e;
  }

  /// Arrays read; the first component's buffer and those after it must follow each other.
  ir::Ref array(kernel::Form form, std::vector<ScalarType> scalars, std::vector<kernel::KernelExtent> extents,
                int first_buffer, int offsets = -1, OffsetType offset_type = OffsetType::int64) {
    kernel::KernelArray a;
    a.type = {static_cast<int>(extents.size()), std::move(scalars)};
    a.parameter = ir::parameter(ir::Type::array(a.type));
    a.form = form;
    a.extents = std::move(extents);
    a.first_buffer = first_buffer;
    a.offsets = offsets;
    a.offset_type = offset_type;
    kernel_.arrays.push_back(a);
    return a.parameter;
  }
  void output(kernel::Form form, std::vector<ScalarType> scalars, std::vector<kernel::KernelExtent> extents,
              std::int64_t elements, int offsets = -1, OffsetType offset_type = OffsetType::int64) {
    const auto& o = add_output(form, scalars, std::move(extents), elements, offsets, offset_type).array;
    elements_ = elements;
    for (int d = 0; d < o.type.rank; ++d)
      kernel_.index.push_back(ir::parameter(ir::Type::element(ScalarType::int64)));
    static_cast<kernel::Layout&>(kernel_.domain) = o;
    if (!kernel::row_of(kernel_)) return;
    row_in(kernel_).index = ir::parameter(ir::Type::element(ScalarType::int64));
    if (auto* recurrence = std::get_if<kernel::Recurrence>(&kernel_.form)) {
      for (const ScalarType s : scalars) recurrence->state.push_back(ir::parameter(ir::Type::element(s)));
      return;
    }
    if (auto* reduce = std::get_if<kernel::Reduce>(&kernel_.form)) reduce->reductions.emplace_back();
    kernel::Reduction& reduction = reduction_in(kernel_);
    for (const ScalarType s : scalars) {
      reduction.left.push_back(ir::parameter(ir::Type::element(s)));
      reduction.right.push_back(ir::parameter(ir::Type::element(s)));
    }
  }
  /// Of a scan or recurrence, whose domain and rows are known: an output of the components from `first` on that is written
  /// by elements: as many of each row as the row has, or `of_row`.
  void output_elements(kernel::Form form, std::vector<ScalarType> scalars, std::size_t first,
                       std::int64_t elements, int offsets = -1, OffsetType offset_type = OffsetType::int64,
                       std::optional<kernel::KernelExtent> of_row = std::nullopt) {
    auto extents = kernel_.domain.extents;
    const auto* scan = std::get_if<kernel::Scan>(&kernel_.form);
    const bool across = scan && scan->axis;
    extents.insert(across ? extents.begin() + *scan->axis : extents.end(),
                   of_row.value_or(row_in(kernel_).length));
    auto& output = add_output(form, scalars, std::move(extents), elements, offsets, offset_type);
    output.first = first;
    output.write = kernel::KernelOutput::Write::element;
  }
  /// The output becomes several of so many components each; so does the reduction, where there is one.
  void split_output(const std::vector<std::size_t>& sizes);
  ir::Ref scalar_parameter(kernel::KernelExtent value) {
    kernel_.scalars.push_back({ir::parameter(ir::Type::element(ScalarType::int64)), value});
    return kernel_.scalars.back().parameter;
  }

  /// Whether `run` launches the code that fetches gathers ahead, too, which is compiled for it.
  bool fetches_ahead = true;
  /// That launches are cut for.
  int threads = 1;

  /// Enters every read that is not known to be in bounds and every integer division into the checks.
  void find_checks();

  kernel::Kernel& kernel() { return kernel_; }
  std::int64_t items() const { return items_; }
  std::int64_t elements() const { return elements_; }
  void* data(int slot) { return buffers_[static_cast<std::size_t>(slot)]; }
  /// Bytes of each slot's buffer; of a view 0.
  const std::vector<std::size_t>& sizes() const { return sizes_; }
  cpu::Bindings bindings(bool from_memory = false) const {
    return {.buffers = buffers_,
            .scalars = scalars_,
            .items = items_,
            .from_memory = from_memory,
            .no_caches = from_memory && fetches_ahead,
            .threads = threads};
  }
  const std::vector<void*>& buffers() const { return buffers_; }
  const std::vector<std::int64_t>& scalars() const { return scalars_; }

  /// Types and buffer slots of all components of all outputs.
  std::vector<std::pair<ScalarType, int>> output_components() const {
    std::vector<std::pair<ScalarType, int>> out;
    for (const auto& o : kernel_.outputs)
      for (std::size_t c = 0; c < o.array.type.scalars.size(); ++c)
        out.emplace_back(o.array.type.scalars[c], o.array.first_buffer + static_cast<int>(c));
    return out;
  }
  /// The memory of one of them.
  std::span<std::byte> output_component(std::size_t c);

  /// Buffers to launch with, of outputs that hold nothing yet. An array that the kernel overwrites is put into the memory
  /// of outputs, a component into that of one of its size.
  std::vector<void*> fresh_buffers();

  /// The bytes of all output components after a launch into fresh memory. It runs once as if its input were
  /// in a cache and once as if it came from memory, so that folds prefetch it: throws std::logic_error where
  /// that changes a bit or the error.
  std::vector<std::byte> run(const cpu::CompileOptions& options = {}, std::int64_t piece = 0,
                             const cpu::ParallelFor& parallel_for = cpu::one_by_one);

 private:
  kernel::KernelOutput& add_output(kernel::Form form, const std::vector<ScalarType>& scalars,
                                   std::vector<kernel::KernelExtent> extents, std::int64_t elements,
                                   int offsets, OffsetType offset_type) {
    kernel::KernelOutput& output = kernel_.outputs.emplace_back();
    auto& o = output.array;
    o.type = {static_cast<int>(extents.size()), scalars};
    o.form = form;
    o.extents = std::move(extents);
    o.offsets = offsets;
    o.offset_type = offset_type;
    o.first_buffer = static_cast<int>(buffers_.size());
    for (const ScalarType s : scalars) {
      const std::vector<std::byte> zero(static_cast<std::size_t>(elements) * size_of(s));
      bytes(zero.data(), zero.size());
    }
    return output;
  }

  struct Outcome {
    std::string error;  ///< of a RunError; empty: none
    std::vector<std::byte> output;
    bool operator==(const Outcome&) const = default;
  };
  Outcome launch(const cpu::CompiledKernel& compiled, const cpu::Bindings& bindings,
                 const cpu::ParallelFor& parallel_for, std::int64_t piece);

  kernel::Kernel kernel_;
  std::int64_t items_;
  std::int64_t elements_ = 0;
  std::vector<GuardedMemory> memory_;
  std::vector<void*> buffers_;
  std::vector<std::size_t> sizes_;
  std::vector<std::int64_t> scalars_;
};

inline void KernelBuilder::find_checks() {
  kernel_.checks.clear();
  std::vector<const ir::Node*> found, work;
  const auto visit = [&](const ir::Ref& node) { work.push_back(node.get()); };
  for (const auto& root : kernel_.body) visit(root);
  for (const auto* roots : kernel::other_bodies(kernel_))
    for (const auto& root : *roots) visit(root);
  while (!work.empty()) {
    const ir::Node* node = work.back();
    work.pop_back();
    if (std::find(found.begin(), found.end(), node) != found.end()) continue;
    found.push_back(node);
    for (const auto& child : node->children()) visit(child);
  }
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->id() < b->id(); });
  for (const ir::Node* node : found) {
    kernel::Check check;
    check.node = node;
    check.what = node->label();
    check.place = node->place();
    const bool read = node->op() == ir::Op::index || node->op() == ir::Op::linear_index;
    if (read && !node->payload().in_bounds) {
      check.kind = kernel::Check::Kind::index;
      kernel_.checks.push_back(check);
    }
    if (node->op() == ir::Op::primitive && ir::can_fail(*node)) {
      check.kind = kernel::Check::Kind::division;
      kernel_.checks.push_back(check);
    }
  }
  const auto* reduce = std::get_if<kernel::Reduce>(&kernel_.form);
  if (reduce && !kernel::all_seeded(*reduce)) {
    kernel::Check check;
    check.kind = kernel::Check::Kind::empty_fold;
    check.what = "fold";
    kernel_.checks.push_back(check);
  }
}

inline void KernelBuilder::split_output(const std::vector<std::size_t>& sizes) {
  const kernel::KernelOutput all = kernel_.outputs.at(0);
  kernel_.outputs.clear();
  const bool reduces = std::holds_alternative<kernel::Reduce>(kernel_.form);
  const kernel::Reduction whole = reduces ? reduction_in(kernel_) : kernel::Reduction{};
  if (reduces) reduce_in(kernel_).reductions.clear();
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    const auto part = [&](const auto& values) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size()));
      const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, values.size()));
      return std::decay_t<decltype(values)>(begin, end);
    };
    kernel::KernelOutput output = all;
    output.first = first;
    output.array.first_buffer += static_cast<int>(first);
    output.array.type.scalars = part(all.array.type.scalars);
    kernel_.outputs.push_back(std::move(output));
    if (reduces)
      reduce_in(kernel_).reductions.push_back(
          {part(whole.left), part(whole.right), part(whole.combine), part(whole.seed)});
    first += size;
  }
}

inline std::span<std::byte> KernelBuilder::output_component(std::size_t c) {
  const int slot = output_components()[c].second;
  return {static_cast<std::byte*>(data(slot)), sizes_[static_cast<std::size_t>(slot)]};
}

inline std::vector<void*> KernelBuilder::fresh_buffers() {
  std::vector<void*> buffers = buffers_;
  std::vector<std::size_t> free;
  for (std::size_t c = 0; c < output_components().size(); ++c) {
    std::ranges::fill(output_component(c), std::byte{0xcd});
    free.push_back(c);
  }
  for (const kernel::KernelArray& array : kernel_.arrays)
    for (std::size_t c = 0; array.overwritten && c < array.type.scalars.size(); ++c) {
      const auto slot = static_cast<std::size_t>(array.first_buffer) + c;
      const auto fits = std::find_if(free.begin(), free.end(), [&](std::size_t output) {
        return size_of(output_components()[output].first) == size_of(array.type.scalars[c]);
      });
      if (fits == free.end()) continue;
      const std::span<std::byte> memory = output_component(*fits);
      if (!memory.empty()) std::memcpy(memory.data(), buffers_[slot], memory.size());
      buffers[slot] = memory.data();
      free.erase(fits);
    }
  return buffers;
}

inline KernelBuilder::Outcome KernelBuilder::launch(const cpu::CompiledKernel& compiled,
                                                    const cpu::Bindings& bindings,
                                                    const cpu::ParallelFor& parallel_for,
                                                    std::int64_t piece) {
  const std::size_t components = output_components().size();
  const std::vector<void*> buffers = fresh_buffers();
  Outcome out;
  try {
    cpu::Bindings bound = bindings;
    bound.buffers = buffers;
    cpu::launch(kernel_, compiled, bound, parallel_for, cpu::from_heap, piece);
  } catch (const RunError& e) {
    out.error = e.what();  // and what was written means nothing
    return out;
  }
  for (std::size_t c = 0; c < components; ++c) {
    const auto bytes = output_component(c);
    out.output.insert(out.output.end(), bytes.begin(), bytes.end());
  }
  return out;
}

inline std::vector<std::byte> KernelBuilder::run(const cpu::CompileOptions& options, std::int64_t piece,
                                                 const cpu::ParallelFor& parallel_for) {
  const auto compiled = cpu::compile(kernel_, options);
  Outcome plain = launch(*compiled, bindings(), parallel_for, piece);
  const Outcome prefetched = launch(*compiled, bindings(/*from_memory=*/true), parallel_for, piece);
  if (prefetched != plain) throw std::logic_error("prefetching changes what the kernel computes");
  if (!plain.error.empty()) throw RunError(plain.error);
  return std::move(plain.output);
}

/// y[item] = 0 + sum over the row of values[k] * x[columns[k]]: the kernel that matters most.
template <class T, class I>
KernelBuilder spmv(const std::vector<I>& offsets, const std::vector<I>& columns, const std::vector<T>& values,
                   const std::vector<T>& x, bool copy = true) {
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  constexpr ScalarType real = anabranch::detail::scalar_type<T>;
  constexpr ScalarType integer = anabranch::detail::scalar_type<I>;
  constexpr OffsetType offset_type = sizeof(I) == 4 ? OffsetType::int32 : OffsetType::int64;
  KernelBuilder k(kernel::Reduce{}, true, rows);
  const auto put = [&](const auto& v) { return copy ? k.buffer(v) : k.view(v.data()); };
  const int off = put(offsets);
  const int col = put(columns);
  const int val = put(values);
  const int xs = put(x);
  const auto length = KernelBuilder::ragged_extent(off, offset_type);
  const ir::Ref c = k.array(kernel::Form::segmented, {integer}, {length}, col, off, offset_type);
  const ir::Ref v = k.array(kernel::Form::segmented, {real}, {length}, val, off, offset_type);
  const ir::Ref xa =
      k.array(kernel::Form::avoided, {real}, {k.uniform_extent(static_cast<std::int64_t>(x.size()))}, xs);
  k.output(kernel::Form::regular, {real}, {}, rows);
  auto& kernel = k.kernel();
  const ir::Ref column = ir::cast(ScalarType::int64, ir::index(c, row_in(kernel).index, {}, true));
  kernel.body = {ir::primitive(ir::Primitive::multiply,
                               {ir::index(v, row_in(kernel).index, {}, true),
                                ir::index(xa, column, Place(std::source_location::current()))})};
  row_in(kernel).length = length;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(ir::Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
  reduction_in(kernel).seed = {ir::literal(T(0))};
  row_in(kernel).work_offsets = off;
  row_in(kernel).work_offset_type = offset_type;
  kernel.operations = 2;
  k.find_checks();
  return k;
}

}  // namespace anabranch::test
