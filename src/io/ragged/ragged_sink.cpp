#include <algorithm>
#include <array>
#include <vector>

#include <anabranch/io/ragged.h>

#include "io/base/sink_shapes.h"
#include "io/npy/npy_output.h"

/// Vectors into a ragged pair of .npy files.
namespace anabranch::io::detail {

namespace {

class RaggedPass final : public SinkPass {
 public:
  RaggedPass(const std::string& prefix, const NpyElement& element, const SinkStart& start)
      : info_(start.arrays[0]),
        offsets_(prefix + ".offsets.npy", {ScalarType::int64, 1}),
        values_(prefix + ".values.npy", element) {
    const std::int64_t first = 0;
    offsets_.append(&first, 1);
  }

  void write(const SinkChunk& chunk) override {
    const ArrayChunk& array = chunk.arrays[0];
    std::array<std::int64_t, 4096> ends;
    for (std::int64_t i = 0; i < chunk.items;) {
      const std::int64_t n = std::min<std::int64_t>(std::ssize(ends), chunk.items - i);
      for (std::int64_t k = 0; k < n; ++k)
        ends[static_cast<std::size_t>(k)] = values_.count() + begin_of(info_, array, ++i);
      offsets_.append(ends.data(), n);
    }
    PartBytes parts;
    for (const auto& component : array.data)
      parts.push_back(static_cast<unsigned char*>(const_cast<void*>(component.get())));
    values_.append(parts, elements_of(info_, array, chunk.items));
  }

  void finish() override {
    const std::int64_t offsets[] = {offsets_.count()}, values[] = {values_.count()};
    values_.complete(values);
    offsets_.complete(offsets);
  }
  void commit() override {
    values_.commit_for_now();
    offsets_.commit_for_now();
  }
  void undo() noexcept override {
    offsets_.undo();
    values_.undo();
  }
  std::int64_t resident_bytes() const override { return 2 * buffered_bytes; }

 private:
  ArrayInfo info_;
  NpyOutput offsets_, values_;
};

class RaggedSink final : public SinkBase {
 public:
  RaggedSink(std::string prefix, const NpyElement& element) : element_(element) {
    info_.name = std::move(prefix);
    info_.arrays = {{std::vector<ScalarType>(static_cast<std::size_t>(element.parts), element.type), 1}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<RaggedPass>(info_.name, element_, start);
  }

 private:
  NpyElement element_;
  SinkInfo info_;
};

}  // namespace

std::shared_ptr<SinkBase> ragged_sink(const std::string& prefix, const NpyElement& element) {
  return std::make_shared<RaggedSink>(prefix, element);
}

}  // namespace anabranch::io::detail
