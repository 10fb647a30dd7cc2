#include <algorithm>
#include <cstring>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/buffer_pool.h"
#include "io/base/little_endian.h"
#include "io/base/stored_elements.h"
#include "io/descriptor/framing.h"

/// Records of raw elements that arrive.
namespace anabranch::io::detail {

namespace {

/// Copies elements as they arrive into a buffer for each part.
class ElementCopy {
 public:
  ElementCopy(std::string name, const NpyElement& element) : name_(std::move(name)), element_(element) {}

  std::int64_t element_bytes() const {
    return static_cast<std::int64_t>(size_of(element_.type)) * element_.parts;
  }
  std::vector<ScalarType> scalars() const {
    return std::vector<ScalarType>(static_cast<std::size_t>(element_.parts), element_.type);
  }
  void use_memory(const ChunkMemory& memory) { pool_->use_memory(memory); }
  std::vector<BufferPool::Buffer> buffers(std::int64_t count) const {
    std::vector<BufferPool::Buffer> out;
    for (int part = 0; part < element_.parts; ++part)
      out.push_back(pool_->take(count * static_cast<std::int64_t>(size_of(element_.type))));
    return out;
  }
  /// `at`: the number of the first one in the buffers; `record`: for messages.
  void copy(const unsigned char* from, std::int64_t count, const PartBytes& to, std::int64_t at,
            std::int64_t record) const {
    PartBytes parts;
    for (unsigned char* part : to)
      parts.push_back(part + at * static_cast<std::int64_t>(size_of(element_.type)));
    if (element_.type == ScalarType::boolean)
      check_bools(from, count, 0, fmt::format("{}: record {}", name_, record));
    if (element_.parts > 1)
      split_parts(from, count, element_.type, parts);
    else if (count > 0)
      std::memcpy(parts[0], from, static_cast<std::size_t>(count * element_bytes()));
  }
  static void give(std::vector<BufferPool::Buffer> buffers, SourceChunk& chunk) {
    for (BufferPool::Buffer& buffer : buffers) {
      chunk.bytes += buffer.capacity;
      chunk.arrays[0].data.push_back(std::move(buffer.memory));
    }
  }

 private:
  std::string name_;
  NpyElement element_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

class RecordFraming final : public Framing {
 public:
  RecordFraming(const std::string& name, const std::vector<std::int64_t>& shape, const NpyElement& element,
                std::int64_t longest)
      : name_(name), shape_(shape), copy_(name, element) {
    record_bytes_ = copy_.element_bytes();
    bool overflow = false;
    for (const std::int64_t extent : shape) {
      if (extent < 0) throw RunError(fmt::format("records_of: {}: the extent {} is negative", name, extent));
      overflow |= __builtin_mul_overflow(record_bytes_, extent, &record_bytes_);
      overflow |= __builtin_mul_overflow(elements_, extent, &elements_);
    }
    if (overflow || record_bytes_ == 0 || record_bytes_ > longest)
      throw RunError(fmt::format("records_of: {}: a record of the shape [{}] has {} bytes; 1 to {} are read",
                                 name, fmt::join(shape, ", "),
                                 overflow ? "too many" : std::to_string(record_bytes_), longest));
  }

  SourceInfo info() const override {
    SourceInfo info;
    info.name = name_;
    ArrayInfo array;
    array.scalars = copy_.scalars();
    array.extents.assign(shape_.begin(), shape_.end());
    info.arrays = {array};
    return info;
  }

  void use_memory(const ChunkMemory& memory) override { copy_.use_memory(memory); }

  void look(const unsigned char*, std::int64_t size, const Limit& limit) override {
    const std::int64_t most = std::max<std::int64_t>(
        1, std::min({limit.items, without_slack(limit.bytes) / record_bytes_, limit.work / elements_}));
    items_ = std::min(size / record_bytes_, most);
    bytes_ = items_ * record_bytes_;
    full_ = items_ == most;
  }
  std::int64_t memory() const override { return bytes_; }
  std::int64_t memory_of_next(std::int64_t) const override { return 2 * record_bytes_; }

  void end(ArrivedBytes& arrived) override {
    if (const std::int64_t left = arrived.size() % record_bytes_; left != 0)
      throw DataError(fmt::format("{}: ends in the middle of record {}: {} of {} bytes are there", name_,
                                  number_ + arrived.size() / record_bytes_, left, record_bytes_));
  }

 private:
  void fill(const unsigned char* bytes, SourceChunk& chunk) override {
    auto buffers = copy_.buffers(items_ * elements_);
    for (std::int64_t i = 0; i < items_; ++i)
      copy_.copy(bytes + i * record_bytes_, elements_, places_of(buffers), i * elements_, number_ + i);
    chunk.work = items_ * elements_;
    ElementCopy::give(std::move(buffers), chunk);
  }

  std::string name_;
  std::vector<std::int64_t> shape_;
  ElementCopy copy_;
  std::int64_t elements_ = 1;
  std::int64_t record_bytes_ = 0;
};

class RaggedFraming final : public Framing {
 public:
  RaggedFraming(const std::string& name, int length_bytes, const NpyElement& element, std::int64_t longest)
      : name_(name), length_bytes_(length_bytes), longest_(longest), copy_(name, element) {}

  SourceInfo info() const override {
    SourceInfo info;
    info.name = name_;
    ArrayInfo array;
    array.scalars = copy_.scalars();
    array.extents = {std::nullopt};
    info.arrays = {array};
    return info;
  }

  void use_memory(const ChunkMemory& memory) override {
    copy_.use_memory(memory);
    offsets_->use_memory(memory);
  }

  void restart() override {
    Framing::restart();
    elements_ = next_memory_ = 0;
  }

  void look(const unsigned char* bytes, std::int64_t size, const Limit& limit) override {
    while (!full_ && size - bytes_ >= length_bytes_) {
      const std::int64_t elements = length_at(bytes + bytes_, number_ + items_);
      const std::int64_t record = length_bytes_ + elements * copy_.element_bytes();
      const std::int64_t memory = (elements_ + elements) * copy_.element_bytes() + (items_ + 2) * 8;
      if (items_ > 0 && (memory > without_slack(limit.bytes) || elements_ + elements > limit.work)) {
        full_ = true;
        return;
      }
      next_memory_ = 2 * record + 16;
      if (size - bytes_ < record) return;
      next_memory_ = 0;
      ++items_;
      bytes_ += record;
      elements_ += elements;
      full_ = items_ >= limit.items;
    }
  }
  std::int64_t memory() const override { return elements_ * copy_.element_bytes() + (items_ + 1) * 8; }
  std::int64_t memory_of_next(std::int64_t size) const override { return std::max(size, next_memory_); }

  void end(ArrivedBytes& arrived) override {
    const unsigned char* at = arrived.data();
    std::int64_t left = arrived.size(), number = number_;
    for (; left > 0; ++number) {
      std::int64_t record = length_bytes_;
      if (left >= record) record += length_at(at, number) * copy_.element_bytes();
      if (left < record)
        throw DataError(fmt::format("{}: ends in the middle of record {}: {} of {} bytes{} are there", name_,
                                    number, left, record, left < length_bytes_ ? " of its length" : ""));
      at += record;
      left -= record;
    }
  }

 private:
  std::int64_t length_at(const unsigned char* at, std::int64_t number) const {
    const std::uint64_t length =
        length_bytes_ == 4 ? std::uint64_t{load<std::uint32_t>(at)} : load<std::uint64_t>(at);
    const auto most = static_cast<std::uint64_t>(longest_ / copy_.element_bytes());
    if (length > most)
      throw DataError(fmt::format(
          "{}: record {} says that it has {} elements: more than the {} bytes of DescriptorOptions::longest",
          name_, number, length, longest_));
    return static_cast<std::int64_t>(length);
  }

  void fill(const unsigned char* bytes, SourceChunk& chunk) override {
    auto buffers = copy_.buffers(elements_);
    auto offsets = offsets_->take((items_ + 1) * 8);
    auto* const begins = static_cast<std::int64_t*>(offsets.memory.get());
    begins[0] = 0;
    for (std::int64_t i = 0; i < items_; ++i) {
      const std::int64_t elements = length_at(bytes, number_ + i);
      copy_.copy(bytes + length_bytes_, elements, places_of(buffers), begins[i], number_ + i);
      begins[i + 1] = begins[i] + elements;
      bytes += length_bytes_ + elements * copy_.element_bytes();
    }
    chunk.work = elements_;
    chunk.bytes = offsets.capacity;
    chunk.arrays[0].offsets = std::move(offsets.memory);
    ElementCopy::give(std::move(buffers), chunk);
  }

  std::string name_;
  std::int64_t length_bytes_, longest_;
  ElementCopy copy_;
  std::int64_t elements_ = 0;     ///< of the items that have been counted
  std::int64_t next_memory_ = 0;  ///< of the one behind them, where its length is known
  std::shared_ptr<BufferPool> offsets_ = std::make_shared<BufferPool>();
};

}  // namespace

std::unique_ptr<Framing> frame_records(const std::string& name, const std::vector<std::int64_t>& shape,
                                       const NpyElement& element, std::int64_t longest) {
  return std::make_unique<RecordFraming>(name, shape, element, longest);
}
std::unique_ptr<Framing> frame_ragged(const std::string& name, int length_bytes, const NpyElement& element,
                                      std::int64_t longest) {
  return std::make_unique<RaggedFraming>(name, length_bytes, element, longest);
}

}  // namespace anabranch::io::detail
