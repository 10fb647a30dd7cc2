#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "ir/extents.h"
#include "ir/run_error.h"
#include "run/feeds/feed.h"
#include "run/sources/failure.h"

namespace anabranch::runtime {

namespace {

/// Elements of so many rows: of a hop, which may go beyond all that there can be.
std::int64_t elements_of_hop(std::int64_t rows, const std::vector<std::int64_t>& window) {
  std::int64_t elements = rows;
  for (std::size_t d = 1; d < window.size(); ++d)
    if (__builtin_mul_overflow(elements, window[d], &elements)) return INT64_MAX;
  return elements;
}

/// The windows of a signal that comes in blocks. Of what has been read all that a later window needs is kept.
class Windows final : public SourceBase {
 public:
  explicit Windows(const FeedWork& work)
      : context_(work.context),
        node_(work.node),
        shape_(work.uniforms.begin() + 1, work.uniforms.end()),
        size_(ir::product_of(shape_)),
        hop_(elements_of_hop(work.uniforms[0], shape_)),
        overlap_(work.overlap),
        stage_(work.stage(0)) {
    if (const std::string wrong = ir::wrong_windows(shape_, work.uniforms[0]); !wrong.empty()) fail(wrong);
    info_.name = work.node.label();
    info_.arrays = work.infos;
    info_.live = stage_->live();
    // A piece is read as it is handed out, which takes no time beside what is computed of it.
    info_.splits = !info_.live && stage_->only_reads();
    for (const ScalarType s : info_.arrays[0].scalars)
      widths_.push_back(static_cast<std::int64_t>(size_of(s)));
    for (const std::int64_t width : widths_)
      if (std::int64_t bytes = 0; __builtin_mul_overflow(width, size_, &bytes) ||
                                  __builtin_add_overflow(bytes_of_window_, bytes, &bytes_of_window_))
        bytes_of_window_ = INT64_MAX;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (bytes_of_window_ > limit.memory)
      throw ItemTooBig(fmt::format("{}: a window needs {} bytes, the memory bound leaves {}", info_.name,
                                   bytes_of_window_, limit.memory),
                       bytes_of_window_);
    const std::int64_t most = most_of(limit);
    const bool in_place = overlap_ && hop_ < size_;
    if (!(in_place ? next_stretch(limit, most, chunk) : next_copies(limit, most, chunk))) return false;
    if (overlap_) say_begins(chunk, in_place ? hop_ : size_);
    return true;
  }

 private:
  /// How many windows may be a chunk.
  std::int64_t most_of(const Limit& limit) const {
    return std::max<std::int64_t>(
        1, std::min({limit.items, limit.work / size_, limit.bytes / bytes_of_window_}));
  }

  /// Windows where they lie in the signal: a stretch of it.
  bool next_stretch(const Limit& limit, std::int64_t most, SourceChunk& chunk) {
    while (windows_there() < most && read_on(limit, windows_there() > 0)) {
    }
    const std::int64_t count = std::min(most, windows_there());
    if (count == 0) return false;
    const std::int64_t elements = (count - 1) * hop_ + size_;
    chunk = SourceChunk{count, count * size_, 0, {}, 0};
    ArrayChunk& array = chunk.arrays.emplace_back();
    for (std::size_t c = 0; c < widths_.size(); ++c) {
      array.data.push_back(stretch(c, elements));
      chunk.bytes += elements * widths_[c];
    }
    pass_on(count * hop_);
    return true;
  }

  /// Windows lie so far apart.
  static void say_begins(SourceChunk& chunk, std::int64_t apart) {
    auto begins = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(chunk.items));
    for (std::int64_t w = 0; w < chunk.items; ++w) (*begins)[static_cast<std::size_t>(w)] = w * apart;
    chunk.arrays[0].extents = {nullptr, {begins, begins->data()}};
    chunk.bytes += chunk.items * 8;
  }

  /// The next elements of a component: where they lie, if that is one block, else copies.
  std::shared_ptr<const void> stretch(std::size_t c, std::int64_t elements) {
    const Block& first = blocks_.front();
    if (first.elements >= elements) return {first.array.data[c], address(first, c)};
    GrowingBuffer buffer(context_.memory, static_cast<std::size_t>(elements * widths_[c] + 64));
    copy(c, elements, static_cast<std::byte*>(buffer.room(static_cast<std::size_t>(elements * widths_[c]))));
    buffer.commit(static_cast<std::size_t>(elements * widths_[c]));
    return buffer.finish();
  }

  bool next_copies(const Limit& limit, std::int64_t most, SourceChunk& chunk) {
    // About as many as in the chunk before: memory that has grown from nothing fits none that lies idle.
    const std::int64_t expected = std::min(most, std::max(windows_there(), before_));
    std::vector<GrowingBuffer> buffers;
    for (const std::int64_t width : widths_)
      buffers.emplace_back(context_.memory, static_cast<std::size_t>(expected * size_ * width + 64));
    std::int64_t count = 0;
    while (count < most) {
      const std::int64_t there = std::min(most - count, windows_there());
      for (std::int64_t w = 0; w < there; ++w) copy_window(buffers);
      count += there;
      if (count < most && windows_there() == 0 && !read_on(limit, count > 0)) break;
    }
    if (count == 0) return false;
    before_ = count;
    chunk = SourceChunk{count, count * size_, count * bytes_of_window_, {}, 0};
    for (GrowingBuffer& buffer : buffers)
      chunk.arrays.resize(1), chunk.arrays[0].data.push_back(buffer.finish());
    return true;
  }

  /// Elements that follow each other.
  struct Block {
    ArrayChunk array;        ///< keeps them
    std::int64_t first = 0;  ///< of them in its numbering
    std::int64_t elements = 0;
    scheduler::Reservation memory;
  };

  /// Those that are there as a whole.
  std::int64_t windows_there() const { return held_ < size_ ? 0 : (held_ - size_) / hop_ + 1; }

  /// As `read`; but what fails comes after the windows that there are.
  bool read_on(const Limit& limit, bool has_some) {
    if (failed_ && has_some) return false;
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
    try {
      return read(limit, has_some);
    } catch (...) {
      if (!has_some) throw;
      failed_ = failure_after_items();
      return false;
    }
  }

  /// A further block; false where there is none, or what there is has to do.
  bool read(const Limit& limit, bool has_some) {
    const bool stop = limit.stop.stop_requested() || context_.options.stop.stop_requested();
    if (has_some && (stop || std::chrono::steady_clock::now() >= limit.until)) return false;
    if (stop) ir::raise_cancelled();
    // About as much as further windows take. Between those that lie far apart there may be more than memory holds.
    Limit of_block = limit;
    of_block.items = INT64_MAX;
    of_block.bytes = std::min(limit.bytes, std::max(context_.budget.available() / 4, bytes_of_window_));
    if (const std::int64_t more = most_of(limit); more <= INT64_MAX / hop_)
      of_block.work = std::max(size_, more * hop_);
    if (info_.live) of_block.items = 1;
    if (!next_block_) {
      SourceChunk given;
      over_ = over_ || !stage_->next(of_block, given);
      if (over_) return false;
      next_block_ = std::move(given);
    }
    stage_->let_go();
    // What there is no memory for waits until there is.
    auto memory = context_.try_reserve("blocks of a signal", next_block_->bytes);
    if (!memory && has_some) return false;
    if (!memory) memory = context_.reserve("blocks of a signal", next_block_->bytes);
    const SourceChunk chunk = std::move(*next_block_);
    next_block_.reset();
    const ArrayInfo& info = stage_->infos()[0];
    const std::int64_t of_these_rows = blocks_of_these_rows(chunk);
    Block block{chunk.arrays[0], 0, elements_of(chunk.arrays[0], info, of_these_rows), std::move(*memory)};
    if (!info.regular()) block.first = *static_cast<const std::int64_t*>(block.array.offsets.get());
    const std::int64_t skipped = std::min(skip_, block.elements);
    block.first += skipped;
    block.elements -= skipped;
    const std::int64_t added = block.elements;
    if (added > 0) blocks_.push_back(std::move(block));
    skip_ -= skipped;
    held_ += added;
    if (of_these_rows < chunk.items) failed_ = of_other_rows(chunk.arrays[0], of_these_rows);
    blocks_read_ += chunk.items;
    return true;
  }

  [[noreturn]] void fail(const std::string& wrong) const {
    ir::raise(node_.label(), wrong, node_.place(), context_.item);
  }

  /// How many there are before the first with rows of another shape than those of the windows. One without elements has no
  /// rows, of whichever shape.
  std::int64_t blocks_of_these_rows(const SourceChunk& chunk) const {
    const ArrayInfo& info = stage_->infos()[0];
    if (std::equal(shape_.begin() + 1, shape_.end(), info.extents.begin() + 1)) return chunk.items;
    std::int64_t block = 0;
    for (; block < chunk.items; ++block) {
      const std::vector<std::int64_t> extents = extents_of_block(chunk.arrays[0], block);
      const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
      if (!is_empty && !std::equal(shape_.begin() + 1, shape_.end(), extents.begin() + 1)) break;
    }
    return block;
  }
  std::vector<std::int64_t> extents_of_block(const ArrayChunk& blocks, std::int64_t block) const {
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      extents.push_back(extent_of(blocks, stage_->infos()[0], block, d));
    return extents;
  }
  std::exception_ptr of_other_rows(const ArrayChunk& blocks, std::int64_t block) const {
    try {
      fail(ir::other_rows(blocks_read_ + block, extents_of_block(blocks, block), shape_));
    } catch (const RunError&) {
      return std::current_exception();
    }
  }

  /// The next window, to the end of the buffers.
  void copy_window(std::vector<GrowingBuffer>& buffers) {
    for (std::size_t c = 0; c < buffers.size(); ++c) {
      const auto bytes = static_cast<std::size_t>(size_ * widths_[c]);
      copy(c, size_, static_cast<std::byte*>(buffers[c].room(bytes)));
      buffers[c].commit(bytes);
    }
    pass_on(hop_);
  }

  const std::byte* address(const Block& block, std::size_t c) const {
    return static_cast<const std::byte*>(block.array.data[c].get()) + block.first * widths_[c];
  }

  /// The next elements of a component.
  void copy(std::size_t c, std::int64_t left, std::byte* to) const {
    for (const Block& block : blocks_) {
      const std::int64_t n = std::min(left, block.elements);
      std::memcpy(to, address(block, c), static_cast<std::size_t>(n * widths_[c]));
      to += n * widths_[c];
      left -= n;
      if (left == 0) break;
    }
  }

  /// What no later window needs is forgotten.
  void pass_on(std::int64_t passed) {
    while (passed > 0 && !blocks_.empty()) {
      Block& block = blocks_.front();
      const std::int64_t n = std::min(passed, block.elements);
      block.first += n;
      block.elements -= n;
      held_ -= n;
      passed -= n;
      if (block.elements == 0) blocks_.pop_front();
    }
    skip_ += passed;
  }

  RunContext& context_;
  const ir::Node& node_;
  const std::vector<std::int64_t> shape_;  ///< of a window
  const std::int64_t size_, hop_;          ///< in elements
  const bool overlap_;                     ///< windows are handed on where they lie
  std::unique_ptr<FeedingStage> stage_;
  SourceInfo info_;
  std::vector<std::int64_t> widths_;  ///< of the components
  std::int64_t bytes_of_window_ = 0;
  std::optional<SourceChunk> next_block_;  ///< read, and waits for memory
  std::deque<Block> blocks_;  ///< in the order of the signal, from the next window's first element on
  std::int64_t held_ = 0;     ///< elements in them
  std::int64_t before_ = 0;   ///< windows of the chunk before
  std::int64_t blocks_read_ = 0;
  std::int64_t skip_ = 0;  ///< elements between the last window and the next, which are not there yet
  bool over_ = false;
  std::exception_ptr failed_;  ///< of the latest read
};

}  // namespace

std::shared_ptr<SourceBase> make_windows(const FeedWork& work) { return std::make_shared<Windows>(work); }

}  // namespace anabranch::runtime
