#include "io/text/text_source.h"

#include <algorithm>
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
    at_ = items_ = 0;
    lines_ = 1;
  }

  void use_memory(const ChunkMemory& memory) override {
    blocks_->use_memory(memory);
    offsets_->use_memory(memory);
  }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    Block block;
    if (!take(limit, block)) return false;
    if (block.last) file_->check_unchanged();
    pack(std::move(block), chunk);
    return true;
  }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    Block block;
    if (!take(limit, block)) return nullptr;
    return std::make_unique<Piece>(*this, std::move(block));
  }

 private:
  /// Bytes that have been read and are divided into items when somebody asks for them.
  struct Block {
    BufferPool::Buffer buffer;
    TextCut cut;
    bool last_is_open = false;
    bool last = false;        ///< of the file
    std::int64_t number = 0;  ///< of the first item
    std::int64_t begin = 0;   ///< in the file
    std::int64_t line = 1;    ///< in which that is
    unsigned char* bytes() const { return static_cast<unsigned char*>(buffer.memory.get()); }
  };

  class Piece final : public SourcePiece {
   public:
    Piece(TextFile& source, Block block)
        : source_(source),
          items_(block.cut.items),
          work_(block.cut.bytes),
          bytes_(block.buffer.capacity + (items_ + 1) * offset_bytes),
          last_(block.last),
          block_(std::move(block)) {}
    std::int64_t items() const override { return items_; }
    std::int64_t work() const override { return work_; }
    std::int64_t bytes() const override { return bytes_; }
    void read(SourceChunk& chunk) override { source_.pack(std::move(block_), chunk); }
    void complete() override {
      if (last_) source_.file_->check_unchanged();
    }

   private:
    TextFile& source_;
    std::int64_t items_, work_, bytes_;
    bool last_;
    Block block_;
  };

  /// Reads a block that holds as many items as fit, one at least; false at the end.
  bool take(const Limit& limit, Block& block) {
    const std::int64_t most_bytes =
        without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}) - bytes_beside_one);
    // Offsets of items as long as those before take their part of it.
    std::int64_t size = std::min(most_bytes * bytes_per_item_ / (bytes_per_item_ + offset_bytes), limit.work);
    const std::int64_t room =
        std::max<std::int64_t>(std::min(limit.memory, chunk_limit_) - bytes_beside_one, 1);
    std::int64_t most = std::max<std::int64_t>(limit.items, 1);
    // Of few items not much more is read than they have.
    if (most < size / bytes_per_item_) size = most * (bytes_per_item_ + bytes_per_item_ / 8) + 64;
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
        fit(block, there, most_bytes);
        pass(block, size);
        return true;
      }
      skip(block, size);
      if (size == left || block.cut.bytes == size) continue;
      const std::int64_t begun = size - block.cut.bytes;  // of the item
      if (begun > longest_ + 1) throw DataError(too_long(info_.name, kind_, items_, lines_, longest_));
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

  /// An item that does not fit is not allocated.
  void check_memory(const Limit& limit, std::int64_t size) const {
    const std::int64_t bytes = size + bytes_beside_one;
    const char* const what = kind_ == TextItems::lines ? "line" : "word";
    if (bytes > chunk_limit_)
      throw ResourceError(fmt::format("{}: {} {} needs more than the {} bytes of memory the source may use",
                                      info_.name, what, items_ + 1, chunk_limit_));
    if (bytes > limit.memory)
      throw ItemTooBig(fmt::format("{}: {} {} takes more than the {} bytes of memory that are left",
                                   info_.name, what, items_ + 1, limit.memory),
                       bytes);
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
    block.number = items_;
    block.begin = at_;
    block.line = lines_;
    block.last_is_open = block.last_is_open && block.cut.bytes == size + 1;
    const std::int64_t bytes = std::min(block.cut.bytes, size);
    at_ += bytes;
    items_ += block.cut.items;
    count_lines(block, bytes);
    block.last = at_ == file_->size();
    bytes_per_item_ = std::max<std::int64_t>(block.cut.bytes / block.cut.items, 1);
  }

  /// What belongs to no item.
  void skip(const Block& block, std::int64_t size) {
    const std::int64_t bytes = std::min(block.cut.bytes, size);
    at_ += bytes;
    count_lines(block, bytes);
  }

  void count_lines(const Block& block, std::int64_t bytes) {
    lines_ += kind_ == TextItems::lines ? block.cut.items : count_line_ends(block.bytes(), bytes);
  }

  void pack(Block block, SourceChunk& chunk) const {
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
    refuse_long_item(info_.name, kind_, block.bytes(), block.cut.bytes, block.last_is_open, block.number,
                     block.line, longest_);
  }

  std::shared_ptr<const ReadFile> file_;
  TextItems kind_;
  std::int64_t longest_, chunk_limit_;
  SourceInfo info_;
  std::int64_t at_ = 0;     ///< of the file, where the next block begins
  std::int64_t items_ = 0;  ///< before that
  std::int64_t lines_ = 1;  ///< in which that is
  std::int64_t bytes_per_item_ = 64;
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
