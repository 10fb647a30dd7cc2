#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/io.h>

#include "support/files.h"

/// Files for the reader tests, made byte by byte and independently
/// of src/io, so that a test can also make wrong ones.
namespace io_test {

using anabranch::testing::read_file;
using anabranch::testing::TemporaryDirectory;
using anabranch::testing::write_file;

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// An NPY array with this text as dtype and shape.
inline std::string npy(const std::string& dtype, const std::string& shape, const std::string& data,
                       const std::string& order = "False") {
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 11, ' ');
  text += '\n';
  const auto n = static_cast<std::uint16_t>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(n & 255) + static_cast<char>(n >> 8) + text +
         data;
}

template <class T>
std::string npy(const std::vector<T>& values) {
  const char* dtype = std::is_same_v<T, std::int32_t>   ? "<i4"
                      : std::is_same_v<T, std::int64_t> ? "<i8"
                      : std::is_same_v<T, float>        ? "<f4"
                                                        : "<f8";
  return npy(dtype, "(" + std::to_string(values.size()) + ",)", raw(values));
}

inline std::string deflated(const std::string& data) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, data.size()), '\0');
  z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<unsigned>(data.size());
  z.next_out = reinterpret_cast<unsigned char*>(out.data());
  z.avail_out = static_cast<unsigned>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

/// A zip file without zip64.
class Zip {
 public:
  explicit Zip(bool compress = false) : compress_(compress) {}
  Zip& add(const std::string& name, const std::string& data) {
    const std::string body = compress_ ? deflated(data) : data;
    const auto crc = static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const unsigned char*>(data.data()), static_cast<unsigned>(data.size())));
    std::string common;
    number(common, 0, 2);
    number(common, compress_ ? 8 : 0, 2);
    number(common, 0, 4);
    number(common, crc, 4);
    number(common, body.size(), 4);
    number(common, data.size(), 4);
    number(common, name.size(), 2);
    number(common, 0, 2);
    directory_ += "PK\x01\x02";
    number(directory_, 20, 2);
    number(directory_, 20, 2);
    directory_ += common;
    number(directory_, 0, 10);
    number(directory_, bytes_.size(), 4);
    directory_ += name;
    bytes_ += "PK\x03\x04";
    number(bytes_, 20, 2);
    bytes_ += common + name + body;
    ++entries_;
    return *this;
  }
  std::string bytes() const {
    std::string out = bytes_ + directory_ + "PK\x05\x06";
    number(out, 0, 4);
    number(out, entries_, 2);
    number(out, entries_, 2);
    number(out, directory_.size(), 4);
    number(out, bytes_.size(), 4);
    number(out, 0, 2);
    return out;
  }

 private:
  static void number(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 255);
  }
  bool compress_;
  std::string bytes_, directory_;
  unsigned entries_ = 0;
};

/// A CSR matrix as plain vectors.
template <class I = std::int32_t, class T = double>
struct Csr {
  std::int64_t cols = 0;
  std::vector<I> indptr{0};
  std::vector<I> indices;
  std::vector<T> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  friend bool operator==(const Csr&, const Csr&) = default;
};

/// Rows of lengths 0, 1, 2 ... repeating, with an empty first and last row and known values.
template <class I = std::int32_t, class T = double>
Csr<I, T> sample(std::int64_t rows, std::int64_t cols = 50) {
  Csr<I, T> m;
  m.cols = cols;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t n = r + 1 == rows ? 0 : (r * 7) % 11;
    for (std::int64_t k = 0; k < n; ++k) {
      m.indices.push_back(static_cast<I>((r + 3 * k) % cols));
      m.values.push_back(static_cast<T>(r) + static_cast<T>(k) / 16);
    }
    m.indptr.push_back(static_cast<I>(m.indices.size()));
  }
  return m;
}

/// The members of an .npz, to be changed by a test before they are zipped.
using Members = std::map<std::string, std::string>;

template <class I, class T>
Members members(const Csr<I, T>& m) {
  return {{"data.npy", npy(m.values)},
          {"format.npy", npy("|S3", "()", "csr")},
          {"indices.npy", npy(m.indices)},
          {"indptr.npy", npy(m.indptr)},
          {"shape.npy", npy(std::vector<std::int64_t>{m.rows(), m.cols})}};
}

inline std::string npz(const Members& members, bool compress = false) {
  Zip zip(compress);
  for (const auto& [name, data] : members) zip.add(name, data);
  return zip.bytes();
}

/// Everything a source gives under a limit, put together again.
template <class I = std::int32_t, class T = double>
Csr<I, T> drain(anabranch::SourceBase& source, std::int64_t cols = 0, const anabranch::Limit& limit = {}) {
  Csr<I, T> out;
  out.cols = cols;
  anabranch::SourceChunk chunk;
  while (source.next(limit, chunk)) {
    const auto& array = chunk.arrays.at(0);
    const auto* columns = static_cast<const I*>(array.data.at(0).get());
    const auto* values = static_cast<const T*>(array.data.at(1).get());
    const bool narrow = source.info().arrays[0].offsets == anabranch::OffsetType::int32;
    const auto offset = [&](std::int64_t i) -> std::int64_t {
      return narrow ? static_cast<const std::int32_t*>(array.offsets.get())[i]
                    : static_cast<const std::int64_t*>(array.offsets.get())[i];
    };
    for (std::int64_t i = 0; i < chunk.items; ++i) {
      for (std::int64_t k = offset(i); k < offset(i + 1); ++k) {
        out.indices.push_back(columns[k]);
        out.values.push_back(values[k]);
      }
      out.indptr.push_back(static_cast<I>(out.indices.size()));
    }
  }
  return out;
}

}  // namespace io_test
