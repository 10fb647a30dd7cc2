#include <anabranch/io.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agree.h"
#include "support/files.h"
#include "support/resident_peak.h"
#include "support/sanitized.h"

// Results in files that are eight times as large as the memory bound: what is written is right to the last byte, and neither
// the run's account nor the process has much more than the bound at any time.
namespace anabranch::testing {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t memory = 8 * mib;
/// The bound, and what nobody counts: half of a file together.
constexpr std::int64_t bounded = 32 * mib;

/// Writes that many items by the terminal that `writing` gives for them, and compares the file by `check`; before them a
/// quarter of them, so that what the process keeps is there.
template <class Writing, class Check>
void check_large_file(std::int64_t items, Writing writing, Check check) {
  const auto run_with = [&](std::int64_t n, const RunOptions& options) {
    RunReport report;
    CHECK(compile(consume(writing(n))).run(options, &report)[0] == n);
    CHECK(report.peak_bytes <= memory);
    check(n);
  };
  for (const RunOptions& options :
       {RunOptions{.threads = 2, .memory = memory},
        RunOptions{.threads = 1, .memory = memory, .scheduler = "fixed:1000000"}}) {
    INFO(options.scheduler);
    run_with(items / 4, options);
    const ResidentPeak peak;
    run_with(items, options);
    if (!sanitized) CHECK(peak.growth() < bounded);  // sanitizers keep what is freed for a while
  }
}

/// A file that is compared with what it should hold, part by part.
class Compared {
 public:
  explicit Compared(const std::string& path) : in_(path, std::ios::binary) {}

  /// Behind the header of an .npy file, which says this of it.
  static Compared npy(const std::string& path, const std::vector<std::int64_t>& extents, ScalarType type) {
    const io::NpyHeader header = io::inspect_npy(path);
    CHECK(header.extents == extents);
    CHECK(header.type == type);
    CHECK_FALSE(header.fortran_order);
    Compared file(path);
    file.in_.seekg(static_cast<std::streamoff>(std::filesystem::file_size(path)) - header.bytes());
    return file;
  }

  template <class T>
  void expect(const std::vector<T>& part) {
    const std::size_t bytes = part.size() * sizeof(T);
    read_.resize(bytes);
    in_.read(read_.data(), static_cast<std::streamsize>(bytes));
    same_ = same_ && in_.gcount() == static_cast<std::streamsize>(bytes) &&
            std::memcmp(read_.data(), part.data(), bytes) == 0;
  }
  /// All was as expected, and there is no more.
  bool is_same() { return same_ && in_.peek() == std::ifstream::traits_type::eof(); }

 private:
  std::ifstream in_;
  std::vector<char> read_;
  bool same_ = true;
};

/// Calls f(begin, end) for parts of [0, n).
template <class F>
void in_parts(std::int64_t n, F f) {
  constexpr std::int64_t part = 5000;
  for (std::int64_t begin = 0; begin < n; begin += part) f(begin, std::min(begin + part, n));
}

TEST_CASE("large files: .npy rows", "[once]") {
  const TemporaryDirectory dir;
  const std::string path = dir / "y.npy";
  constexpr std::int64_t length = 64;
  check_large_file(
      8 * memory / (length * 8),
      [&](std::int64_t n) {
        const auto rows = produce(n, [=](auto i) {
          return generate(length, [=](auto k) { return cast<double>(i * 1000 + k) * 0.5; });
        });
        return write(rows, io::write_npy_rows(path));
      },
      [&](std::int64_t n) {
        Compared file = Compared::npy(path, {n, length}, ScalarType::float64);
        in_parts(n, [&](std::int64_t begin, std::int64_t end) {
          std::vector<double> elements;
          for (std::int64_t i = begin; i < end; ++i)
            for (std::int64_t k = 0; k < length; ++k)
              elements.push_back(static_cast<double>(i * 1000 + k) * 0.5);
          file.expect(elements);
        });
        CHECK(file.is_same());
      });
}

/// Of item i.
std::int64_t length_of(std::int64_t i) { return i * 7919 % 41; }

TEST_CASE("large files: a ragged pair", "[once]") {
  const TemporaryDirectory dir;
  check_large_file(
      8 * memory / (20 * 8 + 8),
      [&](std::int64_t n) {
        const auto rows = produce(n, [](auto i) {
          return generate(i * 7919 % 41, [=](auto k) { return cast<double>(i) + cast<double>(k) * 0.25; });
        });
        return write(rows, io::write_ragged(dir / "x"));
      },
      [&](std::int64_t n) {
        const std::int64_t elements = io::inspect_npy(dir / "x.values.npy").extents.at(0);
        Compared offsets = Compared::npy(dir / "x.offsets.npy", {n + 1}, ScalarType::int64);
        Compared values = Compared::npy(dir / "x.values.npy", {elements}, ScalarType::float64);
        std::int64_t at = 0;
        offsets.expect(std::vector{at});
        in_parts(n, [&](std::int64_t begin, std::int64_t end) {
          std::vector<std::int64_t> ends;
          std::vector<double> numbers;
          for (std::int64_t i = begin; i < end; ++i) {
            ends.push_back(at += length_of(i));
            for (std::int64_t k = 0; k < length_of(i); ++k)
              numbers.push_back(static_cast<double>(i) + static_cast<double>(k) * 0.25);
          }
          offsets.expect(ends);
          values.expect(numbers);
        });
        CHECK(elements == at);
        CHECK(offsets.is_same());
        CHECK(values.is_same());
      });
}

/// The rows of a matrix, read again within the bound, whose columns and values are compared with those of `expected`, which
/// adds those of a row to two vectors.
template <class Expected>
void check_matrix(const std::string& path, std::int64_t rows, std::int64_t columns, Expected expected) {
  const io::CsrHeader info = io::inspect_matrix(path);
  CHECK((info.rows == rows && info.cols == columns));
  const auto source = io::open_csr<std::int32_t, double>(path, {.memory = memory});
  bool same = true;
  std::int64_t row = 0, entries = 0;
  SourceChunk chunk;
  while (source.erased()->next({.bytes = mib}, chunk)) {
    const ArrayChunk& array = chunk.arrays[0];
    std::vector<std::int32_t> wanted_columns;
    std::vector<double> wanted_values;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i <= chunk.items; ++i) {
      const std::int64_t offset = source.info().arrays[0].offsets == OffsetType::int32
                                      ? static_cast<const std::int32_t*>(array.offsets.get())[i]
                                      : static_cast<const std::int64_t*>(array.offsets.get())[i];
      if (i == 0) first = offset;
      same = same && offset - first == std::ssize(wanted_columns);
      if (i < chunk.items) expected(row++, wanted_columns, wanted_values);
    }
    if (!same) break;
    const auto* found_columns = static_cast<const std::int32_t*>(array.data[0].get()) + first;
    const auto* found_values = static_cast<const double*>(array.data[1].get()) + first;
    same = std::memcmp(found_columns, wanted_columns.data(), wanted_columns.size() * 4) == 0 &&
           std::memcmp(found_values, wanted_values.data(), wanted_values.size() * 8) == 0;
    entries += std::ssize(wanted_columns);
  }
  CHECK(same);
  CHECK(row == rows);
  CHECK(info.entries == entries);
}

TEST_CASE("large files: a sparse matrix", "[once]") {
  const TemporaryDirectory dir;
  const std::string path = dir / "m.npz";
  constexpr std::int64_t columns = 50'000;
  check_large_file(
      8 * memory / (20 * 12 + 4),
      [&](std::int64_t n) {
        const auto rows = produce(n, [](auto i) {
          return generate(i * 7919 % 41, [=](auto k) {
            return pack(cast<std::int32_t>(i % 1000 + k * 1000), cast<double>(i) - cast<double>(k) * 0.25);
          });
        });
        return write(rows, io::write_csr(path, columns));
      },
      [&](std::int64_t n) {
        check_matrix(path, n, columns, [](std::int64_t i, auto& at, auto& values) {
          for (std::int64_t k = 0; k < length_of(i); ++k) {
            at.push_back(static_cast<std::int32_t>(i % 1000 + k * 1000));
            values.push_back(static_cast<double>(i) - static_cast<double>(k) * 0.25);
          }
        });
      });
  CHECK(dir.files() == 1);
}

TEST_CASE("large files: lines", "[once]") {
  const TemporaryDirectory dir;
  const std::string path = dir / "lines.txt";
  check_large_file(
      8 * memory / 121,
      [&](std::int64_t n) {
        const auto lines = produce(n, [](auto i) {
          return generate(i * 7919 % 41 + 100, [=](auto k) { return cast<std::uint8_t>((i + k) % 26 + 97); });
        });
        return write(lines, io::write_lines(path));
      },
      [&](std::int64_t n) {
        Compared file(path);
        in_parts(n, [&](std::int64_t begin, std::int64_t end) {
          std::vector<char> text;
          for (std::int64_t i = begin; i < end; ++i) {
            for (std::int64_t k = 0; k < length_of(i) + 100; ++k)
              text.push_back(static_cast<char>('a' + (i + k) % 26));
            text.push_back('\n');
          }
          file.expect(text);
        });
        CHECK(file.is_same());
      });
}

}  // namespace
}  // namespace anabranch::testing
