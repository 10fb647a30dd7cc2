#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/io/arrow.h>

#include <fmt/format.h>

#include "io/arrow/arrow_batch.h"
#include "io/arrow/arrow_schema.h"
#include "io/base/counted.h"

/// The rows of an Arrow stream, batch by batch.
namespace anabranch::io::detail {

namespace {

const std::string stream_name = "arrow stream";

/// A stream that has been taken over.
class OwnedStream {
 public:
  explicit OwnedStream(ArrowArrayStream* stream) {
    if (!stream || !stream->release)
      throw DataError(stream_name + ": it has been released, or taken over before");
    stream_ = *stream;
    stream->release = nullptr;
  }
  ~OwnedStream() { stream_.release(&stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  std::shared_ptr<ArrowSchema> schema() {
    auto schema = owned<ArrowSchema>();
    check(stream_.get_schema(&stream_, schema.get()), "get_schema");
    if (!schema->release || !schema->format) throw DataError(stream_name + ": it has no schema");
    return schema;
  }
  /// Null at the end.
  std::shared_ptr<ArrowArray> next() {
    auto batch = owned<ArrowArray>();
    check(stream_.get_next(&stream_, batch.get()), "get_next");
    return batch->release ? batch : nullptr;
  }

 private:
  /// Released when nobody has it any more.
  template <class T>
  static std::shared_ptr<T> owned() {
    return std::shared_ptr<T>(new T{}, [](T* p) {
      if (p->release) p->release(p);
      delete p;
    });
  }
  void check(int code, const char* what) {
    if (code == 0) return;
    const char* const said = stream_.get_last_error(&stream_);
    const std::string why = said ? said : std::generic_category().message(code);
    throw IoError(fmt::format("{}: {}: {}", stream_name, what, why));
  }

  ArrowArrayStream stream_{};
};

class ArrowSource final : public SourceBase {
 public:
  ArrowSource(ArrowArrayStream* stream, const std::vector<SinkArray>& arrays, const ArrowOptions& options)
      : stream_(stream), columns_(match_columns(stream_name, *stream_.schema(), arrays, options.columns)) {
    info_.name = stream_name;
    for (const ArrowColumn& column : columns_) info_.arrays.push_back(column.info);
    info_.live = options.live;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    while (at_ == rows_)
      if (!take_batch()) return false;
    const std::int64_t rows = rows_that_fit(limit);
    check_memory(limit, rows);
    chunk = {};
    chunk.items = rows;
    for (const ArrowRows& column : batch_) {
      std::int64_t copied = 0;
      chunk.arrays.push_back(column.chunk(at_, rows, copied));
      chunk.work = std::max(chunk.work, column.elements(at_, rows));
      chunk.bytes += column.bytes(at_, rows) + copied;
    }
    at_ += rows;
    return true;
  }

 private:
  bool take_batch() {
    batch_.clear();
    before_ += std::exchange(rows_, 0);
    at_ = 0;
    const std::shared_ptr<ArrowArray> batch = stream_.next();
    if (!batch) return false;
    if (batch->length < 0 || batch->offset < 0 || batch->offset > INT64_MAX - batch->length)
      throw DataError(fmt::format("{}: a batch of {} rows", stream_name, batch->length));
    for (const ArrowColumn& column : columns_) add_column(column, batch);
    rows_ = batch->length;
    return true;
  }

  void add_column(const ArrowColumn& column, const std::shared_ptr<ArrowArray>& batch) {
    if (column.child < 0) {
      batch_.emplace_back(stream_name, column, *batch, 0, batch->length, before_, batch);
      return;
    }
    if (column.child >= batch->n_children)
      throw DataError(fmt::format("{}: rows {} to {}: the batch has {}, {} are needed", stream_name, before_,
                                  before_ + batch->length - 1, counted(batch->n_children, "column"),
                                  column.child + 1));
    // A null batch row is none of its columns'.
    if (const std::int64_t null = first_null(*batch, batch->offset, batch->length) - batch->offset;
        null < batch->length)
      throw DataError(fmt::format("{}: row {}: the batch is null there", stream_name, before_ + null));
    batch_.emplace_back(stream_name, column, *batch->children[column.child], batch->offset, batch->length,
                        before_, batch);
  }

  /// What has to be copied needs memory of the run's.
  std::int64_t bytes_to_copy(std::int64_t rows) const {
    std::int64_t bytes = 0;
    for (const ArrowRows& column : batch_) bytes += column.to_copy(at_, rows);
    return bytes;
  }
  void check_memory(const Limit& limit, std::int64_t rows) const {
    if (const std::int64_t bytes = bytes_to_copy(rows); bytes > limit.memory)
      throw ItemTooBig(fmt::format("{}: row {} takes {} bytes of memory, and {} are left", stream_name,
                                   before_ + at_, bytes, limit.memory),
                       bytes);
  }

  /// The first always does.
  std::int64_t rows_that_fit(const Limit& limit) const {
    const auto bytes = [&](std::int64_t rows) {
      std::int64_t sum = 0;
      for (const ArrowRows& column : batch_) sum += column.bytes(at_, rows);
      return sum;
    };
    const auto fits = [&](std::int64_t rows) {
      return bytes(rows) <= limit.bytes && bytes_to_copy(rows) <= limit.memory &&
             std::all_of(batch_.begin(), batch_.end(),
                         [&](const ArrowRows& column) { return column.elements(at_, rows) <= limit.work; });
    };
    std::int64_t fit = 0, most = std::min(rows_ - at_, std::max<std::int64_t>(limit.items, 1));
    while (fit < most) {
      const std::int64_t middle = fit + (most - fit + 1) / 2;
      if (fits(middle))
        fit = middle;
      else
        most = middle - 1;
    }
    return std::max<std::int64_t>(fit, 1);
  }

  OwnedStream stream_;
  std::vector<ArrowColumn> columns_;
  SourceInfo info_;
  std::vector<ArrowRows> batch_;
  std::int64_t rows_ = 0;    ///< of the batch
  std::int64_t at_ = 0;      ///< the next one of these
  std::int64_t before_ = 0;  ///< of the batches before it
};

}  // namespace

std::shared_ptr<SourceBase> from_arrow(ArrowArrayStream* stream, const std::vector<SinkArray>& arrays,
                                       const ArrowOptions& options) {
  return std::make_shared<ArrowSource>(stream, arrays, options);
}

}  // namespace anabranch::io::detail
