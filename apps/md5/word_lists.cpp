#include "apps/md5/word_lists.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <anabranch/io.h>

#include <fmt/format.h>

#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

using Parts = std::vector<std::shared_ptr<SourceBase>>;

/// Sources whose items are of one type, as one source, which ends with the last of them, or before.
class Joined final : public SourceBase {
 public:
  Joined(Parts parts, std::function<bool()> enough)
      : parts_(std::move(parts)), enough_(std::move(enough)), info_(parts_.front()->info()) {
    if (parts_.size() > 1) info_.name = fmt::format("{} word lists", parts_.size());
    for (const auto& part : parts_) {
      const SourceInfo& info = part->info();
      info_.rewindable = info_.rewindable && info.rewindable;
      info_.splits = info_.splits && info.splits;
      info_.live = info_.live || info.live;
      info_.independent = info_.independent || info.independent;
    }
  }

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    for (; !enough_() && at_ < parts_.size(); ++at_)
      if (parts_[at_]->next(limit, chunk)) return true;
    return false;
  }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    for (; !enough_() && at_ < parts_.size(); ++at_)
      if (auto piece = parts_[at_]->split(limit)) return piece;
    return nullptr;
  }
  void rewind() override {
    for (const auto& part : parts_) part->rewind();
    at_ = 0;
  }
  void use_memory(const ChunkMemory& memory) override {
    for (const auto& part : parts_) part->use_memory(memory);
  }
  std::int64_t resident_bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part->resident_bytes();
    return bytes;
  }

 private:
  Parts parts_;
  std::function<bool()> enough_;
  SourceInfo info_;
  std::size_t at_ = 0;
};

/// A file, or what arrives at a pipe, which has no size.
std::shared_ptr<SourceBase> open_list(const std::string& file) {
  if (file == "-") return io::lines_of(STDIN_FILENO, {.name = "standard input"}).erased();
  std::error_code unknown;
  if (!std::filesystem::is_fifo(file, unknown)) return io::open_lines(file).erased();
  // Without waiting for who writes it, who may write the list before it first.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw IoError(fmt::format("{}: {}", file, std::strerror(errno)));
  return io::lines_of(descriptor, {.close = true, .name = file}).erased();
}

}  // namespace

Source<Vector<std::uint8_t>> open_word_lists(const std::vector<std::string>& files,
                                             std::function<bool()> enough) {
  if (std::count(files.begin(), files.end(), "-") > 1)
    throw UsageError("WORDLIST: standard input, -, is there twice: it passes once");
  Parts parts;
  for (const std::string& file : files) parts.push_back(open_list(file));
  return Source<Vector<std::uint8_t>>(std::make_shared<Joined>(std::move(parts), std::move(enough)));
}

std::int64_t bytes_of_word_lists(const std::vector<std::string>& files) {
  std::int64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    const auto size = std::filesystem::file_size(file, unknown);
    if (file == "-" || unknown) return 0;
    bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

}  // namespace anabranch::apps
