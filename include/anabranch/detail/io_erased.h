#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

struct ArrowArrayStream;
namespace anabranch::detail {
class Handle;
}

/// The type-erased functions behind the templates of <anabranch/io.h>.
namespace anabranch::io {

struct ArrowOptions;
struct AudioOptions;
struct DescriptorOptions;
struct NpyRowsOptions;
struct OpenOptions;
struct RaggedOptions;
struct TextOptions;
struct ToArrowOptions;

namespace detail {

struct ConstArray {
  ScalarType type = ScalarType::int32;
  const void* data = nullptr;
  std::int64_t count = 0;
};

struct CsrArrays {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  ConstArray indptr, indices, values;
  std::shared_ptr<const void> owner;
};

/// An element of a dense array: so many scalars of one type (2: a complex number).
struct NpyElement {
  ScalarType type = ScalarType::float64;
  int parts = 1;
};

class CsrSink;
class NpyOutput;

ANABRANCH_API std::shared_ptr<SourceBase> open_csr(const std::string& path, ScalarType index,
                                                   ScalarType value, const OpenOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> csr_view(const CsrArrays& arrays);
ANABRANCH_API std::shared_ptr<anabranch::detail::ArrayData> read_npy(const std::string& path, int rank,
                                                                     const NpyElement& element, bool convert,
                                                                     std::int64_t memory);
ANABRANCH_API std::shared_ptr<SourceBase> open_npy_rows(const std::string& path, int rank,
                                                        const NpyElement& element,
                                                        const NpyRowsOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> open_ragged(const std::string& prefix, const NpyElement& element,
                                                      const RaggedOptions& options);
ANABRANCH_API void write_npy(const std::string& path, const anabranch::detail::ArrayData& array);

ANABRANCH_API std::shared_ptr<SourceBase> from_arrow(ArrowArrayStream* stream,
                                                     const std::vector<SinkArray>& arrays,
                                                     const ArrowOptions& options);
ANABRANCH_API void to_arrow(const anabranch::detail::Handle& sequence, const std::vector<SinkArray>& arrays,
                            const ToArrowOptions& options, Place at, ArrowArrayStream* out);
ANABRANCH_API std::shared_ptr<SourceBase> open_audio(const std::string& path, std::int64_t frames, bool mono,
                                                     const AudioOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> open_lines(const std::string& path, const TextOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> open_words(const std::string& path, const TextOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> lines_of(int descriptor, const DescriptorOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> words_of(int descriptor, const DescriptorOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> records_of(int descriptor, const std::vector<std::int64_t>& shape,
                                                     const NpyElement& element,
                                                     const DescriptorOptions& options);
ANABRANCH_API std::shared_ptr<SourceBase> ragged_of(int descriptor, int length_bytes,
                                                    const NpyElement& element,
                                                    const DescriptorOptions& options);
ANABRANCH_API std::shared_ptr<SinkBase> lines_sink(const std::string& path);
ANABRANCH_API std::shared_ptr<SinkBase> npy_rows_sink(const std::string& path, int rank,
                                                      const NpyElement& element);
ANABRANCH_API std::shared_ptr<SinkBase> ragged_sink(const std::string& prefix, const NpyElement& element);
ANABRANCH_API std::shared_ptr<SinkBase> csr_sink(const std::string& path, std::int64_t cols, ScalarType index,
                                                 ScalarType value);

}  // namespace detail
}  // namespace anabranch::io
