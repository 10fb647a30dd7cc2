#include <algorithm>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/descriptor/framing.h"

/// The items that arrive at a descriptor.
namespace anabranch::io::detail {

namespace {

class DescriptorSource final : public SourceBase {
 public:
  DescriptorSource(int fd, const DescriptorOptions& options, std::unique_ptr<Framing> framing)
      : framing_(std::move(framing)), info_(framing_->info()), from_(fd, options.close, info_.name) {
    info_.live = true;
    info_.independent = true;
  }
  const SourceInfo& info() const override { return info_; }
  void use_memory(const ChunkMemory& memory) override { framing_->use_memory(memory); }

  bool next(const Limit& asked, SourceChunk& chunk) override {
    // What has arrived is copied into the chunk.
    Limit limit = asked;
    limit.bytes = std::min(limit.bytes, limit.memory / 2);
    framing_->restart();
    for (;;) {
      framing_->look(arrived_.data(), arrived_.size(), limit);
      const bool some = framing_->items() > 0;
      if (!some && framing_->bytes() > 0) pass();
      if (ended_ || (some && (framing_->full() || is_over(limit)))) break;
      if (!some) check_memory(limit, framing_->memory_of_next(arrived_.size()));
      const auto arrival = arrived_.more(
          from_, {some ? limit.until : std::chrono::steady_clock::time_point::max(), limit.stop});
      if (arrival == Descriptor::Arrival::nothing) {
        if (some) break;
        throw Cancelled("the run was cancelled");
      }
      ended_ = arrival == Descriptor::Arrival::end;
      if (ended_) framing_->end(arrived_);
    }
    if (framing_->items() == 0) return false;
    const std::int64_t bytes = framing_->bytes();
    check_memory(limit, bytes + framing_->memory());
    framing_->hand_out(arrived_.data(), chunk);
    arrived_.take(bytes);
    return true;
  }

 private:
  /// What belongs to no item is not kept.
  void pass() {
    const std::int64_t bytes = framing_->bytes();
    framing_->pass(arrived_.data());
    arrived_.take(bytes);
  }

  static bool is_over(const Limit& limit) {
    using Clock = std::chrono::steady_clock;
    return limit.stop.stop_requested() ||
           (limit.until != Clock::time_point::max() && Clock::now() >= limit.until);
  }

  void check_memory(const Limit& limit, std::int64_t bytes) const {
    if (bytes > limit.memory)
      throw ItemTooBig(fmt::format("{}: the next item takes {} bytes of memory or more, and {} are left",
                                   info_.name, bytes, limit.memory),
                       bytes);
  }

  std::unique_ptr<Framing> framing_;
  SourceInfo info_;
  Descriptor from_;
  ArrivedBytes arrived_;
  bool ended_ = false;
};

std::string name_of(int fd, const DescriptorOptions& options) {
  return options.name.empty() ? fmt::format("descriptor {}", fd) : options.name;
}

std::shared_ptr<SourceBase> text_of(int fd, TextItems kind, const DescriptorOptions& options) {
  return std::make_shared<DescriptorSource>(fd, options,
                                            frame_text(name_of(fd, options), kind, options.longest));
}

}  // namespace

void Framing::restart() {
  items_ = bytes_ = 0;
  full_ = false;
}

void Framing::pass(const unsigned char*) { restart(); }

void Framing::hand_out(const unsigned char* bytes, SourceChunk& chunk) {
  chunk = {};
  chunk.items = items_;
  chunk.arrays.resize(1);
  fill(bytes, chunk);
  number_ += items_;
  restart();
}

std::shared_ptr<SourceBase> lines_of(int fd, const DescriptorOptions& options) {
  return text_of(fd, TextItems::lines, options);
}
std::shared_ptr<SourceBase> words_of(int fd, const DescriptorOptions& options) {
  return text_of(fd, TextItems::words, options);
}

std::shared_ptr<SourceBase> records_of(int fd, const std::vector<std::int64_t>& shape,
                                       const NpyElement& element, const DescriptorOptions& options) {
  return std::make_shared<DescriptorSource>(
      fd, options, frame_records(name_of(fd, options), shape, element, options.longest));
}

std::shared_ptr<SourceBase> ragged_of(int fd, int length_bytes, const NpyElement& element,
                                      const DescriptorOptions& options) {
  return std::make_shared<DescriptorSource>(
      fd, options, frame_ragged(name_of(fd, options), length_bytes, element, options.longest));
}

}  // namespace anabranch::io::detail
