#include <algorithm>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/little_endian.h"
#include "io/npy/npy_format.h"
#include "io/sparse/csr_layout.h"

namespace anabranch::io::detail {

namespace {

class NpzReader {
 public:
  explicit NpzReader(std::shared_ptr<const ReadFile> file)
      : file_(std::move(file)), entries_(read_zip_directory(*file_)) {}

  CsrLayout open() {
    check_format();
    CsrLayout out;
    out.name = file_->name();
    read_shape(out.header);
    out.indptr = array("indptr");
    out.indices = array("indices");
    out.values = array("data");
    check_counts(out);
    check_ends(out);
    const bool deflated = entry("indptr").deflated || entry("indices").deflated || entry("data").deflated;
    out.header.format = deflated ? MatrixFormat::npz_deflated : MatrixFormat::npz_stored;
    out.header.entries = out.indices.count;
    out.header.nnz = out.indices.count;
    out.header.index = out.indices.type;
    out.header.value = out.values.type;
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw DataError(file_->name() + ": " + why); }

  const ZipEntry* find(const std::string& member) const {
    const auto it = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const ZipEntry& e) { return e.name == member + ".npy"; });
    return it == entries_.end() ? nullptr : &*it;
  }
  const ZipEntry& entry(const std::string& member) const {
    // NumPy takes either name, and this one first.
    if (std::any_of(entries_.begin(), entries_.end(), [&](const ZipEntry& e) { return e.name == member; }))
      fail(fmt::format("there is a member {} where {}.npy is expected", member, member));
    const ZipEntry* found = find(member);
    if (!found)
      fail(fmt::format("no member {}.npy: not a sparse matrix as scipy.sparse.save_npz writes it", member));
    return *found;
  }
  std::string label(const std::string& member) const {
    return fmt::format("{}: {}.npy", file_->name(), member);
  }

  /// The whole of a small member.
  std::vector<unsigned char> small(const std::string& member, NpyFormat& format) const {
    const ZipEntry& e = entry(member);
    auto cursor = open_cursor(file_, e);
    format = read_npy_format(*cursor, e.size, label(member));
    if (format.data_bytes() > 256)
      fail(fmt::format("{}.npy: {} bytes are too many", member, format.data_bytes()));
    std::vector<unsigned char> bytes(static_cast<std::size_t>(format.data_bytes()));
    cursor->read(bytes.data(), format.data_bytes());
    return bytes;
  }

  void check_format() const {
    NpyFormat format;
    const auto bytes = small("format", format);
    std::string text;
    const std::size_t width = format.dtype.substr(0, 2) == "<U" ? 4 : 1;
    if (format.scalar || format.count != 1) fail("format.npy does not hold a name");
    for (std::size_t i = 0; i < bytes.size(); i += width)
      if (bytes[i] != 0) text += static_cast<char>(bytes[i]);
    if (text == "csr") return;
    for (char& c : text)
      if (c < ' ' || c > '~') c = '?';
    fail(fmt::format("this is a matrix in {} format; only csr is read (convert it with A.tocsr())", text));
  }

  void read_shape(CsrHeader& header) const {
    NpyFormat format;
    const auto bytes = small("shape", format);
    if (format.count != 2 || (format.scalar != ScalarType::int64 && format.scalar != ScalarType::int32))
      fail("shape.npy does not hold two integers");
    const auto at = [&](std::size_t i) {
      return format.item_bytes == 8 ? load<std::int64_t>(&bytes[8 * i])
                                    : std::int64_t{load<std::int32_t>(&bytes[4 * i])};
    };
    header.rows = at(0);
    header.cols = at(1);
    if (header.rows < 0 || header.cols < 0 || header.rows > most_rows || header.cols > most_rows)
      fail(fmt::format("shape.npy: {} x {} is not the shape of a matrix", header.rows, header.cols));
  }

  StoredArray array(const std::string& member) const {
    const ZipEntry& e = entry(member);
    StoredArray out;
    out.name = label(member);
    out.cursor = open_cursor(file_, e);
    const NpyFormat format = read_npy_format(*out.cursor, e.size, out.name);
    if (!format.scalar || format.parts != 1)
      throw DataError(fmt::format("{}: dtype '{}' is not a {}number", out.name, format.dtype,
                                  format.scalar ? "real " : ""));
    if (format.shape.size() != 1)
      throw DataError(fmt::format("{}: {} dimensions instead of one", out.name, format.shape.size()));
    out.begin = format.header_bytes;
    out.type = *format.scalar;
    out.count = format.count;
    return out;
  }

  void check_counts(const CsrLayout& m) const {
    for (const StoredArray* a : {&m.indptr, &m.indices})
      if (a->type != ScalarType::int32 && a->type != ScalarType::int64)
        throw DataError(
            fmt::format("{}: {} cannot be an index (int32 and int64 can)", a->name, name_of(a->type)));
    if (m.indptr.count != m.header.rows + 1)
      fail(fmt::format("shape.npy promises {}, but indptr.npy has {} instead of {}",
                       counted(m.header.rows, "row"), counted(m.indptr.count, "offset"), m.header.rows + 1));
    if (m.indices.count != m.values.count)
      fail(fmt::format("indices.npy has {}, but data.npy {}", counted(m.indices.count, "entry"),
                       m.values.count));
    if (m.indices.count > most_entries) fail(fmt::format("{} entries are too many", m.indices.count));
  }

  /// The first offset, and where it can be reached without reading all others the last, which it is if there are no rows.
  void check_ends(CsrLayout& m) const {
    const auto width = static_cast<std::int64_t>(size_of(m.indptr.type));
    unsigned char bytes[8];
    const auto offset = [&] {
      return width == 8 ? load<std::int64_t>(bytes) : std::int64_t{load<std::int32_t>(bytes)};
    };
    m.indptr.cursor->read(bytes, width);
    if (const auto first = offset(); first != 0)
      throw DataError(fmt::format("{}: begins with {}, not 0", m.indptr.name, first));
    if (const ZipEntry& e = entry("indptr"); !e.deflated || m.header.rows == 0) {
      if (!e.deflated) file_->read(e.offset + m.indptr.begin + m.header.rows * width, bytes, width);
      if (const auto last = offset(); last != m.indices.count)
        throw DataError(fmt::format("{}: ends with {}, but indices.npy has {}", m.indptr.name, last,
                                    counted(m.indices.count, "entry")));
    }
    m.indptr.cursor->rewind(m.indptr.begin);
  }

  std::shared_ptr<const ReadFile> file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace

CsrLayout open_npz(std::shared_ptr<const ReadFile> file) { return NpzReader(std::move(file)).open(); }

}  // namespace anabranch::io::detail
