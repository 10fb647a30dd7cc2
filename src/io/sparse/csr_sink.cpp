#include <algorithm>
#include <array>

#include <anabranch/io/matrix.h>

#include "io/base/sink_shapes.h"

/// Rows of a sparse matrix into a file.
namespace anabranch::io::detail {

namespace {

class CsrPass final : public SinkPass {
 public:
  CsrPass(const std::string& path, std::int64_t cols, ScalarType index, ScalarType value,
          const SinkStart& start)
      : info_(start.arrays[0]), index_(index), value_(value), out_(path, cols, index, value) {}

  void write(const SinkChunk& chunk) override {
    const ArrayChunk& array = chunk.arrays[0];
    std::array<std::int64_t, 4096> lengths;
    for (std::int64_t i = 0; i < chunk.items;) {
      const std::int64_t n = std::min<std::int64_t>(std::ssize(lengths), chunk.items - i);
      const std::int64_t begin = begin_of(info_, array, i), entries = begin_of(info_, array, i + n) - begin;
      for (std::int64_t k = 0; k < n; ++k, ++i)
        lengths[static_cast<std::size_t>(k)] = begin_of(info_, array, i + 1) - begin_of(info_, array, i);
      const auto part = [&](ScalarType type, std::size_t component) {
        const auto* bytes = static_cast<const unsigned char*>(array.data[component].get());
        return ConstArray{type, bytes + static_cast<std::size_t>(begin) * size_of(type), entries};
      };
      out_.append({lengths.data(), static_cast<std::size_t>(n)}, part(index_, 0), part(value_, 1));
    }
  }
  void finish() override { out_.finish(); }
  void commit() override { out_.commit_for_now(); }
  void undo() noexcept override { out_.undo(); }
  std::int64_t resident_bytes() const override { return 3 * buffered_bytes; }

 private:
  ArrayInfo info_;
  ScalarType index_, value_;
  CsrWriter out_;
};

class CsrFileSink final : public SinkBase {
 public:
  CsrFileSink(std::string path, std::int64_t cols, ScalarType index, ScalarType value)
      : cols_(cols), index_(index), value_(value) {
    info_.name = std::move(path);
    info_.arrays = {{{index, value}, 1}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<CsrPass>(info_.name, cols_, index_, value_, start);
  }

 private:
  std::int64_t cols_;
  ScalarType index_, value_;
  SinkInfo info_;
};

}  // namespace

std::shared_ptr<SinkBase> csr_sink(const std::string& path, std::int64_t cols, ScalarType index,
                                   ScalarType value) {
  return std::make_shared<CsrFileSink>(path, cols, index, value);
}

}  // namespace anabranch::io::detail
