#include "io/arrow/arrow_export.h"

#include <cstring>
#include <utility>

#include <anabranch/array.h>

#include <fmt/format.h>

#include "io/arrow/arrow_schema.h"
#include "io/base/sink_shapes.h"

namespace anabranch::io::detail {

namespace {

/// What a schema or an array of ours points to. Children are released with it, unless somebody has moved them out.
template <class T>
struct Owned {
  std::vector<T> children;
  std::vector<T*> pointers;
  std::vector<const void*> buffers;
  std::vector<std::shared_ptr<const void>> memory;
  std::string format, name;

  ~Owned() {
    for (T& child : children)
      if (child.release) child.release(&child);
  }
  static void release(T* released) {
    delete static_cast<Owned*>(released->private_data);
    released->release = nullptr;
  }
  /// Now that no child is added any more.
  void attach(T& to) {
    for (T& child : children) pointers.push_back(&child);
    to.n_children = std::ssize(children);
    to.children = pointers.data();
    to.private_data = this;
    to.release = &release;
  }
};

using OwnedSchema = Owned<ArrowSchema>;
using OwnedArray = Owned<ArrowArray>;

/// Hands `owned` over to `out`.
void put(std::unique_ptr<OwnedSchema> owned, ArrowSchema& out) {
  out = {};
  out.format = owned->format.c_str();
  out.name = owned->name.c_str();
  owned->attach(out);
  (void)owned.release();
}
void put(std::unique_ptr<OwnedArray> owned, std::int64_t length, ArrowArray& out) {
  out = {};
  out.length = length;
  out.n_buffers = std::ssize(owned->buffers);
  out.buffers = owned->buffers.data();
  owned->attach(out);
  (void)owned.release();
}

std::unique_ptr<OwnedSchema> schema_of(std::string format, std::string name) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = std::move(format);
  owned->name = std::move(name);
  return owned;
}

void element_schema(const std::vector<ScalarType>& scalars, std::string name, ArrowSchema& out) {
  if (scalars.size() == 1) return put(schema_of(arrow_format(scalars[0]), std::move(name)), out);
  auto owned = schema_of("+s", std::move(name));
  for (std::size_t c = 0; c < scalars.size(); ++c)
    element_schema({scalars[c]}, std::to_string(c), owned->children.emplace_back());
  put(std::move(owned), out);
}

void array_schema(const SinkArray& array, int dimension, std::string name, ArrowSchema& out) {
  if (dimension == array.rank) return element_schema(array.scalars, std::move(name), out);
  auto owned = schema_of("+L", std::move(name));
  array_schema(array, dimension + 1, "item", owned->children.emplace_back());
  put(std::move(owned), out);
}

// ---- Arrays

/// The elements of one array of a chunk.
class ArrayExport {
 public:
  ArrayExport(const ArrayInfo& info, const ArrayChunk& array, std::int64_t items, bool keeps)
      : info_(info), array_(array), items_(items), keeps_(keeps), elements_(elements_of(info, array, items)) {
    if (info.extents.size() > 1)
      for (std::int64_t i = 0; i < items; ++i) shapes_.push_back(shape_of(info, array, i));
  }

  void lists(std::size_t dimension, ArrowArray& out) const {
    if (dimension == info_.extents.size()) return elements(out);
    auto owned = std::make_unique<OwnedArray>();
    const std::int64_t length = offsets_of(dimension, *owned);
    lists(dimension + 1, owned->children.emplace_back());
    put(std::move(owned), length, out);
  }

 private:
  /// Of the lists of a dimension: each has so many as that extent of its item. How many lists there are.
  std::int64_t offsets_of(std::size_t dimension, OwnedArray& owned) const {
    if (info_.extents.size() == 1 && !info_.regular()) {
      owned.buffers = {nullptr, array_.offsets.get()};
      owned.memory = {array_.offsets};
      return items_;
    }
    std::vector<std::int64_t> offsets{0};
    if (info_.extents.size() == 1)
      for (std::int64_t i = 0; i < items_; ++i) offsets.push_back(offsets.back() + *info_.extents[0]);
    for (const Shape& shape : shapes_) {
      std::int64_t lists = 1;
      for (std::size_t d = 0; d < dimension; ++d) lists *= shape[d];
      for (std::int64_t k = 0; k < lists; ++k) offsets.push_back(offsets.back() + shape[dimension]);
    }
    const std::int64_t length = std::ssize(offsets) - 1;
    auto memory = std::make_shared<std::vector<std::int64_t>>(std::move(offsets));
    owned.buffers = {nullptr, memory->data()};
    owned.memory = {std::shared_ptr<const void>(memory, memory->data())};
    return length;
  }

  void elements(ArrowArray& out) const {
    if (info_.scalars.size() == 1) return component(0, out);
    auto owned = std::make_unique<OwnedArray>();
    owned->buffers = {nullptr};
    for (std::size_t c = 0; c < info_.scalars.size(); ++c) component(c, owned->children.emplace_back());
    put(std::move(owned), elements_, out);
  }

  void component(std::size_t c, ArrowArray& out) const {
    auto owned = std::make_unique<OwnedArray>();
    std::shared_ptr<const void> memory = array_.data[c];
    const auto bytes = static_cast<std::size_t>(elements_) * size_of(info_.scalars[c]);
    if (info_.scalars[c] == ScalarType::boolean) {
      memory = bits(static_cast<const unsigned char*>(memory.get()));
    } else if (!keeps_) {
      const auto copy = anabranch::detail::allocate_aligned(bytes);
      if (bytes > 0) std::memcpy(copy.get(), memory.get(), bytes);
      memory = copy;
    }
    owned->buffers = {nullptr, memory.get()};
    owned->memory = {std::move(memory)};
    put(std::move(owned), elements_, out);
  }

  std::shared_ptr<const void> bits(const unsigned char* bools) const {
    const auto bytes = static_cast<std::size_t>((elements_ + 7) / 8);
    auto packed = anabranch::detail::allocate_aligned(bytes);
    auto* const to = static_cast<unsigned char*>(packed.get());
    if (bytes > 0) std::memset(to, 0, bytes);
    for (std::int64_t i = 0; i < elements_; ++i)
      to[i / 8] = static_cast<unsigned char>(to[i / 8] | (bools[i] & 1) << (i % 8));
    return packed;
  }

  const ArrayInfo& info_;
  const ArrayChunk& array_;
  std::int64_t items_;
  bool keeps_;
  std::int64_t elements_;
  std::vector<Shape> shapes_;  ///< of each item, of rank 2 or more
};

}  // namespace

// Growing the list of children moves those that are there already: their addresses are taken when it is complete
// (`Owned::attach`). A schema or an array may be moved, as the specification has it.

void export_schema(const std::vector<SinkArray>& arrays, const std::vector<std::string>& names,
                   ArrowSchema& out) {
  auto owned = schema_of("+s", "");
  for (std::size_t a = 0; a < arrays.size(); ++a)
    array_schema(arrays[a], 0, names.empty() ? std::to_string(a) : names[a], owned->children.emplace_back());
  put(std::move(owned), out);
}

void export_batch(const std::vector<ArrayInfo>& infos, const SinkChunk& chunk, ArrowArray& out) {
  auto owned = std::make_unique<OwnedArray>();
  owned->buffers = {nullptr};
  for (std::size_t a = 0; a < infos.size(); ++a)
    ArrayExport(infos[a], chunk.arrays[a], chunk.items, chunk.keeps).lists(0, owned->children.emplace_back());
  put(std::move(owned), chunk.items, out);
}

}  // namespace anabranch::io::detail
