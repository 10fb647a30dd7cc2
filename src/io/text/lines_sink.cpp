#include <cstring>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/io/text.h>

#include <fmt/format.h>

#include "io/base/file.h"
#include "io/base/path_claim.h"
#include "io/base/sink_shapes.h"

/// Vectors of bytes as the lines of a file.
namespace anabranch::io::detail {

namespace {

class LinesPass final : public SinkPass {
 public:
  LinesPass(const std::string& path, const SinkStart& start)
      : path_(path), info_(start.arrays[0]), claim_(path), file_(path), out_(file_.file()) {}

  void write(const SinkChunk& chunk) override {
    const ArrayChunk& array = chunk.arrays[0];
    const auto* bytes = static_cast<const unsigned char*>(array.data[0].get());
    for (std::int64_t i = 0; i < chunk.items; ++i) {
      const std::int64_t begin = begin_of(info_, array, i), length = begin_of(info_, array, i + 1) - begin;
      check(bytes + begin, length, chunk.first + i);
      file_.guarded([&] {
        out_.append(bytes + begin, length);
        out_.append("\n", 1);
      });
    }
  }
  void finish() override {
    file_.guarded([&] {
      out_.flush();
      file_.complete();
    });
  }
  void commit() override {
    file_.guarded([&] { file_.commit_for_now(); });
  }
  void undo() noexcept override { file_.undo(); }
  std::int64_t resident_bytes() const override { return buffered_bytes; }

 private:
  void check(const unsigned char* line, std::int64_t length, std::int64_t item) const {
    if (length == 0) return;
    const char* const what = std::memchr(line, '\n', static_cast<std::size_t>(length))
                                 ? "has a line end in it"
                             : line[length - 1] == '\r' ? "ends with a CR"
                                                        : nullptr;
    if (what)
      throw RunError(
          fmt::format("write_lines: {}: item {} {}: it would be read as another line", path_, item, what));
  }

  std::string path_;
  ArrayInfo info_;
  PathClaim claim_;
  AtomicFile file_;
  BufferedWriter out_;
};

class LinesSink final : public SinkBase {
 public:
  explicit LinesSink(std::string path) {
    info_.name = std::move(path);
    info_.arrays = {{{ScalarType::uint8}, 1}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<LinesPass>(info_.name, start);
  }

 private:
  SinkInfo info_;
};

}  // namespace

std::shared_ptr<SinkBase> lines_sink(const std::string& path) { return std::make_shared<LinesSink>(path); }

}  // namespace anabranch::io::detail
