#include <algorithm>
#include <optional>

#include <anabranch/error.h>
#include <anabranch/io/npy.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/npy/fortran_rows.h"
#include "io/npy/npy_file.h"
#include "io/npy/npy_rows.h"

/// The rows of an .npy array, chunk by chunk.
namespace anabranch::io::detail {

namespace {

constexpr std::int64_t most_rows = std::int64_t{1} << 56;

class NpyRows final : public SourceBase {
 public:
  NpyRows(const NpyFile& npy, ScalarType as, std::int64_t memory)
      : file_(npy.file),
        elements_(npy.elements(), as),
        rows_(npy.format.shape[0]),
        row_elements_(rows_ == 0 ? 0 : npy.format.count / rows_),
        row_bytes_(row_elements_ * elements_.element_bytes()) {
    if (npy.format.fortran && npy.format.shape.size() > 1) fortran_.emplace(npy, as, memory / 2);
    chunk_limit_ = std::max<std::int64_t>(memory - resident_bytes(), 0);
    if (rows_ > 0 && row_bytes_ > chunk_limit_)
      throw ResourceError(
          fmt::format("{}: a row of {} needs {} bytes: more than the {} bytes of memory the source may use",
                      npy.name(), counted(row_elements_, "element"), row_bytes_, chunk_limit_));
    ArrayInfo array;
    array.scalars.assign(static_cast<std::size_t>(npy.format.parts), as);
    array.extents.assign(npy.format.shape.begin() + 1, npy.format.shape.end());
    info_.name = npy.name();
    info_.arrays = {array};
    info_.items = rows_;
    info_.work = rows_ * row_work();
    info_.rewindable = true;
    info_.live = false;
    info_.splits = !fortran_;
  }

  const SourceInfo& info() const override { return info_; }
  std::int64_t resident_bytes() const override {
    return elements_.resident_bytes() + (fortran_ ? fortran_->resident_bytes() : 0);
  }
  void rewind() override {
    elements_.rewind();
    row_ = 0;
  }
  void use_memory(const ChunkMemory& memory) override { elements_.use_memory(memory); }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (row_ == rows_) return false;
    const std::int64_t rows = rows_that_fit(limit);
    StoredElements::Buffers buffers;
    if (fortran_) {
      buffers = elements_.buffers(rows * row_elements_);
      fortran_->read(row_, rows, places_of(buffers));
    } else {
      buffers = elements_.read(row_ * row_elements_, rows * row_elements_);
    }
    row_ += rows;
    if (row_ == rows_) file_->check_unchanged();
    fill(chunk, rows, std::move(buffers));
    return true;
  }

  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    if (fortran_) return SourceBase::split(limit);
    if (row_ == rows_) return nullptr;
    const std::int64_t rows = rows_that_fit(limit), first = row_;
    row_ += rows;
    return std::make_unique<Piece>(*this, first, rows);
  }

 private:
  class Piece final : public SourcePiece {
   public:
    Piece(NpyRows& source, std::int64_t first, std::int64_t rows)
        : source_(source), first_(first), rows_(rows) {}
    std::int64_t items() const override { return rows_; }
    std::int64_t work() const override { return rows_ * source_.row_work(); }
    std::int64_t bytes() const override { return rows_ * source_.row_bytes_; }
    void read(SourceChunk& chunk) override {
      std::uint32_t none = 0;
      source_.fill(
          chunk, rows_,
          source_.elements_.read_at(first_ * source_.row_elements_, rows_ * source_.row_elements_, none));
    }
    void complete() override {
      if (first_ + rows_ == source_.rows_) source_.file_->check_unchanged();
    }

   private:
    NpyRows& source_;
    std::int64_t first_, rows_;
  };

  std::int64_t row_work() const { return std::max<std::int64_t>(row_elements_, 1); }

  std::int64_t rows_that_fit(const Limit& limit) const {
    if (row_bytes_ > limit.memory)
      throw ItemTooBig(fmt::format("{}: a row of {} takes {} bytes of memory, and {} are left", info_.name,
                                   counted(row_elements_, "element"), row_bytes_, limit.memory),
                       row_bytes_);
    const std::int64_t bytes = without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}));
    return std::max<std::int64_t>(1, std::min({rows_ - row_, limit.items, limit.work / row_work(),
                                               bytes / std::max<std::int64_t>(row_bytes_, 1)}));
  }

  void fill(SourceChunk& chunk, std::int64_t rows, StoredElements::Buffers buffers) const {
    chunk = {};
    chunk.items = rows;
    chunk.work = rows * row_work();
    chunk.arrays.resize(1);
    for (BufferPool::Buffer& buffer : buffers) {
      chunk.bytes += buffer.capacity;
      chunk.arrays[0].data.push_back(std::move(buffer.memory));
    }
  }

  std::shared_ptr<const ReadFile> file_;
  StoredElements elements_;
  std::int64_t rows_, row_elements_, row_bytes_;
  std::optional<FortranRows> fortran_;
  std::int64_t chunk_limit_ = 0;
  SourceInfo info_;
  std::int64_t row_ = 0;
};

}  // namespace

std::shared_ptr<SourceBase> open_npy_rows(std::shared_ptr<const ReadFile> file, int rank,
                                          const NpyElement& element, const NpyRowsOptions& options) {
  const NpyFile npy = open_npy(std::move(file));
  check_rank(npy, rank);
  check_element(npy, element, options.convert);
  // Rows without elements take no bytes in the file.
  if (npy.format.shape[0] > most_rows)
    throw DataError(fmt::format("{}: {} rows are too many", npy.name(), npy.format.shape[0]));
  return std::make_shared<NpyRows>(npy, element.type, options.memory);
}

std::shared_ptr<SourceBase> open_npy_rows(const std::string& path, int rank, const NpyElement& element,
                                          const NpyRowsOptions& options) {
  return open_npy_rows(File::open(path), rank, element, options);
}

}  // namespace anabranch::io::detail
