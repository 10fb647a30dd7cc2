#include <anabranch/io/npz.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "io/base/file.h"
#include "io/base/path_claim.h"
#include "io/base/zip_writer.h"
#include "io/npy/npy_format.h"

/// Arrays into an .npz file, member after member.
namespace anabranch::io {

namespace detail {

class NpzOutput {
 public:
  explicit NpzOutput(const std::string& path) : claim_(path), file_(path), zip_(file_.file()) {}

  void begin(const std::string& name, ScalarType type) {
    check(!under_way_, "an array is begun before the one before it has ended");
    check(!name.empty() && name.size() <= most_name, "the name of an array has 1 to 65,000 bytes");
    check(names_.insert(name).second, "two arrays are called " + name);
    file_.guarded([&] { zip_.begin(name + ".npy", npy_header_bytes_of_any); });
    under_way_ = true;
    type_ = type;
    count_ = 0;
  }
  void append(ScalarType type, const void* elements, std::int64_t count) {
    check(under_way_, "elements of no array");
    check(type == type_, fmt::format("elements of type {} for an array of {}", anabranch::name_of(type),
                                     anabranch::name_of(type_)));
    file_.guarded([&] { zip_.append(elements, count * static_cast<std::int64_t>(size_of(type))); });
    count_ += count;
  }
  void end(std::span<const std::int64_t> shape) {
    check(under_way_, "the end of no array");
    // As NumPy has it, no product of extents overflows, be the array without elements.
    std::int64_t elements = 1, bytes = 16;
    bool fits = shape.size() <= most_dimensions;
    for (const std::int64_t extent : shape) {
      fits = fits && extent >= 0 && !__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes);
      if (fits) elements *= extent;
    }
    check(fits && elements == count_,
          fmt::format("{} elements for an array of the shape [{}]", count_, fmt::join(shape, ", ")));
    file_.guarded([&] { zip_.end(npy_header(npy_dtype(type_), shape, npy_header_bytes_of_any)); });
    under_way_ = false;
    ++complete_;
  }
  void commit() {
    check(!under_way_, "an array has not ended");
    file_.guarded([&] {
      zip_.finish();
      file_.commit();
    });
  }
  std::int64_t complete() const { return complete_; }

 private:
  static constexpr std::size_t most_dimensions = 32;  // of NumPy
  static constexpr std::size_t most_name = 65'000;    // a zip file counts its bytes in 16 bits

  void check(bool holds, const std::string& otherwise) const {
    file_.check_open();
    if (!holds) throw RunError(fmt::format("NpzWriter: {}: {}", file_.path(), otherwise));
  }

  PathClaim claim_;
  AtomicFile file_;
  ZipWriter zip_;
  std::set<std::string> names_;
  bool under_way_ = false;  ///< an array of this type with so many elements
  ScalarType type_ = ScalarType::float64;
  std::int64_t count_ = 0;
  std::int64_t complete_ = 0;
};

}  // namespace detail

NpzWriter::NpzWriter(const std::string& path) : out_(std::make_unique<detail::NpzOutput>(path)) {}
NpzWriter::~NpzWriter() = default;
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;
NpzWriter& NpzWriter::operator=(NpzWriter&&) noexcept = default;

void NpzWriter::begin(const std::string& name, ScalarType type) { out_->begin(name, type); }
void NpzWriter::append(ScalarType type, const void* elements, std::int64_t count) {
  out_->append(type, elements, count);
}
void NpzWriter::end(std::span<const std::int64_t> shape) { out_->end(shape); }
void NpzWriter::commit() { out_->commit(); }
std::int64_t NpzWriter::size() const { return out_->complete(); }

}  // namespace anabranch::io
