#include "apps/audio/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace anabranch::apps {

namespace {

[[noreturn]] void fail(const std::string& place, const char* what) {
  throw IoError(fmt::format("{}: {}: {}", place, what, std::strerror(errno)));
}

/// Calls `once(done)` until it has done all `bytes`.
template <class F>
void completely(std::int64_t bytes, const std::string& place, const char* what, F&& once) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t now = once(done);
    if (now < 0 && errno == EINTR) continue;
    if (now == 0) errno = EIO;
    if (now <= 0) fail(place, what);
    done += now;
  }
}

class SpoolPass final : public SinkPass {
 public:
  explicit SpoolPass(Spool& to) : to_(to) {}
  void write(const SinkChunk& chunk) override {
    const ArrayChunk& array = chunk.arrays[0];
    if (array.offsets &&
        static_cast<const std::int64_t*>(array.offsets.get())[chunk.items] != chunk.items * to_.width())
      throw InternalError(to_.name() + ": rows of another length");
    to_.append(static_cast<const float*>(array.data[0].get()), chunk.items);
  }
  void finish() override {}
  void commit() override {}

 private:
  Spool& to_;
};

class SpoolSink final : public SinkBase {
 public:
  explicit SpoolSink(Spool& to) : to_(to) {
    info_.name = to.name();
    info_.arrays = {{{ScalarType::float32}, to.columns() > 0 ? 1 : 0}};
  }
  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart&) override { return std::make_unique<SpoolPass>(to_); }

 private:
  Spool& to_;
  SinkInfo info_;
};

class SpoolSource final : public SourceBase {
 public:
  explicit SpoolSource(const Spool& from) : from_(from) {
    ArrayInfo array;
    array.scalars = {ScalarType::float32};
    array.extents = {from.columns()};
    info_.name = from.name();
    info_.arrays = {array};
    info_.rewindable = true;
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  void rewind() override { row_ = 0; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (row_ == from_.rows()) return false;
    const std::int64_t bytes = from_.width() * 4, most = std::min({limit.bytes, limit.memory, most_bytes});
    if (bytes > limit.memory)
      throw ItemTooBig(
          fmt::format("{}: a row takes {} bytes of memory, and {} are left", info_.name, bytes, limit.memory),
          bytes);
    const std::int64_t rows = std::max<std::int64_t>(
        1, std::min({limit.items, most / bytes, limit.work / from_.width(), from_.rows() - row_}));
    const std::shared_ptr<float[]> memory(new float[static_cast<std::size_t>(rows * from_.width())]);
    from_.read(row_, rows, memory.get());
    row_ += rows;
    chunk = {};
    chunk.items = rows;
    chunk.work = rows * from_.width();
    chunk.bytes = rows * bytes;
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(memory, memory.get());
    return true;
  }

 private:
  static constexpr std::int64_t most_bytes = 64 << 20;
  const Spool& from_;
  std::int64_t row_ = 0;
  SourceInfo info_;
};

}  // namespace

Spool::Spool(std::string name, std::int64_t columns) : name_(std::move(name)), columns_(columns) {
  const char* const set = std::getenv("TMPDIR");
  const std::string folder = set && *set ? set : ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
  place_ = fmt::format("{}, kept for a while in the folder {} (TMPDIR can name another one)", name_, folder);
  std::string path = folder + "/anabranch-XXXXXX";
  file_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) fail(place_, "making a file");
  ::unlink(path.c_str());
}

Spool::~Spool() { ::close(file_); }

void Spool::append(const float* rows, std::int64_t count) {
  const std::int64_t row = width() * 4, at = rows_ * row;
  const char* const from = reinterpret_cast<const char*>(rows);
  completely(count * row, place_, "writing", [&](std::int64_t done) {
    return ::pwrite(file_, from + done, static_cast<std::size_t>(count * row - done), at + done);
  });
  rows_ += count;
}

void Spool::read(std::int64_t row, std::int64_t count, float* into) const {
  const std::int64_t bytes = count * width() * 4, at = row * width() * 4;
  completely(bytes, place_, "reading", [&](std::int64_t done) {
    return ::pread(file_, reinterpret_cast<char*>(into) + done, static_cast<std::size_t>(bytes - done),
                   at + done);
  });
}

Sink<Scalar<float>> Spool::values() { return Sink<Scalar<float>>(std::make_shared<SpoolSink>(*this)); }
Sink<Vector<float>> Spool::vectors() { return Sink<Vector<float>>(std::make_shared<SpoolSink>(*this)); }
Source<Vector<float>> Spool::stream() const {
  return Source<Vector<float>>(std::make_shared<SpoolSource>(*this));
}

}  // namespace anabranch::apps
