// check_smvm MATRIX.npz Y.npy [X.npy]
//
// Checks y = A x, where A is a CSR matrix as SciPy's save_npz(compressed=False) writes it and x is all ones
// unless given. Shares no code with the library: it has its own reader of the two formats and one plain loop.
// The matrix is read in blocks, so that it may be larger than memory.
//
// A row of n terms passes when |y - y'| <= 2 (n + 1) eps sum |a x|: two sums in any two orders, with eps of
// y's type, differ by no more. Exit status: 0 all rows pass, 1 some row does not, 2 the files cannot be read.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File open(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  return file;
}

void read(std::FILE* file, void* to, size_t bytes) {
  if (std::fread(to, 1, bytes, file) != bytes) throw std::runtime_error("unexpected end of file");
}

void seek(std::FILE* file, int64_t offset, int whence = SEEK_SET) {
  if (fseeko(file, offset, whence) != 0) throw std::runtime_error("cannot seek");
}

template <class T>
T number(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Offsets of the local headers of a zip file's members, from its central directory.
std::map<std::string, int64_t> zip_members(std::FILE* file) {
  seek(file, 0, SEEK_END);
  const int64_t size = ftello(file);
  const int64_t tail_size = std::min<int64_t>(size, 22 + 65535 + 20);
  std::string tail(static_cast<size_t>(tail_size), '\0');
  seek(file, size - tail_size);
  read(file, tail.data(), tail.size());

  const size_t end = tail.rfind("PK\5\6");
  if (end == std::string::npos || end + 22 > tail.size()) throw std::runtime_error("not a zip file");
  uint64_t count = number<uint16_t>(&tail[end + 10]);
  uint64_t directory = number<uint32_t>(&tail[end + 16]);
  if (end >= 20 && tail.compare(end - 20, 4, "PK\6\7") == 0) {
    char record[56];
    seek(file, number<int64_t>(&tail[end - 20 + 8]));
    read(file, record, sizeof record);
    count = number<uint64_t>(&record[32]);
    directory = number<uint64_t>(&record[48]);
  }

  std::map<std::string, int64_t> members;
  seek(file, static_cast<int64_t>(directory));
  for (uint64_t i = 0; i < count; ++i) {
    char entry[46];
    read(file, entry, sizeof entry);
    if (std::memcmp(entry, "PK\1\2", 4) != 0) throw std::runtime_error("damaged zip directory");
    std::string name(number<uint16_t>(&entry[28]), '\0');
    std::string extra(number<uint16_t>(&entry[30]), '\0');
    read(file, name.data(), name.size());
    read(file, extra.data(), extra.size());
    seek(file, number<uint16_t>(&entry[32]), SEEK_CUR);
    if (number<uint16_t>(&entry[10]) != 0)
      throw std::runtime_error(name + " is compressed; only stored members are read");

    // A 64-bit offset stands in the zip64 field, after those of the two sizes that are 64-bit too.
    uint64_t offset = number<uint32_t>(&entry[42]);
    if (offset == 0xffffffff) {
      size_t skip = 4;
      if (number<uint32_t>(&entry[24]) == 0xffffffff) skip += 8;
      if (number<uint32_t>(&entry[20]) == 0xffffffff) skip += 8;
      for (size_t at = 0; at + 4 <= extra.size(); at += 4 + number<uint16_t>(&extra[at + 2])) {
        if (number<uint16_t>(&extra[at]) == 1 && at + skip + 8 <= extra.size()) {
          offset = number<uint64_t>(&extra[at + skip]);
        }
      }
    }
    members[name] = static_cast<int64_t>(offset);
  }
  return members;
}

// A one-dimensional NPY array, read from front to back in blocks.
class NpyReader {
 public:
  NpyReader(File file, int64_t offset) : file_(std::move(file)) {
    seek(file_.get(), offset);
    char magic[8];
    read(file_.get(), magic, sizeof magic);
    if (std::memcmp(magic, "\x93NUMPY", 6) != 0) throw std::runtime_error("not an NPY array");
    char length[4] = {};
    read(file_.get(), length, magic[6] == 1 ? 2 : 4);
    std::string header(number<uint32_t>(length), '\0');
    read(file_.get(), header.data(), header.size());

    type_ = between(header, "'descr': '", "'");
    const std::string shape = between(header, "'shape': (", ")");
    count_ = shape.empty() ? 1 : std::strtoll(shape.c_str(), nullptr, 10);
  }

  static NpyReader member(const std::string& path, const std::string& name) {
    File file = open(path);
    const auto members = zip_members(file.get());
    const auto found = members.find(name);
    if (found == members.end()) throw std::runtime_error(path + ": has no member " + name);
    char local[30];
    seek(file.get(), found->second);
    read(file.get(), local, sizeof local);
    const int64_t data = found->second + 30 + number<uint16_t>(&local[26]) + number<uint16_t>(&local[28]);
    return {std::move(file), data};
  }

  int64_t count() const { return count_; }
  const std::string& type() const { return type_; }

  // The next value, as the widest type of its kind.
  template <class T>
  T next() {
    if (at_ == buffer_.size()) refill();
    const char* from = &buffer_[at_];
    at_ += width();
    if (type_ == "<i4") return static_cast<T>(number<int32_t>(from));
    if (type_ == "<i8") return static_cast<T>(number<int64_t>(from));
    if (type_ == "<f4") return static_cast<T>(number<float>(from));
    if (type_ == "<f8") return static_cast<T>(number<double>(from));
    throw std::runtime_error("elements of type " + type_ + " are not read");
  }

  template <class T>
  std::vector<T> all() {
    std::vector<T> values(static_cast<size_t>(count_));
    for (T& value : values) value = next<T>();
    return values;
  }

 private:
  static std::string between(const std::string& text, std::string_view before, std::string_view after) {
    const size_t start = text.find(before);
    if (start == std::string::npos) throw std::runtime_error("damaged NPY header");
    const size_t first = start + before.size();
    return text.substr(first, text.find(after, first) - first);
  }

  size_t width() const { return type_.ends_with('8') ? 8 : 4; }

  void refill() {
    const int64_t items = std::min<int64_t>(count_ - consumed_, int64_t{1} << 16);
    if (items <= 0) throw std::runtime_error("array is shorter than expected");
    buffer_.resize(static_cast<size_t>(items) * width());
    read(file_.get(), buffer_.data(), buffer_.size());
    consumed_ += items;
    at_ = 0;
  }

  File file_;
  std::string type_;
  int64_t count_ = 0;
  int64_t consumed_ = 0;
  std::vector<char> buffer_;
  size_t at_ = 0;
};

struct Outcome {
  int64_t rows = 0;
  int64_t terms = 0;
  int64_t wrong = 0;
  int64_t first_wrong = -1;
  double largest_error = 0;  // of |y - y'| / sum |a x|
};

Outcome check(const std::string& matrix, const std::string& result, const char* vector) {
  NpyReader values = NpyReader::member(matrix, "data.npy");
  NpyReader columns = NpyReader::member(matrix, "indices.npy");
  NpyReader row_ends = NpyReader::member(matrix, "indptr.npy");
  const auto shape = NpyReader::member(matrix, "shape.npy").all<int64_t>();
  if (shape.size() != 2) throw std::runtime_error(matrix + ": shape has not two extents");

  NpyReader y(open(result), 0);
  if (y.count() != shape[0] || row_ends.count() != shape[0] + 1) {
    throw std::runtime_error(result + ": has " + std::to_string(y.count()) + " elements, the matrix has " +
                             std::to_string(shape[0]) + " rows");
  }
  std::vector<double> x(static_cast<size_t>(shape[1]), 1.0);
  if (vector) x = NpyReader(open(vector), 0).all<double>();
  if (x.size() != static_cast<size_t>(shape[1]))
    throw std::runtime_error(std::string(vector) + ": wrong length");

  const double eps =
      y.type() == "<f4" ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  Outcome outcome;
  outcome.rows = shape[0];
  auto start = row_ends.next<int64_t>();
  for (int64_t row = 0; row < outcome.rows; ++row) {
    const auto end = row_ends.next<int64_t>();
    double sum = 0;
    double scale = 0;
    for (int64_t k = start; k < end; ++k) {
      const double term = values.next<double>() * x.at(columns.next<size_t>());
      sum += term;
      scale += std::abs(term);
    }
    const double error = std::abs(y.next<double>() - sum);
    if (!(error <= 2 * static_cast<double>(end - start + 1) * eps * scale)) {
      if (outcome.wrong++ == 0) outcome.first_wrong = row;
    }
    if (error > 0) outcome.largest_error = std::max(outcome.largest_error, error / scale);
    outcome.terms += end - start;
    start = end;
  }
  return outcome;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: check_smvm MATRIX.npz Y.npy [X.npy]\n");
    return 2;
  }
  const Outcome outcome = check(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  std::printf("%lld rows, %lld terms: largest error %.2g of the sum of magnitudes",
              static_cast<long long>(outcome.rows), static_cast<long long>(outcome.terms),
              outcome.largest_error);
  if (outcome.wrong == 0) {
    std::printf(", all within rounding\n");
    return 0;
  }
  std::printf("; %lld rows WRONG, the first is row %lld\n", static_cast<long long>(outcome.wrong),
              static_cast<long long>(outcome.first_wrong));
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "check_smvm: %s\n", error.what());
  return 2;
}
