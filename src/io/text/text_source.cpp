#include "io/text/text_source.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/buffer_pool.h"

/// The lines or words of a file, chunk by chunk.
namespace anabranch::io::detail {

namespace {

constexpr std::int64_t least_block = 4 << 10;
constexpr std::int64_t most_block = std::int64_t{1} << 30;  // offsets have 32 bits
constexpr std::int64_t offset_bytes = 4;
constexpr std::int64_t bytes_beside_one =
    1 + 2 * offset_bytes;                    // of an item: what ends it, and where it lies
constexpr std::int64_t offsets_of_one = 64;  // in a buffer of their own

// A look that takes longer than this waited for the disk, which is told what follows: it comes before anybody has read it.
constexpr std::chrono::microseconds slow_look(50);
constexpr std::int64_t ahead_bytes = 8 << 20;

class TextFile final : public SourceBase {
 public:
  TextFile(std::shared_ptr<const ReadFile> file, TextItems kind, const TextOptions& options)
      : file_(std::move(file)),
        kind_(kind),
        longest_(std::clamp<std::int64_t>(options.longest, 0, most_block)),
        chunk_limit_(std::clamp<std::int64_t>(options.memory, 0, most_block)),
        info_(text_info(file_->name())) {
    info_.rewindable = true;
    info_.live = false;
    info_.splits = true;
  }

  const SourceInfo& info() const override { return info_; }
  void rewind() override {
    at_ = skipped_line_ends_ = 0;
    const std::lock_guard lock(done_mutex_);
    done_ = {};
  }

  void use_memory(const ChunkMemory& memory) override {
    blocks_->use_memory(memory);
    offsets_->use_memory(memory);
  }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    Block block;
    if (!take(limit, block)) return false;
    if (block.end == file_->size()) file_->check_unchanged();
    pack(block, chunk);
    complete(block);
    return true;
  }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    Block block;
    if (!take_unread(limit, block) && !take(limit, block)) return nullptr;
    return std::make_unique<Piece>(*this, std::move(block));
  }

 private:
  /// Bytes of the file that are divided into items when somebody asks for them.
  struct Block {
    std::int64_t begin = 0, end = 0;  ///< in the file
    BufferPool::Buffer buffer;        ///< empty where they are still to be read
    TextCut cut;
    bool last_is_open = false;
    std::int64_t line_ends = 0;  ///< in it, and between it and the block before
    unsigned char* bytes() const { return static_cast<unsigned char*>(buffer.memory.get()); }
  };

  class Piece final : public SourcePiece {
   public:
    Piece(TextFile& source, Block block)
        : source_(source),
          is_read_(block.buffer.memory != nullptr),
          items_(is_read_ ? block.cut.items : -1),
          work_(is_read_ ? block.cut.bytes : block.end - block.begin),
          bytes_(is_read_ ? block.buffer.capacity + (items_ + 1) * offset_bytes : source.likely_bytes(work_)),
          block_(std::move(block)) {}
    std::int64_t items() const override { return items_; }
    std::int64_t work() const override { return work_; }
    std::int64_t bytes() const override { return bytes_; }
    void read(SourceChunk& chunk) override {
      if (!is_read_) source_.read_all_of(block_);
      source_.pack(block_, chunk);
    }
    void complete() override {
      if (!is_read_ || block_.end == source_.file_->size()) source_.file_->check_unchanged();
      source_.complete(block_);
    }

   private:
    TextFile& source_;
    bool is_read_;  ///< when it is handed out
    std::int64_t items_, work_, bytes_;
    Block block_;
  };

  /// Bytes of text for a chunk, if items are as long as the last ones: their offsets take their part of the memory.
  std::int64_t likely_size(const Limit& limit) const {
    const std::int64_t most = most_bytes(limit), of_item = bytes_per_item_;
    return std::min(most * of_item / (of_item + offset_bytes), limit.work);
  }
  std::int64_t most_bytes(const Limit& limit) const {
    return without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}) - bytes_beside_one);
  }
  /// Of the buffers, which are somewhat larger than what they hold.
  std::int64_t likely_bytes(std::int64_t size) const {
    const std::int64_t bytes = size + (size / bytes_per_item_ + 2) * offset_bytes;
    return bytes + bytes / 8;
  }

  /// A block whose end alone is looked at, so that one thread can hand out what many read. False where it cannot: where
  /// items have to be counted, or fewer may be taken than there may be, where memory is short, an item is long, or the file
  /// ends.
  bool take_unread(const Limit& limit, Block& block) {
    // All lines may turn out to be empty, and their offsets have to fit then.
    const std::int64_t likely = likely_size(limit),
                       size = std::min(likely, (most_bytes(limit) - offset_bytes) / (1 + offset_bytes));
    const std::int64_t left = file_->size() - at_;
    if (limit.counted || size > limit.items || size < std::max(least_block, likely / 2) || size >= left)
      return false;
    unsigned char tail[least_block];
    const std::int64_t looked_at = std::min(8 * bytes_per_item_ + 64, least_block);
    const auto before = std::chrono::steady_clock::now();
    file_->read(at_ + size - looked_at, tail, looked_at);
    if (std::chrono::steady_clock::now() - before > slow_look) file_->prefetch(at_, ahead_bytes);
    const std::int64_t behind = end_of_last_item(kind_, tail, looked_at);
    if (behind == 0) return false;
    block.begin = at_;
    block.end = at_ += size - looked_at + behind;
    block.line_ends = std::exchange(skipped_line_ends_, 0);
    return true;
  }

  void read_all_of(Block& block) {
    const std::int64_t size = block.end - block.begin;
    block.buffer = blocks_->take(size + 1);
    file_->read(block.begin, block.bytes(), size);
    block.cut = cut_text(kind_, block.bytes(), size, INT64_MAX);
    if (block.cut.items == 0) throw DataError(info_.name + ": the file changed while it was read");
    count_line_ends_of(block);
  }

  /// Reads a block that holds as many items as fit, one at least; false at the end.
  bool take(const Limit& limit, Block& block) {
    std::int64_t size = likely_size(limit);
    const std::int64_t room =
        std::max<std::int64_t>(std::min(limit.memory, chunk_limit_) - bytes_beside_one, 1);
    std::int64_t most = std::max<std::int64_t>(limit.items, 1);
    // Of few items not much more is read than they have.
    if (const std::int64_t of_item = bytes_per_item_; most < size / of_item)
      size = most * (of_item + of_item / 8) + 64;
    size = std::min(std::max<std::int64_t>(size, 64), room);
    for (;;) {
      const std::int64_t left = file_->size() - at_;
      if (left == 0) {
        file_->check_unchanged();
        return false;
      }
      size = std::min(size, left);
      check_memory(limit, size);
      read(size, block);
      const std::int64_t there = size + (block.last_is_open ? 1 : 0);
      block.cut = cut_text(kind_, block.bytes(), there, most);
      if (block.cut.items > 0) {
        fit(block, there, most_bytes(limit));
        pass(block, size);
        return true;
      }
      skip(block, size);
      if (size == left || block.cut.bytes == size) continue;
      const std::int64_t begun = size - block.cut.bytes;  // of the item
      if (begun > longest_ + 1) {
        const Count before = count_to(at_);
        throw DataError(too_long(info_.name, kind_, before.items, before.line_ends + 1, longest_));
      }
      size = within_room(std::min(std::max(2 * size, least_block), longest_ + 2), begun, room);
      most = 1;
    }
  }

  /// A read of an item of which so many bytes are not all: in a buffer that has no more than the memory, where that helps.
  static std::int64_t within_room(std::int64_t size, std::int64_t begun, std::int64_t room) {
    for (const std::int64_t most : {largest_buffer(room - offsets_of_one) - 1, room})
      if (begun < most) return std::min(size, most);
    return size;
  }

  /// An item that does not fit is not allocated. (Its number takes a look at what is not complete, once for such an item.)
  void check_memory(const Limit& limit, std::int64_t size) const {
    const std::int64_t bytes = size + bytes_beside_one;
    if (bytes <= std::min(chunk_limit_, limit.memory)) return;
    const std::string item = fmt::format("{}: {} {}", info_.name, kind_ == TextItems::lines ? "line" : "word",
                                         count_to(at_).items + 1);
    if (bytes > chunk_limit_)
      throw ResourceError(
          fmt::format("{} needs more than the {} bytes of memory the source may use", item, chunk_limit_));
    throw ItemTooBig(
        fmt::format("{} takes more than the {} bytes of memory that are left", item, limit.memory), bytes);
  }

  /// At the end of the file something ends its last item.
  void read(std::int64_t size, Block& block) {
    block.buffer = blocks_->take(size + 1);
    file_->read(at_, block.bytes(), size);
    const bool ends = at_ + size == file_->size();
    block.last_is_open = ends && block.bytes()[size - 1] != '\n';
    if (block.last_is_open) block.bytes()[size] = '\n';
  }

  /// Offsets take memory, too: those of short items more than these.
  void fit(Block& block, std::int64_t size, std::int64_t most_bytes) const {
    for (;;) {
      const std::int64_t bytes = block.cut.bytes + (block.cut.items + 1) * offset_bytes;
      if (bytes <= most_bytes || block.cut.items == 1) return;
      const double part = static_cast<double>(most_bytes) / static_cast<double>(bytes);
      const auto fewer = static_cast<std::int64_t>(part * static_cast<double>(block.cut.items) * 0.95);
      block.cut =
          cut_text(kind_, block.bytes(), size, std::clamp<std::int64_t>(fewer, 1, block.cut.items - 1));
    }
  }

  void pass(Block& block, std::int64_t size) {
    block.last_is_open = block.last_is_open && block.cut.bytes == size + 1;
    block.begin = at_;
    block.end = at_ += std::min(block.cut.bytes, size);
    block.line_ends = std::exchange(skipped_line_ends_, 0);
    count_line_ends_of(block);
  }

  /// What belongs to no item.
  void skip(const Block& block, std::int64_t size) {
    const std::int64_t bytes = std::min(block.cut.bytes, size);
    at_ += bytes;
    skipped_line_ends_ += count_line_ends(block.bytes(), bytes);
  }

  /// Before it is packed. What the last block says of the length of items is a guess for the next one.
  void count_line_ends_of(Block& block) {
    block.line_ends +=
        kind_ == TextItems::lines ? block.cut.items : count_line_ends(block.bytes(), block.end - block.begin);
    bytes_per_item_ = std::max<std::int64_t>(block.cut.bytes / block.cut.items, 1);
  }

  void pack(Block& block, SourceChunk& chunk) const {
    const std::int64_t items = block.cut.items;
    auto offsets = offsets_->take((items + 1) * offset_bytes);
    auto* const begins = static_cast<std::int32_t*>(offsets.memory.get());
    const std::int64_t longest = pack_text(kind_, block.bytes(), block.cut.bytes, block.last_is_open, begins);
    if (longest > longest_) fail(block);
    chunk = {};
    chunk.items = items;
    chunk.work = begins[items];
    chunk.bytes = block.buffer.capacity + offsets.capacity;
    chunk.arrays.resize(1);
    chunk.arrays[0].data.push_back(std::move(block.buffer.memory));
    chunk.arrays[0].offsets = std::move(offsets.memory);
  }

  /// In the block, read once more, one item is too long: says which.
  [[noreturn]] void fail(const Block& block) const {
    const std::int64_t size = block.cut.bytes - (block.last_is_open ? 1 : 0);
    file_->read(block.begin, block.bytes(), size);
    if (block.last_is_open) block.bytes()[size] = '\n';
    const Count before = count_to(block.begin);
    refuse_long_item(info_.name, kind_, block.bytes(), block.cut.bytes, block.last_is_open, before.items,
                     before.line_ends + 1, longest_);
  }

  /// What lies before a byte of the file at which no item has begun that does not begin there.
  struct Count {
    std::int64_t at = 0, items = 0, line_ends = 0;
  };
  void complete(const Block& block) {
    const std::lock_guard lock(done_mutex_);
    done_ = {block.end, done_.items + block.cut.items, done_.line_ends + block.line_ends};
  }
  /// For messages: what is not complete is read once more.
  Count count_to(std::int64_t at) const {
    Count count;
    {
      const std::lock_guard lock(done_mutex_);
      count = done_;
    }
    bool inside = false;  // of a word
    unsigned char bytes[least_block];
    while (count.at < at) {
      const std::int64_t size = std::min(at - count.at, least_block);
      file_->read(count.at, bytes, size);
      for (std::int64_t i = 0; i < size; ++i) {
        const bool ends = kind_ == TextItems::lines ? bytes[i] == '\n' : inside && is_white_space(bytes[i]);
        count.items += ends;
        count.line_ends += bytes[i] == '\n';
        inside = !is_white_space(bytes[i]);
      }
      count.at += size;
    }
    return count;
  }

  std::shared_ptr<const ReadFile> file_;
  TextItems kind_;
  std::int64_t longest_, chunk_limit_;
  SourceInfo info_;
  std::int64_t at_ = 0;                 ///< of the file, where the next block begins
  std::int64_t skipped_line_ends_ = 0;  ///< between that and the block before
  std::atomic<std::int64_t> bytes_per_item_ = 64;
  mutable std::mutex done_mutex_;
  Count done_;  ///< up to the end of the last block that is complete
  std::shared_ptr<BufferPool> blocks_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> offsets_ = std::make_shared<BufferPool>();
};

}  // namespace

SourceInfo text_info(const std::string& name) {
  SourceInfo info;
  info.name = name;
  ArrayInfo array;
  array.scalars = {ScalarType::uint8};
  array.extents = {std::nullopt};
  array.offsets = OffsetType::int32;
  info.arrays = {array};
  return info;
}

void refuse_long_item(const std::string& name, TextItems kind, unsigned char* block, std::int64_t size,
                      bool last_is_open, std::int64_t number, std::int64_t line, std::int64_t longest) {
  std::int64_t at = 0;
  for (; at < size; ++number) {
    for (; kind == TextItems::words && is_white_space(block[at]); ++at) line += block[at] == '\n';
    const std::int64_t bytes = cut_text(kind, block + at, size - at, 1).bytes;
    const bool ends_line = kind == TextItems::lines || block[at + bytes - 1] == '\n';
    std::int32_t offsets[2];
    if (pack_text(kind, block + at, bytes, last_is_open && at + bytes == size, offsets) > longest)
      throw DataError(too_long(name, kind, number, line, longest));
    line += ends_line;
    at += bytes;
  }
  throw InternalError(name + ": no item is too long");
}

std::string too_long(const std::string& name, TextItems kind, std::int64_t number, std::int64_t line,
                     std::int64_t longest) {
  if (kind == TextItems::lines)
    return fmt::format("{}: line {} is longer than {} bytes, the most that is read", name, line, longest);
  return fmt::format("{}: word {}, in line {}, is longer than {} bytes, the most that is read", name,
                     number + 1, line, longest);
}

std::shared_ptr<SourceBase> open_text(std::shared_ptr<const ReadFile> file, TextItems kind,
                                      const TextOptions& options) {
  return std::make_shared<TextFile>(std::move(file), kind, options);
}

std::shared_ptr<SourceBase> open_lines(const std::string& path, const TextOptions& options) {
  return open_text(File::open(path), TextItems::lines, options);
}
std::shared_ptr<SourceBase> open_words(const std::string& path, const TextOptions& options) {
  return open_text(File::open(path), TextItems::words, options);
}

}  // namespace anabranch::io::detail
