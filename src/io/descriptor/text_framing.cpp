#include <algorithm>
#include <cstring>
#include <utility>

#include <anabranch/error.h>

#include "io/base/buffer_pool.h"
#include "io/descriptor/framing.h"
#include "io/text/text_source.h"

/// Lines and words that arrive.
namespace anabranch::io::detail {

namespace {

constexpr std::int64_t offset_bytes = 4;
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;  // offsets have 32 bits

class TextFraming final : public Framing {
 public:
  TextFraming(const std::string& name, TextItems kind, std::int64_t longest)
      : name_(name), kind_(kind), longest_(std::clamp<std::int64_t>(longest, 0, most_bytes)) {}

  SourceInfo info() const override { return text_info(name_); }
  void use_memory(const ChunkMemory& memory) override {
    blocks_->use_memory(memory);
    offsets_->use_memory(memory);
  }

  void restart() override {
    Framing::restart();
    looked_ = 0;
  }

  void look(const unsigned char* bytes, std::int64_t size, const Limit& limit) override {
    size_ = size;
    const std::int64_t most = std::min({limit.bytes, limit.work, most_bytes});
    const std::int64_t within = std::min(size, std::max(most, bytes_ + 1));
    count(bytes, within, std::max<std::int64_t>(limit.items, 1) - items_);
    while (items_ > 1 && memory() > limit.bytes) {
      const TextCut fewer = cut_text(kind_, bytes, bytes_, items_ - std::max<std::int64_t>(items_ / 8, 1));
      items_ = fewer.items;
      bytes_ = fewer.bytes;
      full_ = true;
    }
    full_ = full_ || items_ >= limit.items || (items_ > 0 && within < size);
    if (items_ == 0 && within < size) look_for_one(bytes, size);
    if (items_ == 0 && size - bytes_ > longest_ + 1)
      throw DataError(too_long(name_, kind_, number_, line_ + count_line_ends(bytes, bytes_), longest_));
  }

  void pass(const unsigned char* bytes) override {
    line_ += count_line_ends(bytes, bytes_);
    Framing::pass(bytes);
  }

  std::int64_t memory() const override { return bytes_ + (items_ + 1) * offset_bytes; }
  std::int64_t memory_of_next(std::int64_t size) const override { return 2 * size; }

  void end(ArrivedBytes& arrived) override {
    const std::int64_t size = arrived.size();
    last_is_open_ = size > bytes_ && arrived.data()[size - 1] != '\n';
    if (last_is_open_) arrived.add('\n');
  }

 private:
  /// The first one may be longer than the limit says.
  void look_for_one(const unsigned char* bytes, std::int64_t size) {
    count(bytes, size, 1);
    full_ = items_ > 0;
  }

  /// At most so many more items, in the first `size` bytes. The last byte that has been looked at tells whether it is in a word.
  void count(const unsigned char* bytes, std::int64_t size, std::int64_t most) {
    const std::int64_t from = std::max(bytes_, looked_ - 1);
    if (from >= size) return;
    const TextCut more = cut_text(kind_, bytes + from, size - from, most);
    items_ += more.items;
    if (more.bytes > 0) bytes_ = from + more.bytes;
    looked_ = more.items < most ? size : bytes_;
  }

  void fill(const unsigned char* bytes, SourceChunk& chunk) override {
    auto block = blocks_->take(bytes_);
    auto* const own = static_cast<unsigned char*>(block.memory.get());
    std::memcpy(own, bytes, static_cast<std::size_t>(bytes_));
    auto offsets = offsets_->take((items_ + 1) * offset_bytes);
    auto* const begins = static_cast<std::int32_t*>(offsets.memory.get());
    const bool last_is_open = last_is_open_ && bytes_ == size_;  // what arrived last may be for a later chunk
    if (pack_text(kind_, own, bytes_, last_is_open, begins) > longest_) {
      std::memcpy(own, bytes, static_cast<std::size_t>(bytes_));
      refuse_long_item(name_, kind_, own, bytes_, last_is_open, number_, line_, longest_);
    }
    line_ += kind_ == TextItems::lines ? items_ : count_line_ends(bytes, bytes_);
    chunk.work = begins[items_];
    chunk.bytes = block.capacity + offsets.capacity;
    chunk.arrays[0].data.push_back(std::move(block.memory));
    chunk.arrays[0].offsets = std::move(offsets.memory);
  }

  std::string name_;
  TextItems kind_;
  std::int64_t longest_;
  std::int64_t size_ = 0;      ///< of what has arrived
  std::int64_t looked_ = 0;    ///< bytes in which there are no more items than those counted
  std::int64_t line_ = 1;      ///< in which the first byte is that has not been handed out
  bool last_is_open_ = false;  ///< the last byte has been put there
  std::shared_ptr<BufferPool> blocks_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> offsets_ = std::make_shared<BufferPool>();
};

}  // namespace

std::unique_ptr<Framing> frame_text(const std::string& name, TextItems kind, std::int64_t longest) {
  return std::make_unique<TextFraming>(name, kind, longest);
}

}  // namespace anabranch::io::detail
