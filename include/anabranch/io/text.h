#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include <anabranch/detail/io_erased.h>

/// Text, line by line and word by word, as bytes: nothing is said of their encoding.
namespace anabranch::io {

struct TextOptions {
  /// Bytes of a line (without its end) or a word. A longer one is a DataError that names it, the line it is in and the
  /// file, and nothing of its size is allocated.
  std::int64_t longest = std::int64_t{16} << 20;
  std::int64_t memory = std::int64_t{256} << 20;  ///< the largest chunk that the source gives, in bytes
};

/// The lines of a file of any length, each the vector of its bytes without the line's end, which is LF or CR LF; other
/// CRs belong to the line. A last line without an end is a line; behind a last line end there is none. An empty line is
/// a vector of no elements, an empty file has no lines. May be rewound; a file that is written to while it is read gives
/// a DataError with the last chunk. Several threads may divide blocks of a file at once.
///
/// Throws DataError, IoError, ResourceError.
inline Source<Vector<std::uint8_t>> open_lines(const std::string& path, const TextOptions& options = {}) {
  return Source<Vector<std::uint8_t>>(detail::open_lines(path, options));
}

/// The words of a file: what lies between white space of ASCII (space, tab, LF, VT, FF, CR). No word is empty.
inline Source<Vector<std::uint8_t>> open_words(const std::string& path, const TextOptions& options = {}) {
  return Source<Vector<std::uint8_t>>(detail::open_words(path, options));
}

/// What `write_lines` gives: a sink for vectors of bytes.
class LinesFile {
 public:
  explicit LinesFile(std::string path) : path_(std::move(path)) {}

  operator Sink<Vector<std::uint8_t>>() const {  // NOLINT(google-explicit-constructor): as other files
    return Sink<Vector<std::uint8_t>>(detail::lines_sink(path_));
  }

 private:
  std::string path_;
};

/// Where `write` puts vectors of bytes as the lines of a file, each with LF behind it. A vector with an LF in it, or with
/// a CR at its end, would be read as others: a RunError that names it. Throws IoError.
inline LinesFile write_lines(std::string path) { return LinesFile(std::move(path)); }

namespace detail {
class TextOutput;
}

/// Writes text to a file, as it is. Nothing is seen at `path` before `commit`; a writer destroyed without it leaves nothing.
/// Once writing has failed with an IoError, every later call does.
class ANABRANCH_API TextWriter {
 public:
  explicit TextWriter(const std::string& path);
  ~TextWriter();
  TextWriter(TextWriter&&) noexcept;
  TextWriter& operator=(TextWriter&&) noexcept;

  void append(std::string_view text);
  void commit();

 private:
  std::unique_ptr<detail::TextOutput> out_;
};

}  // namespace anabranch::io
