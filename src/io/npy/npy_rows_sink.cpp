#include <optional>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/io/npy.h>

#include <fmt/format.h>

#include "io/base/sink_shapes.h"
#include "io/npy/npy_output.h"

/// Items of one shape, stacked in an .npy file.
namespace anabranch::io::detail {

namespace {

class NpyRowsPass final : public SinkPass {
 public:
  NpyRowsPass(const std::string& path, const NpyElement& element, const SinkStart& start)
      : path_(path), info_(start.arrays[0]), out_(path, element) {}

  void write(const SinkChunk& chunk) override {
    const ArrayChunk& array = chunk.arrays[0];
    if (!shape_) {
      shape_ = shape_of(info_, array, 0);
      check_size(*shape_);
    }
    for (std::int64_t i = 0; !info_.regular() && i < chunk.items; ++i)
      if (const Shape shape = shape_of(info_, array, i); shape != *shape_)
        throw RunError(fmt::format(
            "write_npy_rows: {}: item {} has the shape [{}], those before it [{}]; rows are stacked", path_,
            chunk.first + i, fmt::join(shape, ", "), fmt::join(*shape_, ", ")));
    PartBytes parts;
    for (const auto& component : array.data)
      parts.push_back(static_cast<unsigned char*>(const_cast<void*>(component.get())));
    out_.append(parts, elements_of(info_, array, chunk.items));
    items_ += chunk.items;
  }

  /// As `tabulate` has it, all extents of nothing are 0.
  void finish() override {
    Shape shape = shape_.value_or(Shape(info_.extents.size(), 0));
    shape.insert(shape.begin(), items_);
    check_size(shape);
    out_.complete(shape);
  }
  void commit() override { out_.commit_for_now(); }
  void undo() noexcept override { out_.undo(); }
  std::int64_t resident_bytes() const override { return buffered_bytes; }

 private:
  /// Of an array without elements no product of extents overflows, too, as NumPy has it.
  void check_size(const Shape& shape) const {
    std::int64_t bytes = 16;
    bool overflow = false;
    for (const std::int64_t extent : shape)
      overflow |= __builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes);
    if (overflow)
      throw RunError(fmt::format("write_npy_rows: {}: an array of the shape [{}] is too large", path_,
                                 fmt::join(shape, ", ")));
  }

  std::string path_;
  ArrayInfo info_;
  NpyOutput out_;
  std::optional<Shape> shape_;  ///< of all items
  std::int64_t items_ = 0;
};

class NpyRowsSink final : public SinkBase {
 public:
  NpyRowsSink(std::string path, const NpyElement& element, int rank) : element_(element) {
    info_.name = std::move(path);
    info_.arrays = {{std::vector<ScalarType>(static_cast<std::size_t>(element.parts), element.type), rank}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<NpyRowsPass>(info_.name, element_, start);
  }

 private:
  NpyElement element_;
  SinkInfo info_;
};

}  // namespace

std::shared_ptr<SinkBase> npy_rows_sink(const std::string& path, int rank, const NpyElement& element) {
  return std::make_shared<NpyRowsSink>(path, element, rank);
}

}  // namespace anabranch::io::detail
